#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every Arm capture, decoded by us and by OpenCSD's own lister: the same elements in the same order.
. tests/golden/common
need_captures
need trc_pkt_lister
need python3
rc=0
for d in "$CAP"/arm/*/in "$CAP"/ete/*/in; do
	[ -f "$d/snapshot.ini" ] || continue
	names=$(sed -n '/^\[buffer/,/^\[/s/^name *= *\([^ \r]*\).*/\1/p' "$d/trace.ini" 2>/dev/null)
	# shellcheck disable=SC2086
	python3 tests/golden/ocsd.py "$HWT" "$d" $names || rc=1
done
exit $rc
