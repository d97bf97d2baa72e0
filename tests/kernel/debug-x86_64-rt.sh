# SPDX-License-Identifier: BSD-2-Clause
# The module in a guest with Debian's real-time kernel.
kernel=x86_64-6.1-rt
export THREAD=single LIMIT=${LIMIT:-3600}
. tests/kernel/check
