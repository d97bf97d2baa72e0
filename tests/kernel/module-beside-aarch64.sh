# SPDX-License-Identifier: BSD-2-Clause
# The module beside the kernel's tracer, a kernel 6.12 for arm64; KERNEL=6.1 for another.
kernel=aarch64-${KERNEL:-6.12}
export THREAD=single
. tests/kernel/beside/check
