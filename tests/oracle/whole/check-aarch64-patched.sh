# SPDX-License-Identifier: BSD-2-Clause
# As check-aarch64-6.1.sh, and static branches of the kernel are switched while it is traced, PATCH times, and shown with cycles.
kernel=aarch64-6.1
export APPEND="PATCH=${PATCH:-4}" MAX="${MAX:-6000000}" LIMIT="${LIMIT:-500}"
SETTINGS=${SETTINGS:--s 0}
. tests/oracle/whole/check
