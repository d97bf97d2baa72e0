#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# perf.data of cases I03, I09 to I13, I16 and G11: large, many or cut everywhere. See tests/cases.md.
. tests/golden/common
need python3
python3 tests/golden/cases_perf.py "$HWT" "$TMP"
