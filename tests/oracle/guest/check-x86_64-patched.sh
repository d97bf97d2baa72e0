# SPDX-License-Identifier: BSD-2-Clause
# As check-x86_64.sh, and the kernel rewrites its own code in between (a static key is switched).
arch=x86_64 kernel_args='console=ttyS0 mitigations=off tsc=reliable no5lvl patch=1'
qemu='qemu-system-x86_64 -cpu max'
. tests/oracle/guest/check
