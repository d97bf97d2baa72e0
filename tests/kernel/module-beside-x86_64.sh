# SPDX-License-Identifier: BSD-2-Clause
# The module beside the kernel's tracer, Debian's kernel 6.1 for x86_64; KERNEL=6.12 for another.
kernel=x86_64-${KERNEL:-6.1}
export THREAD=single
. tests/kernel/beside/check
