# SPDX-License-Identifier: BSD-2-Clause
# Random filter programs: 10^6 (PROGRAMS) by the kernel of this machine, for datagrams, and as many by the module in a guest, for LONGEST seconds at most:
# how many that were is said. SKIP=N: others.
all=${PROGRAMS:-1000000}
RUN=programs_many ENVIRON="PROGRAMS=$all LONGEST=${LONGEST:-7200} SKIP=${SKIP:-0}" LIMIT=$((${LONGEST:-7200} + 600))
[ -x "${O:-build}/tests/unit/kmod/test_filter" ] || { echo "not built: make ${O:-build}/tests/unit/kmod/test_filter"; exit 1; }
PROGRAMS=$all "${O:-build}/tests/unit/kmod/test_filter" 2>&1 | grep -E '^# .*random|FAIL|programs for' || exit 1
unset PROGRAMS	# boot.sh knows it as a folder
. tests/kernel/long
