# SPDX-License-Identifier: BSD-2-Clause
# The module in and out 1000 times (CYCLES), with 8 readers each time: no memory is left, nothing stands in the log.
RUN=list ENVIRON= CYCLES=${CYCLES:-1000}
. tests/kernel/long
