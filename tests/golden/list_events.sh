#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# list-events: all events of events.def, with what help says of them; tracepoints that the kernel itself lists, and no others;
# who may not record is told why.
. tests/golden/common
need python3
"$HWT" list-events --json >"$TMP/j" 2>"$TMP/err" || die "list-events: $(cat "$TMP/err")"
"$HWT" list-events >"$TMP/text" || die "list-events"
"$HWT" list-events -v >"$TMP/full" || die "list-events -v"
A=/sys/kernel/tracing/available_events
[ -r $A ] || : >"$TMP/none"
python3 - "$TMP/j" "$TMP/text" "$TMP/full" $([ -r $A ] && echo $A || echo "$TMP/none") <<'PY' || die "list-events: not what is there"
import json, re, sys
got = json.load(open(sys.argv[1]))
events = [o for o in got if o['type'] == 'event']
prov = {o['name']: o for o in got if o['type'] == 'provider'}
text, full = open(sys.argv[2]).read(), open(sys.argv[3]).read()
have = set(open(sys.argv[4]).read().split())
bad = []
# the table, read by another parser
names, fields, now = [], {}, None
for line in open('include/hwtrace/events.def'):
    m = re.match(r'HWT_EVENT\((\w+), (\w+), (\d+)', line)
    if m:
        now = f'{m[1]}.{m[2]}'
        names.append(now)
        fields[now] = []
    m = re.match(r'\s+HWT_F\((\w+), (\w+), "([^"]*)"', line)
    if m:
        fields[now].append((m[2], m[1], m[3]))
if [e['name'] for e in events] != names:
    bad.append('names')
for e in events:
    if [(f['name'], f['type'], f.get('unit', '')) for f in e['fields']] != fields[e['name']]:
        bad.append(e['name'])
    if not e['stamped'] or not e['often']:
        bad.append(e['name'] + ': behaviour')
    if not re.search(rf'^{re.escape(e["name"])}\b', text, re.M) or not re.search(rf'^{re.escape(e["name"])}$', full, re.M):
        bad.append(e['name'] + ': text')
    for p in e['providers']:
        if p['here'] == ('why' in p):
            bad.append(f"{e['name']} {p['name']}: here and why")
        if p['here'] and not prov[p['name']]['here']:
            bad.append(f"{e['name']} {p['name']}: the provider is not here")
        for t in p.get('from', '').split():
            if t not in have:
                bad.append(f"{e['name']}: {t} is no tracepoint of this kernel")
        # what the kernel lists must have been found
        if p['name'] == 'tracefs' and prov['tracefs']['here']:
            want = {'sched.switch': 'sched:sched_switch', 'irq.entry': 'irq:irq_handler_entry', 'syscall.enter': 'raw_syscalls:sys_enter',
                    'block.issue': 'block:block_rq_issue', 'net.drop': 'skb:kfree_skb', 'module.load': 'module:module_load'}.get(e['name'])
            if want and (want in have) != (want in p.get('from', '').split()):
                bad.append(f"{e['name']}: {want}")
print(f"# {len(events)} events; " + ', '.join(n + (' can be used' if p['here'] else ': ' + p['why']) for n, p in prov.items()))
if bad:
    print(bad[:5])
sys.exit(bool(bad))
PY
[ "$("$HWT" list-events 'softirq.*' | grep -c '^softirq')" = "$(grep -c '^HWT_EVENT(softirq,' include/hwtrace/events.def)" ] || die "pattern"
"$HWT" list-events no.such 2>"$TMP/err"
[ $? = 2 ] && grep -q 'no event "no.such"' "$TMP/err" || die "a name that is none: $(cat "$TMP/err")"
# nothing is left in the tracer
ls /sys/kernel/tracing/instances 2>/dev/null | grep "hwtrace-" | while read -r i; do
	[ -d "/proc/$(echo "$i" | sed 's/hwtrace-\([0-9]*\).*/\1/')" ] || echo "$i"
done | grep . && die "an instance is left"
# tracepoints as they are: those that the kernel lists, but for the tracer's own
if [ -r $A ]; then
	"$HWT" list-events 'dirty:*' | sed 's/^dirty://' | LC_ALL=C sort >"$TMP/ours" || die "list-events 'dirty:*'"
	grep -v '^ftrace:' $A | LC_ALL=C sort | cmp - "$TMP/ours" || die "dirty: others than the kernel's"
	echo "# $(wc -l <"$TMP/ours") tracepoints as the kernel lists them"
	"$HWT" list-events 'dirty:no:such' 2>"$TMP/err"
	[ $? = 2 ] && grep -q 'no such tracepoint' "$TMP/err" || die "no such tracepoint: $(cat "$TMP/err")"
fi
# a user without rights
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$HWT" "$TMP/hwtrace" && chmod 755 "$TMP" "$TMP/hwtrace"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/hwtrace" list-events sched.switch >"$TMP/o" 2>&1 || die "as nobody: $(cat "$TMP/o")"
	grep -q 'tracefs *no: .*\(Permission denied\|not mounted\)' "$TMP/o" || die "as nobody: $(cat "$TMP/o")"
fi
exit 0
