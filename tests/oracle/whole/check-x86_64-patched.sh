# SPDX-License-Identifier: BSD-2-Clause
# As check-x86_64-6.1.sh, and the kernel's code is rewritten while it is traced, and shown with cycles. PATCH: how often, 2 by itself;
# SETTINGS="-s 1": with one TSC in 4096 bytes.
kernel=x86_64-6.1
export APPEND="PATCH=${PATCH:-2}" MAX="${MAX:-6000000}" LIMIT="${LIMIT:-500}"
SETTINGS=${SETTINGS:--s 0}
. tests/oracle/whole/check
