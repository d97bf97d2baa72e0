# SPDX-License-Identifier: BSD-2-Clause
# The module in a guest with Debian's kernel 6.12 for aarch64.
kernel=aarch64-6.12
export CYCLES=20
. tests/kernel/check
