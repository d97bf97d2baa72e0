#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# System calls as LTTng's kernel tracer names them, old and new, are the virtual syscall.enter and syscall.exit, with the task that makes
# them and what they return; events of the same names from a program of user space are not.
. tests/golden/common
need python3
python3 - "$TMP" <<'EOF' || die "made nothing"
import os, struct, sys
META = '''/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := s64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
env { domain = "%s"; tracer_name = "lttng-%s"; tracer_major = 2; tracer_minor = 12; };
clock { name = monotonic; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := t64;
stream { id = 0; packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 packet_size; u32 cpu_id; };
    event.header := struct { u32 id; t64 timestamp; }; event.context := struct { s32 _pid; s32 _tid; }; };
'''
EVENTS = (("syscall_entry_openat", "s32 _dfd; u64 _flags;", struct.pack("<iQ", -100, 0)),
          ("syscall_exit_openat", "s64 _ret;", struct.pack("<q", -2)),
          ("compat_syscall_entry_read", "u32 _fd;", struct.pack("<I", 3)),
          ("compat_syscall_exit_read", "s64 _ret;", struct.pack("<q", 8)),
          ("syscall_entry_unknown", "u32 _id;", struct.pack("<I", 555)),
          ("sys_open", "u64 _flags;", struct.pack("<Q", 1)),
          ("exit_syscall", "s64 _ret;", struct.pack("<q", 7)),
          ("my_syscall_entry", "u32 _id;", struct.pack("<I", 1)))
for domain, tracer in ("kernel", "modules"), ("ust", "ust"):
    text = META % (domain, tracer)
    body = b""
    for i, (name, fields, data) in enumerate(EVENTS):
        text += 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s }; };\n' % (name, i, fields)
        body += struct.pack("<IQii", i, 1000 + 10 * i, 40, 41) + data
    size = (8 + 36 + len(body)) * 8
    os.mkdir(os.path.join(sys.argv[1], domain))
    open(os.path.join(sys.argv[1], domain, "metadata"), "w").write(text)
    open(os.path.join(sys.argv[1], domain, "chan0_0"), "wb").write(
        struct.pack("<IIQQQQI", 0xc1fc1fc1, 0, 1000, 2000, size, size, 2) + body)
EOF
names() {	# trace: CPU, thread, name and values of each event
	"$HWT" timeline -q --jsonl "$TMP/$1" >"$TMP/out" 2>"$TMP/err" || { grep -q E125 "$TMP/err" && { echo "built without libbabeltrace2"; exit 77; }
		die "$1: $(cat "$TMP/err")"; }
	sed -n 's/.*"cpu":\([0-9]*\),"pid":40,"tid":\([0-9]*\),.*"name":"\([^"]*\)".*"values":\(.*\)}$/\1 \2 \3 \4/p' "$TMP/out" >"$TMP/$1.got"
}
names kernel
cat >"$TMP/want" <<'EOF'
2 41 syscall.enter {}
2 41 syscall.exit {"ret":-2}
2 41 syscall.enter {"abi":1}
2 41 syscall.exit {"abi":1,"ret":8}
2 41 syscall.enter {"nr":555}
2 41 syscall.enter {}
2 41 syscall.exit {"ret":7}
EOF
cmp "$TMP/kernel.got" "$TMP/want" || die "$(diff "$TMP/kernel.got" "$TMP/want" | head -n 6)"
grep -q '"name":"dirty:my_syscall_entry"' "$TMP/out" || die "no system call: $(tail -n 1 "$TMP/out")"
names ust
[ "$(grep -c '"name":"dirty:' "$TMP/out")" = 8 ] || die "events of a program: $(cat "$TMP/out")"
