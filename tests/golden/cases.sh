#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every vector of fixtures/cases through the tool: packets, list, check, with what must come out. See tests/cases.md.
. tests/golden/common
need python3
files=$(ls fixtures/cases/*.txt)
if "$HWT" version --build | grep -q 'no libipt'; then
	files=fixtures/cases/coresight.txt
	echo "# built without libipt: CoreSight only"
fi
# shellcheck disable=SC2086
python3 tests/golden/cases.py "$HWT" "$TMP" $files
