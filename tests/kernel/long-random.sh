# SPDX-License-Identifier: BSD-2-Clause
# 10^6 (REQUESTS) random requests, and what pages.c does with maps, children and pipes of what is closed, in a guest. SEED=N: others.
RUN=random,pages ENVIRON="REQUESTS=${REQUESTS:-1000000} SEED=${SEED:-8}"
. tests/kernel/long
