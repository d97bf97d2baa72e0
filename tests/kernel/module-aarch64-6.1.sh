# SPDX-License-Identifier: BSD-2-Clause
# The module in a guest with Debian's kernel 6.1 for aarch64.
kernel=aarch64-6.1
. tests/kernel/check
