# SPDX-License-Identifier: BSD-2-Clause
# EVENTS (10^8) records discarding, and as many overwriting, while the reader stops for 1 s in each 4 s: produced == recorded + lost.
RUN=overload ENVIRON="CALLS=$((${EVENTS:-100000000} / 4))"
. tests/kernel/long
