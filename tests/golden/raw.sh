#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A buffer of a snapshot read as a raw dump, described by a text made from the snapshot's own: the same packets, the same flow.
# The snapshot's reading is compared with OpenCSD elsewhere.
. tests/golden/common
need_captures

# section key=value lines of all descriptions: "FILE SECTION KEY VALUE"
flat() {
	for i in "$1"/*.ini; do
		tr -d '\r' <"$i" | awk -v f="${i##*/}" '/^ *[;#]/ || /^ *\/\// { next }
			/^\[/ { s = $0; gsub(/[][]/, "", s); next } { i = index($0, "="); if (i) print f, s, substr($0, 1, i - 1), substr($0, i + 1) }'
	done
}

# config of the buffer called $2 in snapshot $1
config() {
	flat "$1" | awk -v dir="$1" -v buf="$2" '
	{ v = $4; for (i = 5; i <= NF; i++) v = v " " $i; sub(/\(.*/, "", $3) }
	$2 ~ /^dump/ { d[$1 " " $2, $3] = v; if ($3 == "file") dumps[++nd] = $1 " " $2 }
	$2 == "device" { dev[$1, $3] = v; if ($3 == "name") file[v] = $1 }
	$2 == "regs" { regs[$1] = regs[$1] $3 "=" v "\n" }
	$2 == "source_buffers" && v == buf { src[++ns] = $3 }
	$2 == "core_trace_sources" { core[v] = $3 }
	$2 ~ /^buffer/ && $3 == "name" && v == buf { sect = $2 }
	$2 ~ /^buffer/ && $3 == "format" { fmt[$2] = v }
	END {
		f = fmt[sect]; print "framing=" (f == "coresight" ? "memory" : f == "source_data" ? "none" : "tpiu")
		for (i = 1; i <= nd; i++) { k = dumps[i]; o = d[k, "offset"]; l = d[k, "length"]
			w = "dump=" dir "/" d[k, "file"] "@" d[k, "address"] "," (o ? o : 0) "," (l ? l : 0)
			cmd = "test -f \"" dir "/" d[k, "file"] "\""
			if (!(w in seen) && !system(cmd)) print w; seen[w] = 1 }
		for (i = 1; i <= ns; i++) { s = src[i]; t = file[s]; c = core[s]; n = c; sub(/^cpu_/, "", n)
			print "[source]\nname=" s "\nproto=" dev[t, "type"]; if (c in file) print "core=" dev[file[c], "type"] "\ncpu=" (n ~ /^[0-9]+$/ ? n : 0)
			r = regs[t]; m = split(r, line, "\n")
			for (j = 1; j <= m; j++) if (line[j] ~ /^(ETM(CR|TRACEIDR|CCER|IDR)|TRC(CONFIGR|TRACEIDR|DEVARCH|IDR(0|1|2|8|9|10|11|12|13))|STMTCSR|ITMTCR)=/) print line[j] }
	}'
}

n=0
for w in arm/TC2:ETB_0:cstrace.bin arm/fib-1:ETB_0:../../fib-files/trace1/cstrace.bin arm/a57_single_step:CSTMC_TRACE_FIFO:CSTMC_TRACE_FIFO.bin \
	arm/tc2-ptm-rstk-t32:PTM_0_2:PTM_0_2.bin arm/a55-test-tpiu:DSTREAM_0:DSTREAM_0.bin arm/stm_only:ETB_1:cstraceitm.bin \
	ete/tme_test:ETB_1:session1.bin; do
	d=$CAP/${w%%:*}/in b=${w#*:}
	file=$d/${b#*:} b=${b%%:*}
	full=$(cd "$d" && pwd)
	config "$full" "$b" >"$TMP/conf"
	"$HWT" packets "$d" >"$TMP/want" 2>/dev/null
	"$HWT" packets --cs "$file" --config "$TMP/conf" >"$TMP/got" 2>"$TMP/err"
	cmp "$TMP/want" "$TMP/got" || die "$d: other packets: $(cat "$TMP/err")"
	[ -s "$TMP/got" ] || die "$d: no packets: $(cat "$TMP/err")"
	"$HWT" list --jsonl --level range "$d" 2>/dev/null | sed 1d >"$TMP/want"
	"$HWT" list --jsonl --level range --cs "$file" --config "$TMP/conf" 2>"$TMP/err" | sed 1d >"$TMP/got"
	cmp "$TMP/want" "$TMP/got" || die "$d: other flow: $(cat "$TMP/err")"
	n=$((n + $(wc -l <"$TMP/got")))
done

# without a description the evidence is shown, and nothing is guessed
"$HWT" info --cs "$CAP/arm/TC2/in/cstrace.bin" >"$TMP/out" 2>&1 && die "a raw dump without description opens"
grep -q 'framing=memory.*0x10 0x11 0x12.*E084' "$TMP/out" || die "no evidence: $(cat "$TMP/out")"
"$HWT" packets --pt - <"$CAP/pt/lldb-thread/in/3842849.trace" >"$TMP/got" 2>/dev/null
"$HWT" packets --pt "$CAP/pt/lldb-thread/in/3842849.trace" 2>/dev/null | cmp - "$TMP/got" || die "standard input reads otherwise"
echo "# $n lines of flow, raw as in the snapshot"
