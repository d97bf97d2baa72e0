# SPDX-License-Identifier: BSD-2-Clause
# The tool and the module in a guest with Debian's kernel 6.12 for aarch64, and the trace of the same run.
kernel=aarch64-6.12
. tests/oracle/whole/check
