# SPDX-License-Identifier: BSD-2-Clause
# 100 power cuts (STOPS).
STOPS=${STOPS:-100} SPAN=${SPAN:-20}
. tests/kernel/module-stop.sh
