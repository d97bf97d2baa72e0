#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Recordings made here with trace-cmd: versions, compressions, clocks, instances, losses, against trace-cmd report; pages saved from
# tracefs, against the text that the kernel itself makes of them. They are short, and in buffers of their own where the clock allows it.
. tests/golden/common
need trace-cmd
need python3
need unshare
T=/sys/kernel/tracing
[ "$(id -u)" = 0 ] || { echo "not root"; exit 77; }
[ -w $T/instances ] || { echo "no tracefs at $T"; exit 77; }
# trace-cmd has the machine's one top buffer: two of these tests at once would disturb each other
exec 8<$T/instances
flock -w 300 8 || { echo "another recording does not end"; exit 77; }
I=hwt$$
mkdir "$T/instances/$I" 2>/dev/null || { echo "tracefs: no instance can be made"; exit 77; }
drop() {
	for i in $I ${I}a ${I}b; do [ -d $T/instances/$i ] && echo 0 >$T/instances/$i/tracing_on && rmdir $T/instances/$i; done 2>/dev/null
}
trap 'drop; rm -rf "$TMP"' EXIT

# 1. The pages of an instance, saved as hwtrace-ftrace(5) tells, of @1 KiB each if the kernel can.
X=$T/instances/$I
saved() {
	S=$TMP/saved$1
	for e in sched/sched_switch sched/sched_waking sched/sched_process_fork irq_vectors/local_timer_entry; do
		[ -d $X/events/$e ] && echo 1 >$X/events/$e/enable
	done
	ls -R /usr/share >/dev/null 2>&1
	echo hello >$X/trace_marker
	echo 0 >$X/tracing_on
	grep -v '^#' $X/trace >"$TMP/text"
	mkdir -p "$S/events/ftrace"
	cat $X/events/header_page >"$S/events/header_page"
	for f in $X/events/sched $X/events/irq_vectors $T/events/ftrace/print; do
		(cd $T/events && find "${f#*/events/}" -name format) | while read -r p; do
			mkdir -p "$S/events/$(dirname "$p")"
			cat "$T/events/$p" >"$S/events/$p"
		done
	done
	for c in $X/per_cpu/cpu*; do
		mkdir -p "$S/per_cpu/$(basename "$c")"
		dd if="$c/trace_pipe_raw" of="$S/per_cpu/$(basename "$c")/trace_pipe_raw" bs="$1k" iflag=nonblock 2>/dev/null
	done
	cat $X/trace_clock >"$S/trace_clock"
	cat $T/saved_cmdlines >"$S/saved_cmdlines"
	"$HWT" list -q --jsonl "$S" >"$TMP/l" || die "saved pages: exit $? $("$HWT" list "$S" 2>&1 | tail -n 3)"
	python3 - "$TMP/text" "$TMP/l" "$1" <<'PY' || die "saved pages: not what the kernel shows"
import json, re, sys
want, got = [], []
for s in open(sys.argv[1], errors='replace'):
    m = re.match(r'^.*-(\d+) +\[(\d+)\] +\S+ +([\d.]+): (\S+): (.*)$', s)
    if m:
        f = dict(x.split('=', 1) for x in re.findall(r'(?:prev_pid|next_pid|next_prio|pid|child_pid|vector)=\d+', m[5]))
        want.append((int(m[2]), m[3], int(m[1]), m[4], f))
start = 0
for s in open(sys.argv[2]):
    j = json.loads(s)
    if j['type'] == 'header':
        start = j['time_start']
    elif j['type'] == 'record' and j['name'] != 'stream.lost':
        ns = j['time']['lo'] + start
        got.append((j['cpu'], '%d.%06d' % (ns // 10**9, (ns // 1000) % 10**6), j['tid'], j['name'].split(':')[1],
                    dict(re.findall(r'(prev_pid|next_pid|next_prio|pid|child_pid|vector)=(\d+)', j['fields']))))
bad = 0
for w, g in zip(want, got):
    # the kernel rounds to the nearest microsecond, we cut
    near = abs(round(float(w[1]) * 1e6) - round(float(g[1]) * 1e6)) <= 1
    if (w[0], w[2]) != (g[0], g[2]) or not near or (w[3] != g[3] and w[3] != 'tracing_mark_write') or \
       any(g[4].get(k) != v for k, v in w[4].items()):
        bad += 1
        print('kernel', w, 'ours', g)
        if bad > 3:
            break
print(f'# saved pages of {sys.argv[3]} KiB: {len(got)} events, {bad} differ')
sys.exit(bad or len(want) != len(got) or len(got) < 10)
PY
}
saved $(($(getconf PAGESIZE) / 1024))
if [ -w $X/buffer_subbuf_size_kb ] && echo 16 >$X/buffer_subbuf_size_kb; then
	echo >$X/trace
	echo 1 >$X/tracing_on
	saved 16
fi

# 2. trace-cmd. What it can not write in some machines (the function tracer's files) it finds harmless ones for, in a namespace of its own.
ns() {
	unshare -m sh -c '
		: >"$0/null"; echo 1 >"$0/one"
		mount --bind "$0/one" /proc/sys/kernel/ftrace_enabled
		for d in . '"$2"'; do
			for f in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid; do
				mount --bind "$0/null" /sys/kernel/tracing/$d/$f
			done
		done
		shift 2; exec "$@"' "$TMP" "$@" 2>"$TMP/err" >"$TMP/log"
}
n=0
rec() {	# name, instances, options of trace-cmd record
	name=$1 inst=
	for i in $2; do mkdir -p $T/instances/$i && inst="$inst instances/$i"; done
	shift 2
	ns x "$inst" timeout 60 trace-cmd record -q -o "$TMP/$name.dat" "$@" ls -R /usr/share/doc
	# nothing in it: something else stopped the recording
	[ -s "$TMP/$name.dat" ] && [ "$(trace-cmd report -t "$TMP/$name.dat" 2>/dev/null | head -n 20 | wc -l)" = 20 ] || { echo "# left out: $name: trace-cmd: $(tail -n 1 "$TMP/err")"; return; }
	python3 tests/golden/ftrace.py "$HWT" "$TMP/$name.dat" -- --nodate >"$TMP/out" || { cat "$TMP/out"; die "$name: not what trace-cmd reports"; }
	echo "# $name: $(cat "$TMP/out")"
	n=$((n + 1))
}
rec v7 "" -e sched -e irq -e signal
rec v6 "" --file-version 6 -e sched -e timer
rec plain "" --compression none -e sched -e raw_syscalls
rec mono "" -C mono --date -e sched
rec tsc "" -C x86-tsc -e sched
rec counter "" -C counter -e sched:sched_switch
rec lost "" -b 8 -s 300000 -e kmem -e sched
rec lost6 "" --file-version 6 -b 8 -s 300000 -e kmem
rec inst "${I}a ${I}b" -e sched:sched_waking -B ${I}a -e sched:sched_switch -B ${I}b -e raw_syscalls
rec inst6 "${I}a ${I}b" --file-version 6 -e sched:sched_waking -B ${I}a -e sched:sched_switch -B ${I}b -e raw_syscalls
[ $n -gt 0 ] || { echo "trace-cmd can not record here"; exit 77; }
exit 0
