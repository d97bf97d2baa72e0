#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# record --model: what is recorded is what ran (an independent single-stepper, and what the programs say of themselves),
# and the programs never notice: they print what they print alone.
. tests/golden/common
case "$(uname -m)" in x86_64) ;; *) echo "the recorder's test program is for x86-64"; exit 77 ;; esac
need gcc
need python3
P=$TMP/prog
chmod 755 "$TMP"
gcc -O1 -static -pthread -o "$P" tests/golden/record/prog.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
"$O/tests/tools/step" "$P" uid >"$TMP/o" 2>/dev/null
[ $? = 77 ] && { echo "ptrace is not permitted here"; exit 77; }

# what a capture says ran, one address a line; repetitions of string instructions are one
addrs() { "$HWT" list --jsonl "$@" 2>/dev/null | sed -n 's/.*"type":"insn".*"addr":"0x\([0-9a-f]*\)".*/\1/p'; }
# OPTIONS... -- PROGRAM...: records into $TMP/c.hwt; standard output in out, messages in err
rec() {
	rm -rf "$TMP/c.hwt"
	"$HWT" record --model -o "$TMP/c.hwt" "$@" >"$TMP/out" 2>"$TMP/err"
}

# 1. every instruction, against another stepper; for several kinds of trace
# (its program writes to the null device, too: buffers of other files are set up differently)
setarch -R "$O/tests/tools/step" "$P" work 6 2>/dev/null | uniq >"$TMP/truth"
n=$(wc -l <"$TMP/truth")
[ "$n" -gt 10000 ] || die "the stepper saw $n instructions"
for opt in "" "--cyc --mtc 9 --no-retcomp --no-kernel"; do
	rm -rf "$TMP/c.hwt"
	# shellcheck disable=SC2086
	setarch -R "$HWT" record --model $opt -o "$TMP/c.hwt" "$P" work 6 >/dev/null 2>"$TMP/err" || die "work: $(cat "$TMP/err")"
	clean "$TMP/c.hwt"
	addrs "$TMP/c.hwt" | diff "$TMP/truth" - >"$TMP/diff" || die "work $opt: not what ran: $(head -n 5 "$TMP/diff")"
	grep -q " $(addrs "$TMP/c.hwt" | wc -l) instructions of 1 thread" "$TMP/err" || die "work $opt: $(cat "$TMP/err")"
done
# kernel events are the same for all who count them, the recorder's own included (here it is alone)
said=$(sed -n 's/.*trace, \([0-9]*\) kernel events.*/\1/p' "$TMP/err")
[ "$said" -gt 10 ] && [ "$("$HWT" info "$TMP/c.hwt" | sed -n 's/^kernel events *//p' | tr -d ' ')" = "$said" ] &&
	[ "$("$HWT" timeline -q --filter '*' --jsonl "$TMP/c.hwt" | grep -c '"type":"kernel"')" = "$said" ] ||
	die "kernel events: record says $said, info $("$HWT" info "$TMP/c.hwt" | grep '^kernel events'), timeline $("$HWT" timeline -q --filter '*' --jsonl "$TMP/c.hwt" | grep -c '"type":"kernel"')"
# what needs the kernel's own switches is not checked, and that is said
"$HWT" check --jsonl "$TMP/c.hwt" 2>/dev/null | grep -q '"rules_stepping":\["runs","woken","raised","waking","born","moved"\]' ||
	die "left out: $("$HWT" check --jsonl "$TMP/c.hwt" 2>/dev/null | grep rules_stepping)"
"$HWT" info "$TMP/c.hwt" | grep -q 'recorder *model' || die "info does not say that a model recorded"
"$HWT" calls "$TMP/c.hwt" 2>&1 >/dev/null | grep -q 'simulation,.* times are those of the stepping' || die "calls does not say whose times these are"
echo "# $n instructions as another stepper saw them"

# 2. what programs print, and how often each thread called tick(), by its first instruction
tick=$(nm "$P" | sed -n 's/^0*\([0-9a-f]*\) T tick$/\1/p')
plain() { sed 's/tid [0-9]*/tid/' | sort; }
for m in threads forks restarts signals traps strings jit atomics; do
	"$P" $m | plain >"$TMP/alone"
	rec --from main -- "$P" $m || die "$m: $(cat "$TMP/err")"
	plain <"$TMP/out" | diff "$TMP/alone" - >"$TMP/diff" || die "$m: prints something else when recorded: $(cat "$TMP/diff")"
	clean "$TMP/c.hwt"
	# the last line of each thread has its final count; one that ends in a vfork child counts there
	awk '{ last[$2] = $4 } END { for (t in last) print t, last[t] }' "$TMP/out" | sort -n >"$TMP/said"
	while read -r tid count; do
		got=$(addrs --tid "$tid" "$TMP/c.hwt" | grep -c "^$tick\$")
		[ "$got" = "$count" ] || die "$m: thread $tid called tick() $count times, $got recorded"
	done <"$TMP/said"
done
for m in threads restarts; do
	rec --from main -- "$P" $m || die "$m: $(cat "$TMP/err")"
	"$HWT" timeline --jsonl "$TMP/c.hwt" 2>/dev/null | python3 tests/golden/record/switches.py >"$TMP/o" ||
		die "$m: records of threads that no switch brought: $(tail -n 3 "$TMP/o")"
done
tail -n 1 "$TMP/o"
# a program that executes another
rec -- "$P" exec || die "exec: $(cat "$TMP/err")"
grep -q 'copied 1' "$TMP/out" || die "exec: $(cat "$TMP/out")"
clean "$TMP/c.hwt"
# its kernel records alone are as good
"$HWT" check "$TMP/c.hwt/kernel" >"$TMP/check" 2>&1 || grep -q E125 "$TMP/check" || die "kernel/ alone: $(cat "$TMP/check")"
[ "$(addrs "$TMP/c.hwt" | grep -c "^$tick\$")" = 1 ] || die "exec: tick() not seen once"
echo "# programs with threads, fork, vfork, exec, signals, restarted calls, traps, code that changes: as they say"

# 3. windows: only what is inside is there
rec --from work --to done -- "$P" work 5 || die "window: $(cat "$TMP/err")"
first=$(addrs "$TMP/c.hwt" | head -n 1)
[ "$first" = "$(nm "$P" | sed -n 's/^0*\([0-9a-f]*\) T work$/\1/p')" ] || die "window begins at $first"
addrs "$TMP/c.hwt" | grep -q "$(nm "$P" | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')" && die "main is in the window"
rec --from work -- "$P" work 5 || die "window: $(cat "$TMP/err")"
"$HWT" calls "$TMP/c.hwt" >"$TMP/calls" 2>/dev/null
grep -q ' work { (trace begins here)$' "$TMP/calls" || die "window: work is not where the trace begins: $(head -n 2 "$TMP/calls")"
grep -q '} work.*(entry not seen)' "$TMP/calls" && die "window: work was entered"
[ "$(addrs "$TMP/c.hwt" | grep -c "^$tick\$")" = 15 ] || die "window until return: tick() $(addrs "$TMP/c.hwt" | grep -c "^$tick\$") times"
rec --from tick -- "$P" work 5 || die "window: $(cat "$TMP/err")"
[ "$(addrs "$TMP/c.hwt" | grep -c "^$tick\$")" = 15 ] || die "window that comes again: tick() not 15 times"
[ "$("$HWT" list --level events "$TMP/c.hwt" 2>/dev/null | grep -c 'trace .*on at\|trace resumes')" -ge 15 ] || die "window that comes again: fewer starts"
# what stops and begins elsewhere is no signal; callers that did not run inside have no line
for w in "--from tick" "--from work --to tick"; do
	# shellcheck disable=SC2086
	rec $w -- "$P" work 5 || die "$w: $(cat "$TMP/err")"
	"$HWT" calls "$TMP/c.hwt" >"$TMP/calls" 2>/dev/null
	[ "$(grep -c '(trace begins here)' "$TMP/calls")" -gt 5 ] || die "$w: begins: $(head -n 9 "$TMP/calls")"
	grep -e ' signal \|already running\|  -[0-9]' "$TMP/calls" && die "$w: calls tells what was not seen"
done
rec --from main -- "$P" signals || die "signals: $(cat "$TMP/err")"
"$HWT" calls "$TMP/c.hwt" 2>/dev/null | grep -q ' signal on_signal' || die "signals: calls shows none"
# names that are nowhere: an error, and before the start where it is sure that nothing else will run
echo 'int main(void) { return __builtin_puts("ran") < 0; }' >"$TMP/ran.c"
gcc -static -o "$TMP/static" "$TMP/ran.c" && gcc -o "$TMP/dynamic" "$TMP/ran.c" || die "ran.c"
for p in static dynamic; do
	rec --from no_such_function -- "$TMP/$p"
	[ $? = 2 ] && grep -q 'nothing was recorded.*E178' "$TMP/err" && grep -q '^try: .*--from' "$TMP/err" ||
		die "no window: $(cat "$TMP/err")"
	[ -d "$TMP/c.hwt" ] && die "no window: a capture is left"
	[ $p = dynamic ] || [ ! -s "$TMP/out" ] || die "no window: the static program ran"
done
# the name is of a program that is executed later, or was of the one before
rec --from work -- /bin/sh -c "exec $P work 2" || die "window behind exec: $(cat "$TMP/err")"
[ "$(addrs "$TMP/c.hwt" | grep -c "^$tick\$")" -gt 0 ] || die "window behind exec: nothing stepped"
rec --from main -- "$P" exec || die "exec, window: $(cat "$TMP/err")"
rec --from getpid -- /bin/sh -c "exec $TMP/static" || die "exec, window gone: $(cat "$TMP/err")"
grep -q E178 "$TMP/err" && die "exec, window gone: $(cat "$TMP/err")"
grep -q "after exec of $TMP/static by process [0-9]* there is no getpid" "$TMP/err" || die "exec, window gone: $(cat "$TMP/err")"
# a position-independent program, and a function of a library
gcc -O1 -pthread -o "$TMP/pie" tests/golden/record/prog.c || die "pie"
rec --from work --from strlen -- "$TMP/pie" work 5 || die "pie: $(cat "$TMP/err")"
clean "$TMP/c.hwt"
"$HWT" calls "$TMP/c.hwt" 2>/dev/null | grep -q 'work' || die "pie: work is not there"
rec --limit 500 -- "$P" work 5
[ $? = 0 ] && grep -q 'stopped at --limit' "$TMP/err" && [ "$(cat "$TMP/out")" = 5 ] || die "limit: $(cat "$TMP/err" "$TMP/out")"
clean "$TMP/c.hwt"
[ "$(addrs "$TMP/c.hwt" | wc -l)" = 500 ] || die "limit: $(addrs "$TMP/c.hwt" | wc -l) instructions"
# inside a string instruction, which then has not run: the three before it have
printf '.globl _start\n_start: lea buf(%%rip),%%rdi\nmov $4000,%%ecx\nxor %%eax,%%eax\nrep stosb\nmov $60,%%eax\nxor %%edi,%%edi\nsyscall\n.comm buf,4096\n' >"$TMP/rep.s"
gcc -nostdlib -static -o "$TMP/rep" "$TMP/rep.s" || die "rep: not built"
for k in "100 3" "5000 7"; do
	rec --limit "${k% *}" -- "$TMP/rep" || die "rep: $(cat "$TMP/err")"
	clean "$TMP/c.hwt"
	grep -q ": ${k#* } instructions of 1 thread" "$TMP/err" && [ "$(addrs "$TMP/c.hwt" | wc -l)" = "${k#* }" ] ||
		die "rep, limit ${k% *}: $(addrs "$TMP/c.hwt" | wc -l) listed, $(cat "$TMP/err")"
done

# a program that only waits: that is said, without a terminal too
rec --from main -- "$TMP/pie" wait || die "wait: $(cat "$TMP/err")"
grep -q 'all threads wait, [5-7] s' "$TMP/err" || die "wait: $(cat "$TMP/err")"

# 4. how it ends
code() {	# EXPECTED MESSAGE OPTIONS...
	want=$1 words=$2
	shift 2
	rec "$@"
	got=$?
	[ $got = "$want" ] || die "$*: exit $got, not $want: $(cat "$TMP/err")"
	grep -q "$words" "$TMP/err" || die "$*: does not say \"$words\": $(cat "$TMP/err")"
}
code 1 'ended with exit code 42' --from main -- "$P" fail
clean "$TMP/c.hwt"
code 1 'killed by signal 6' --from main -- "$P" abort
clean "$TMP/c.hwt"
code 1 'seccomp filter forbids' --from main -- "$P" seccomp
clean "$TMP/c.hwt"
code 3 'E170' -- "$TMP/nothing"
code 3 'E170' -- no-such-program-anywhere
code 3 'E170' -- "$TMP"
echo text >"$TMP/text"
code 3 'E170' -- "$TMP/text"
chmod 755 "$TMP/text"
code 3 'E171' -- "$TMP/text"
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\267\0\1\0\0\0' >"$TMP/arm"
chmod 755 "$TMP/arm"
code 3 'for arm64.*E172' -- "$TMP/arm"
code 3 'E174' -p 4194303
[ -d "$TMP/c.hwt" ] && die "a capture was made of nothing"
code 2 'no program' --no-kernel
code 2 'not both' -p 1 -- "$P"
rec -- "$P" uid
"$HWT" record --model -o "$TMP/c.hwt" "$P" uid >/dev/null 2>"$TMP/err"
[ $? = 2 ] && grep -q 'exists\|-f' "$TMP/err" || die "a capture was overwritten: $(cat "$TMP/err")"
"$HWT" record --model -f -o "$TMP/c.hwt" "$P" uid >/dev/null 2>&1 || die "-f does not overwrite"
code 5 '' -o /proc/nothing/here.hwt -- "$P" uid

# 5. Ctrl-C, and a recorder that is killed
state() { sed -n 's/^State:[^A-Z]*\([A-Z]\).*/\1/p; s/^TracerPid:.//p' "/proc/$1/status" 2>/dev/null | tr '\n' ' '; }
number() { od -An -tu8 -N8 "$1" | tr -d ' '; }
lives() {	# PID FILE: not traced, not stopped, and it counts on
	i=0
	while [ $i -lt 600 ]; do
		case "$(state "$1")" in "S 0 "|"R 0 ") break ;; esac
		sleep 0.1
		i=$((i + 1))
	done
	[ $i -lt 600 ] || die "process $1 is \"$(state "$1")\""
	a=$(number "$2")
	i=0
	while [ $i -lt 600 ] && [ "$(number "$2")" -le "$((a + 2000))" ]; do
		sleep 0.1
		i=$((i + 1))
	done
	[ $i -lt 600 ] || die "process $1 does not go on"
}
until_steps() {	# CAPTURE: until something is in it
	i=0
	while [ $i -lt 600 ] && [ -z "$(cat "$1"/hw/*.bin 2>/dev/null | head -c 1 | od -An -tx1)" ]; do
		sleep 0.1
		i=$((i + 1))
	done
}
rm -rf "$TMP/c.hwt"
"$HWT" record --model -o "$TMP/c.hwt" "$P" count "$TMP/n" 2>"$TMP/err" &
h=$!
until_steps "$TMP/c.hwt"
pid=$(cat "/proc/$h/task/$h/children")
kill -INT $h
wait $h
[ $? = 130 ] || die "Ctrl-C: exit $?, $(cat "$TMP/err")"
lives "${pid% }" "$TMP/n"
kill "${pid% }"
clean "$TMP/c.hwt"
grep -q interrupted "$TMP/err" || die "Ctrl-C: $(cat "$TMP/err")"
rm -rf "$TMP/c.hwt"
"$HWT" record --model -o "$TMP/c.hwt" "$P" count "$TMP/n" 2>"$TMP/err" &
h=$!
until_steps "$TMP/c.hwt"
pid=$(cat "/proc/$h/task/$h/children")
kill -KILL $h
wait $h 2>/dev/null
i=0
while [ -d "/proc/${pid% }" ] && [ "$(state "${pid% }" | cut -c1)" != Z ] && [ $i -lt 600 ]; do
	sleep 0.1
	i=$((i + 1))
done
[ $i -lt 600 ] || die "the program outlives a recorder that was killed: $(state "${pid% }")"
"$HWT" calls "$TMP/c.hwt" >"$TMP/o" 2>&1
[ "$(addrs "$TMP/c.hwt" | wc -l)" -gt 100 ] || die "recorder killed: $(head -n 5 "$TMP/o")"

# 6. a process that runs
"$P" count "$TMP/n" &
pid=$!
sleep 0.3
taskset -p $pid >"$TMP/cpus" 2>/dev/null
rec --limit 3000 -p $pid || die "attach: $(cat "$TMP/err")"
lives $pid "$TMP/n"
taskset -p $pid 2>/dev/null | cmp -s - "$TMP/cpus" || die "attach: bound to other CPUs afterwards"
clean "$TMP/c.hwt"
[ "$(addrs "$TMP/c.hwt" | wc -l)" -gt 2900 ] || die "attach: $(addrs "$TMP/c.hwt" | wc -l) instructions"
rec --from tick --limit 200 -p $pid || die "attach, window: $(cat "$TMP/err")"
lives $pid "$TMP/n"
[ "$(addrs "$TMP/c.hwt" | head -n 1)" = "$tick" ] || die "attach, window: begins elsewhere"
rm -rf "$TMP/c.hwt" "$TMP/d.hwt"
"$HWT" record --model -o "$TMP/c.hwt" -p $pid 2>"$TMP/err" &
h=$!
until_steps "$TMP/c.hwt"
"$HWT" record --model -o "$TMP/d.hwt" -p $pid 2>"$TMP/err2"
[ $? = 5 ] && grep -q 'traced already.*E175' "$TMP/err2" || die "two tracers: $(cat "$TMP/err2")"
kill -KILL $h
wait $h 2>/dev/null
lives $pid "$TMP/n"
# sent more than once, as timeout(1) and a terminal do, or another one that asks for the end
# (not from this shell: what it starts behind "&" has SIGINT and SIGQUIT ignored)
for sigs in INT,INT INT,INT,TERM TERM,TERM HUP QUIT; do
	rm -rf "$TMP/c.hwt"
	python3 - "$HWT" "$TMP/c.hwt" $pid $sigs 2>"$TMP/err" <<'EOF'
import glob, os, signal, subprocess, sys, time
hwt, out, pid, sigs = sys.argv[1:]
for n in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
    signal.signal(n, signal.SIG_DFL)
p = subprocess.Popen([hwt, "record", "--model", "-p", pid, "-o", out])
end = time.time() + 60
while time.time() < end and not any(map(os.path.getsize, glob.glob(out + "/hw/*.bin"))):
    time.sleep(.05)
for s in sigs.split(","):
    p.send_signal(getattr(signal, "SIG" + s))
    time.sleep(.0005)
sys.exit(p.wait() & 255)
EOF
	rc=$?
	lives $pid "$TMP/n"
	[ $rc = 130 ] && grep -q interrupted "$TMP/err" || die "$sigs: exit $rc, $(cat "$TMP/err")"
	clean "$TMP/c.hwt"
done
# a limit of the size of files, that the trace comes to
rm -rf "$TMP/c.hwt"
env --default-signal "$HWT" record --model -o "$TMP/c.hwt" -p $pid 2>"$TMP/err" &
h=$!
until_steps "$TMP/c.hwt"
prlimit --pid "$(tr -d ' ' <"/proc/$h/task/$h/children")" --fsize=1
wait $h
rc=$?	# the words do not fit either
[ $rc = 5 ] || die "limit of sizes: exit $rc"
lives $pid "$TMP/n"
kill $pid
echo "# Ctrl-C, SIGKILL, attached and let go: the program goes on"

# 7. users
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir "$TMP/u" && chmod 777 "$TMP/u"
	cp "$HWT" "$P" "$TMP/u/" && cp "$P" "$TMP/u/setuid" && chmod 4755 "$TMP/u/setuid"
	chmod 755 "$TMP/u/hwtrace"
	cp "$TMP/pie" "$TMP/u/secret" && chmod 711 "$TMP/u/secret"
	as() { (cd "$TMP/u" && setpriv --reuid=65534 --regid=65534 --clear-groups "$@"); }
	as ./hwtrace record --model -- /bin/true 2>"$TMP/err" || die "user: $(cat "$TMP/err")"
	[ "$(grep -c 'kernel: .*E180' "$TMP/err")" = 1 ] || die "user: does not say that there are no kernel events: $(cat "$TMP/err")"
	for c in list calls check; do
		as ./hwtrace $c true.hwt >"$TMP/o" 2>&1 || die "user: $c: $(tail -n 3 "$TMP/o")"
		[ -s "$TMP/o" ] || die "user: $c prints nothing"
	done
	as ./hwtrace record --model ./setuid uid >"$TMP/out" 2>"$TMP/err" || die "setuid: $(cat "$TMP/err")"
	grep -q 'E179' "$TMP/err" && grep -q 'uid 65534' "$TMP/out" || die "setuid: $(cat "$TMP/err" "$TMP/out")"
	as ./hwtrace record --model -p 1 2>"$TMP/err"
	[ $? = 5 ] && grep -q 'E173' "$TMP/err" || die "foreign process: $(cat "$TMP/err")"
	as ./hwtrace record --model -- ./secret uid >"$TMP/out" 2>"$TMP/err"
	rc=$?
	[ $rc -ge 3 ] || grep -q 'uid 65534' "$TMP/out" || die "unreadable program: exit $rc $(cat "$TMP/err")"
	# a full disk: said, and the program goes on
	mkdir "$TMP/small"
	if mount -t tmpfs -o size=96k none "$TMP/small" 2>/dev/null; then
		"$HWT" record --model --cyc --mtc 0 -o "$TMP/small/c.hwt" -- "$P" work 8 >"$TMP/out" 2>"$TMP/err"
		rc=$?
		rm -rf "$TMP/small/c.hwt"
		# there is room for a directory and no more: nothing is left of it
		dd if=/dev/zero of="$TMP/small/fill" bs=4k count=23 2>/dev/null
		"$HWT" record --model -o "$TMP/small/d.hwt" -- "$P" work 8 >"$TMP/out" 2>"$TMP/err3"
		rc3=$?
		empty=$(ls -d "$TMP/small/d.hwt" 2>/dev/null)
		umount "$TMP/small"
		[ $rc3 = 5 ] && grep -qi 'space' "$TMP/err3" && [ -z "$empty" ] || die "full disk: exit $rc3, leaves \"$empty\" $(cat "$TMP/err3")"
		[ $rc = 5 ] && grep -qi 'space' "$TMP/err" || die "full disk: exit $rc $(cat "$TMP/err")"
	fi
	echo "# as a user without rights; setuid, foreign process, full disk"
fi
# 8. events of this machine's kernel, on the same clock
if [ "$(id -u)" = 0 ] && mkdir /sys/kernel/tracing/instances/hwtrace-test.$$ 2>/dev/null; then
	rmdir /sys/kernel/tracing/instances/hwtrace-test.$$
	mkdir /sys/kernel/tracing/instances/hwtrace-4194000	# of a recorder that was killed
	rec --from main -- "$P" threads || die "kernel: $(cat "$TMP/err")"
	clean "$TMP/c.hwt"
	grep -q ' 0 kernel events' "$TMP/err" && die "kernel: $(cat "$TMP/err")"
	"$HWT" list --level events "$TMP/c.hwt" >"$TMP/o" 2>/dev/null
	for e in 'irq.entry: .*local_timer' 'softirq.entry' 'sched.waking' 'syscall.enter' 'sched.fork'; do
		grep -q -e "-- $e" "$TMP/o" || die "kernel: no $e"
	done
	rm -rf "$TMP/c.hwt"
	"$HWT" record --model -o "$TMP/c.hwt" "$P" count "$TMP/n" 2>"$TMP/err" &
	h=$!
	until_steps "$TMP/c.hwt"
	pid=$(cat "/proc/$h/task/$h/children")
	ls -d /sys/kernel/tracing/instances/hwtrace-$h-* >/dev/null || die "kernel: no instance"
	kill -INT $h
	wait $h
	kill "${pid% }"
	[ -z "$(ls -d /sys/kernel/tracing/instances/hwtrace-$h-* /sys/kernel/tracing/instances/hwtrace-4194000 2>/dev/null)" ] || die "kernel: instances are left"
	echo "# kernel events of this machine between those of the program"
fi
if command -v babeltrace2 >/dev/null; then
	rec --no-kernel --from main -- "$P" threads
	babeltrace2 "$TMP/c.hwt/kernel" >"$TMP/bt" 2>"$TMP/err" || die "babeltrace2: $(cat "$TMP/err")"
	k=$("$HWT" info "$TMP/c.hwt" | sed -n 's/^kernel events *//p')
	[ "$(wc -l <"$TMP/bt")" = "$k" ] || die "babeltrace2 reads $(wc -l <"$TMP/bt") events, hwtrace $k"
	[ "$(grep -c 'sched.fork\|sched_fork' "$TMP/bt")" = 3 ] || die "babeltrace2: not three threads"
	echo "# babeltrace2 reads the same $k events"
fi
exit 0
