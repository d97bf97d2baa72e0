# SPDX-License-Identifier: BSD-2-Clause
# A guest with a Debian kernel and two CPUs, its Intel PT by the software trace units, decoded and compared.
arch=x86_64 kernel_args='console=ttyS0 mitigations=off tsc=reliable no5lvl'
qemu='qemu-system-x86_64 -cpu max'
. tests/oracle/guest/check
