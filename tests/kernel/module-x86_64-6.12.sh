# SPDX-License-Identifier: BSD-2-Clause
# The module in a guest with Debian's kernel 6.12 for x86_64.
kernel=x86_64-6.12
# with a thread for each CPU this kernel meets what boot.sh says of QEMU nearly each time
export THREAD=single
. tests/kernel/check
