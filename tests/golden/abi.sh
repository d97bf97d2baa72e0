#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a released version of the virtual events holds does not change: fixtures/abi/ against include/hwtrace/events.def.
# Then changed lists are judged: each kind of change that breaks the promise must be found and named, and appending must pass.
. tests/golden/common
ABI=fixtures/abi
CC=${CC:-cc}
build() {	# DIR: abilist from DIR/hwtrace/events.def
	mkdir -p "$1/hwtrace" && [ -f "$1/hwtrace/events.def" ] || cp include/hwtrace/events.def "$1/hwtrace/"
	"$CC" -std=gnu11 -I"$1" -Iinclude -I. -o "$1/abilist" tests/tools/abilist.c hwtrace/events/table.c hwtrace/events/context.c \
		hwtrace/events/metadata.c hwtrace/base/text.c 2>"$1/err"
}
# What version $1 promises, with the sentences that no kernel kept and that fixtures/abi/corrected puts right: of a sentence there is the one
# that was frozen and the one that holds.
promised() {	# VERSION
	awk -v n="$1" 'NR == FNR { if ($1 == n) { sub(/^[0-9]+ /, ""); k = $1 " " $2; fixed[k] = $0 } next }
		($1 " " $2) in fixed { print fixed[$1 " " $2]; delete fixed[$1 " " $2]; next } { print }
		END { for (k in fixed) { print "abi: corrected, but not promised: " k >"/dev/stderr"; exit 1 } }' $ABI/corrected $ABI/v"$1"
}
judge() {	# DIR: says what is wrong
	bad=$(grep -vE '^[0-9]+ [a-z]+\.[a-z_]+ (stamped|before|often): ' $ABI/corrected) && { echo "abi: only sentences can be corrected: $bad"; return 1; }
	last=0
	while read -r n hash; do
		last=$((last + 1))
		[ "$n" = $last ] || { echo "abi: $ABI/frozen: version $last is missing"; return 1; }
		[ "$(sha256sum <$ABI/v"$n" | cut -d' ' -f1)" = "$hash" ] || { echo "abi: $ABI/v$n was changed: its hash is not the frozen one"; return 1; }
		"$1/abilist" "$n" >"$1/list"
		promised "$n" >"$1/promised" 2>&1 || { tail -n 1 "$1/promised"; return 1; }
		cmp -s "$1/promised" "$1/list" && continue
		echo "abi: version $n is released, and include/hwtrace/events.def changes it (< released, > now):"
		diff "$1/promised" "$1/list" | grep '^[<>]' | head -n 6
		echo "abi: append fields and events, with a new HWT_ABI_VERSION in their \"since\""
		return 1
	done <$ABI/frozen
	[ "$("$1/abilist")" -ge $last ] || { echo "abi: HWT_ABI_VERSION is older than version $last, which is released"; return 1; }
	return 0
}
[ -s $ABI/frozen ] || die "$ABI/frozen is missing"
mkdir "$TMP/now"
build "$TMP/now" || die "$(cat "$TMP/now/err")"
judge "$TMP/now" || exit 1

# NAME EXPECTED SED: "ok", "build" (the compiler refuses), or what the message must name
changed=0
change() {
	d=$TMP/$1
	mkdir -p "$d/hwtrace"
	sed -e "$3" include/hwtrace/events.def >"$d/hwtrace/events.def"
	! cmp -s include/hwtrace/events.def "$d/hwtrace/events.def" || die "$1: nothing was changed"
	changed=$((changed + 1))
	if ! build "$d"; then
		[ "$2" = build ] || die "$1: does not build: $(head -n 3 "$d/err")"
		return
	fi
	if judge "$d" >"$d/says"; then
		[ "$2" = ok ] || die "$1: passes"
	else
		[ "$2" != ok ] || die "$1: $(cat "$d/says")"
		grep -qF -e "$2" "$d/says" || die "$1: the message does not name \"$2\": $(cat "$d/says")"
	fi
}
now=$(sed -n 's/^#define HWT_ABI_VERSION //p' include/hwtrace/events.def) next=$((now + 1))
raise="s/define HWT_ABI_VERSION $now/define HWT_ABI_VERSION $next/"
end='/^HWT_EVENT(sched, migrate,/,/^HWT_EVENT_END/'
change append-field ok "$raise;$end s/^HWT_EVENT_END/	HWT_F(u64, why, \"\", $next, \"reason\")\n&/"
change append-event ok "$raise;/^HWT_SECTION(irq,/i HWT_EVENT(sched, other, 99, $next, \"a\", \"b\", \"c\")\n	HWT_F(u64, x, \"\", $next, \"\")\nHWT_EVENT_END"
change append-section ok "$raise;/^#undef HWT_VALUE/i HWT_SECTION(fs, 99, \"files\")\nHWT_EVENT(fs, open, 1, $next, \"a\", \"\", \"c\")\n	HWT_F(u64, x, \"\", $next, \"\")\nHWT_EVENT_END"
change clearer-words ok 's/"task that leaves"/"task that gives up the CPU"/'
change append-value ok "$raise;/^HWT_VALUE(irq_kind, 6/a HWT_VALUE(irq_kind, 7, thermal, $next, \"\")"
change value-not-raised irq_kind "/^HWT_VALUE(irq_kind, 6/a HWT_VALUE(irq_kind, 7, thermal, 1, \"\")"
change renumber-value task_state 's/^HWT_VALUE(task_state, 7, parked/HWT_VALUE(task_state, 10, parked/'
change rename-value block_op 's/^HWT_VALUE(block_op, 4, discard/HWT_VALUE(block_op, 4, trim/'
change remove-value clock_id '/^HWT_VALUE(clock_id, 5/d'
change young-value build "s/^HWT_VALUE(clock_id, 5, tai, 1/HWT_VALUE(clock_id, 5, tai, $next/"
change version-not-raised sched.migrate.why "$end s/^HWT_EVENT_END/	HWT_F(u64, why, \"\", 1, \"reason\")\n&/"
change young-event build "s/HWT_EVENT(irq, entry, 1, 1/HWT_EVENT(irq, entry, 1, $next/"
change event-not-raised sched.other "/^HWT_SECTION(irq,/i HWT_EVENT(sched, other, 99, 1, \"a\", \"b\", \"c\")\n	HWT_F(u64, x, \"\", 1, \"\")\nHWT_EVENT_END"
change remove-event sched.inherit '/^HWT_EVENT(sched, inherit,/,/^HWT_EVENT_END/d'
change remove-fields mm.unmap.addr '/^HWT_EVENT(mm, unmap,/,/^HWT_EVENT_END/{/(x64, addr/d;/(u64, length/d}'
change reorder sched.migrate.from_cpu "$end{/from_cpu/{h;d};/to_cpu/G}"
change rename-field block.issue.request '/^HWT_EVENT(block, issue,/,/END/s/(x64, request/(x64, rq/'
change rename-event irq.ipi_send 's/^HWT_EVENT(irq, ipi_send,/HWT_EVENT(irq, ipi,/'
change retype clock.freq.hz 's/HWT_F(u64, hz,/HWT_F(s64, hz,/'
change unit power.frequency.khz 's/khz, "kHz"/khz, "MHz"/'
change id user.mark 's/^HWT_EVENT(user, mark, 1/HWT_EVENT(user, mark, 9/'
change section net.rx 's/^HWT_SECTION(net, 6/HWT_SECTION(net, 26/'
change behaviour syscall.enter '/^HWT_EVENT(syscall, enter/s/before the call/after the call/'
change insert-field timer.start.timer "$raise;s/^HWT_EVENT(timer, start,.*/&\n	HWT_F(u64, why, \"\", $next, \"\")/"
change hole build '/^HWT_EVENT(power, cpu,/,/END/s/(u32, online/(u64, online/'
change young-field build "$end s/^HWT_EVENT_END/	HWT_F(u64, why, \"\", $next, \"reason\")\n&/"

# a newer tool describes the stream of an older writer as that writer would: same metadata for version 1
"$TMP/now/abilist" 1 metadata >"$TMP/meta1"
"$TMP/now/abilist" "$now" metadata >"$TMP/meta$now"
for d in append-field append-event append-section append-value; do
	"$TMP/$d/abilist" 1 metadata | cmp - "$TMP/meta1" || die "$d: metadata of version 1 changes"
	[ $d = append-value ] || ! "$TMP/$d/abilist" $next metadata | cmp -s - "$TMP/meta$now" || die "$d: version $next is not in its metadata"
done

# the frozen files themselves
cp -r $ABI "$TMP/abi"
sed 's/sched.switch id: 257/sched.switch id: 258/' $ABI/v1 >"$TMP/abi/v1"
ABI=$TMP/abi
judge "$TMP/now" >"$TMP/says" && die "an edited v1 passes"
grep -qF "was changed" "$TMP/says" || die "edited v1: $(cat "$TMP/says")"
# a sentence can be put right, nothing else, and only one that there is
cp fixtures/abi/v1 "$TMP/abi/v1"
judge "$TMP/now" >"$TMP/says" || die "a copy: $(cat "$TMP/says")"
for bad in '1 sched.switch id: 300' '1 sched.nothing before: sched.switch'; do
	cp fixtures/abi/corrected "$TMP/abi/corrected"
	echo "$bad" >>"$TMP/abi/corrected"
	judge "$TMP/now" >"$TMP/says" && die "corrected with \"$bad\" passes"
done
echo "# $(grep -c . $ABI/frozen) released, $(grep -c ' id: ' fixtures/abi/v1) events; $changed changed lists judged"

# a script that declares abi=stable and names a dirty event is refused, and told which
script() {	# EXPECTED_CODE TEXT
	printf "$2" >"$TMP/script"
	"$HWT" help --abi-check "$TMP/script" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	[ $rc = "$1" ] || die "script '$2': exit $rc: $(cat "$TMP/err")"
}
script 0 'abi=stable\n# comment\nsched.switch where next_prio < 100 # more\n\n  irq.entry\r\n'
[ "$(awk '{ print $1 $2 }' "$TMP/out" | tr '\n' ' ')" = "sched.switchstable irq.entrystable " ] || die "script: $(cat "$TMP/out")"
script 0 'sched.switch\nkprobe:vfs_read\n'
grep -q '^kprobe:vfs_read  *dirty$' "$TMP/out" || die "script: $(cat "$TMP/out")"
script 1 'sched.switch\nkprobe:vfs_read\nsched:sched_switch where x\nabi=stable\n'
grep -qF 'names 2 dirty events: kprobe:vfs_read (line 2), sched:sched_switch (line 3) [E160]' "$TMP/err" || die "script: $(cat "$TMP/err")"
script 1 'abi=stable\nsched.switches'
grep -qF 'sched.switches (line 2)' "$TMP/err" || die "script: $(cat "$TMP/err")"
for bad in 'abi=1' 'abi=stable now' 'sched.switch when x' 'sched.switch where' 'sched.switch,irq.entry' '\001'; do
	script 1 "irq.exit\n$bad\n"
	grep -qF 'line 2 is no event' "$TMP/err" && grep -qF '[E161]' "$TMP/err" || die "script '$bad': $(cat "$TMP/err")"
done
script 0 ''
"$HWT" help --abi-check "$TMP/none" >/dev/null 2>&1
[ $? = 3 ] || die "missing script: exit $?"
# help tells each event by all that the list says of it
awk -F'"' '/^HWT_EVENT\(/ { split($1, a, /[(,] */); print a[2] "." a[3] }' include/hwtrace/events.def >"$TMP/names"
while read -r name; do
	"$HWT" help "$name" >"$TMP/out" || die "help $name: exit $?"
	sed -n "/^HWT_EVENT(${name%%.*}, ${name#*.},/,/^HWT_EVENT_END/s/.*HWT_F([a-z0-9]*, \([a-z0-9_]*\),.*/\1/p" include/hwtrace/events.def >"$TMP/fields"
	sed -n '/^Fields:/,$s/^  \([a-z][a-z0-9_]*\) .*/\1/p' "$TMP/out" | cmp - "$TMP/fields" || die "help $name: other fields"
	grep -q "^.SS $name " cli/man/hwtrace-events.7 || die "hwtrace-events(7) lacks $name"
done <"$TMP/names"
[ "$(wc -l <"$TMP/names")" -ge 60 ] || die "$(wc -l <"$TMP/names") events in the list"
