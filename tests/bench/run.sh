#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Ratios against peers, same input, same run, interleaved A B A B, median of PAIRS pairs: CPU time, peak memory beside it.
set -u
O=${O:-build}
exec python3 tests/bench/bench.py "$O" "${HWT_CAPTURES:-../shared/captures}" "${PAIRS:-7}"
