#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Layers point one way, and each package is included by exactly one file (see README.md of each folder).
git ls-files -co --exclude-standard 'hwtrace/*.[ch]' 'decoders/*.[ch]' 'correlate/*.[ch]' 'cli/*.[ch]' 'include/*.h' |
xargs awk '
function bad(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0; n++ }
BEGIN { rank["include"] = 0; rank["hwtrace"] = 1; rank["decoders"] = 2; rank["correlate"] = 3; rank["cli"] = 4
	only["intel-pt.h"] = "decoders/flow/ipt_lib.c"; only["opencsd/"] = "decoders/flow/ocsd_lib.c"
	only["libelf.h"] = only["gelf.h"] = "hwtrace/image/elf.c"; only["capstone/"] = "hwtrace/image/disasm.c"
	only["elfutils/"] = "hwtrace/image/dwarf.c"; only["zstd.h"] = "hwtrace/source/perf_zstd.c"
	only["traceevent/"] = "hwtrace/source/tep.c" }
/^[ \t]*#[ \t]*include/ {
	split(FILENAME, d, "/")
	for (k in only) if (index($0, "<" k) && FILENAME != only[k]) bad("only " only[k] " includes this")
	if (d[1] == "cli" && match($0, /"(\.\.\/)+(hwtrace|decoders|correlate)\//)) bad("cli sees public headers only")
	if (d[1] == "include" && /"/) bad("public headers include <hwtrace/...> only")
	for (l in rank) if (l != "include" && index($0, "/" l "/") && /"/ && rank[l] > rank[d[1]]) bad("points up to " l)
}
END { exit n > 0 }' || { echo "layers: see the lines above" >&2; exit 1; }
echo "layers: ok"
