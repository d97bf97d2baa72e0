#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Layers point one way, and each package is included by exactly one file (see README.md of each folder).
git ls-files -co --exclude-standard 'hwtrace/*.[ch]' 'decoders/*.[ch]' 'correlate/*.[ch]' 'cli/*.[ch]' 'include/*.h' 'kmod/*.[ch]' |
xargs awk '
function bad(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0; n++ }
BEGIN { rank["include"] = 0; rank["hwtrace"] = 1; rank["decoders"] = 2; rank["correlate"] = 3; rank["cli"] = 4
	only["intel-pt.h"] = "decoders/flow/ipt_lib.c"; only["opencsd/"] = "decoders/flow/ocsd_lib.c"
	only["libelf.h"] = only["gelf.h"] = "hwtrace/image/elf.c"; only["capstone/"] = "hwtrace/image/disasm.c"
	only["elfutils/"] = "hwtrace/image/dwarf.c"; only["zstd.h"] = "hwtrace/source/perf_zstd.c"
	only["traceevent/"] = "hwtrace/source/tep.c"
	only["zlib.h"] = "hwtrace/source/unpack.c"
	only["babeltrace2/"] = "hwtrace/source/ctf_bt.h" }
/^[ \t]*#[ \t]*include/ {
	split(FILENAME, d, "/")
	# the model classifies without our own tables and their helpers: it has a use of its own
	if (FILENAME == "hwtrace/model/insn.c" && index($0, "<capstone/")) next
	for (k in only) if (index($0, "<" k) && FILENAME != only[k]) bad("only " only[k] " includes this")
	if (d[1] == "cli" && match($0, /"(\.\.\/)+(hwtrace|decoders|correlate)\//)) bad("cli sees public headers only")
	if (d[1] == "hwtrace" && d[2] == "model" && /"/ && /decoders\/|image\//) bad("the model shares nothing with decoders and image")
	if (d[1] == "kmod" && /<hwtrace\// && !/<hwtrace\/(uapi|kmod)\.h>|<hwtrace\/[a-z]+\.def>/) bad("the module sees uapi.h, kmod.h and *.def")
	if (d[1] == "kmod" && /"(\.\.\/)+(hwtrace|decoders|correlate|cli|include|tests)\//) bad("the module is on its own")
	if (d[1] == "include" && /"/) bad("public headers include <hwtrace/...> only")
	for (l in rank) if (l != "include" && index($0, "/" l "/") && /"/ && rank[l] > rank[d[1]]) bad("points up to " l)
}
END { exit n > 0 }' || { echo "layers: see the lines above" >&2; exit 1; }
echo "layers: ok"
