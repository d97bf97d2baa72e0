# SPDX-License-Identifier: BSD-2-Clause
# A guest with a Debian kernel and two CPUs, its ETMv4 trace by the software trace units, decoded and compared.
arch=aarch64 kernel_args='console=ttyAMA0'
qemu='qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on'
. tests/oracle/guest/check
