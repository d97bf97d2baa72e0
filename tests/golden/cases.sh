#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every vector of fixtures/cases through the tool: packets, list, check, with what must come out. See tests/cases.md.
. tests/golden/common
need python3
python3 tests/golden/cases.py "$HWT" "$TMP" fixtures/cases/*.txt
