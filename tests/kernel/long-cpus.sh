# SPDX-License-Identifier: BSD-2-Clause
# A CPU off and on 200 times (TIMES) while all events are recorded.
RUN=cpus ENVIRON="CPU_TIMES=${TIMES:-200}"
. tests/kernel/long
