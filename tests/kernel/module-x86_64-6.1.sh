# SPDX-License-Identifier: BSD-2-Clause
# The module in a guest with Debian's kernel 6.1 for x86_64.
kernel=x86_64-6.1
export CYCLES=20
# with a thread for each CPU QEMU runs old code here too: a breakpoint that was taken away, or no end at all
export THREAD=single
. tests/kernel/check
