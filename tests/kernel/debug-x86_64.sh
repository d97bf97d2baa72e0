# SPDX-License-Identifier: BSD-2-Clause
# The module in a kernel that looks for mistakes (debug.config): memory, locks, sleeping where one must not, memory without owner.
kernel=x86_64-6.1-debug
images=${IMAGES:-${O:-build}/kernels}
sh tests/kernel/image.sh "$images" x86_64-6.1 || exit $?
sh tests/kernel/debug-kernel.sh "$images" || exit $?
# ACPI's code is run too slowly there: what it says of interrupts stands in a table, too. Where others want the machine, timers seem to be broken
export THREAD=single MEM=1536 LIMIT=${LIMIT:-3600} APPEND="pci=noacpi no_timer_check" CYCLES=5
. tests/kernel/check
