# SPDX-License-Identifier: BSD-2-Clause
"""ctf_hostile.py DIR: CTF traces that no tracer writes, a folder each: descriptions and packets that reach the limits and the
checks of their reader."""
import os
import struct
import sys

META = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; %(trace)s };
%(clock)s
stream { %(stream)s };
event { name = "e"; id = 0; fields := %(fields)s; };
"""
U8_ID = "event.header := struct { u8 id; };"
CLOCKED = "event.header := struct { integer { size = 64; align = 8; map = clock.c.value; } timestamp; };"
PACKET = "packet.header := struct { u32 magic; u32 stream_id; };"
CONTEXT = U8_ID + (" packet.context := struct { u64 content_size; u64 packet_size; u64 timestamp_begin; u64 timestamp_end; "
                   "u64 events_discarded; u64 packet_seq_num; };")


def make(name, data=bytes(64), text=None, trace="", clock="", stream=U8_ID, fields="struct { u8 a; }"):
    path = os.path.join(sys.argv[1], name)
    os.makedirs(path)
    if text is None:
        text = META % {"trace": trace, "clock": clock, "stream": stream, "fields": fields}
    with open(os.path.join(path, "metadata"), "w", encoding="ascii") as f:
        f.write(text)
    with open(os.path.join(path, "s"), "wb") as f:
        f.write(data)


def nest(n):
    return "struct { " + "struct { " * n + "u8 a;" + " } a;" * n + " }"


def packet(content, size, begin=0, end=0, discarded=0, number=0, events=bytes(8)):
    return struct.pack("<IIQQQQQQ", 0xc1fc1fc1, 0, content, size, begin, end, discarded, number) + events


make("plain")
# nesting
make("nest40", fields=nest(40))
make("nest1000", fields=nest(1000))
make("nest100000", fields=nest(100000))
make("parentheses", fields="struct { integer { size = " + "(" * 100000 + "8" + ")" * 100000 + "; } a; }")
# lengths
make("array_max", fields="struct { u8 a[18446744073709551615]; }")
make("array_2g", fields="struct { u8 a[2147483648]; }")
make("array_negative", fields="struct { u8 a[-1]; }")
make("array_of_nothing", fields="struct { struct {} a[1000000000]; }")
make("sequence_max", b"\0" + b"\xff" * 64, fields="struct { u64 n; u8 a[n]; }")
make("sequence_of_nothing", b"\0" + b"\xff" * 64, fields="struct { u64 n; struct {} a[n]; }")
make("string_without_end", b"\0" + b"a" * 63, fields="struct { string s; }")
make("long_text", b"\0" + b"a" * (3 << 20) + b"\0", fields="struct { string s; }")
make("long_array", b"\0" + b"abc\0" * (1 << 18), fields="struct { u32 a[262144]; }")
# events that take no room
make("no_header", stream="", fields="struct { }")
make("empty_header", stream="event.header := struct { };", fields="struct { }")
# types
for size in (0, 65):
    make("int_size_%d" % size, fields="struct { integer { size = %d; } a; }" % size)
for align in (0, 3, 1 << 63):
    make("int_align_%d" % align, fields="struct { integer { size = 8; align = %d; } a; }" % align)
make("float", fields="struct { floating_point { exp_dig = 1; mant_dig = 1; } a; }")
make("enum_empty", fields="struct { enum : u8 { } a; }")
make("enum_backwards", fields="struct { enum : u8 { a = 5 ... 2 } a; }")
make("enum_too_big", fields="struct { enum : u8 { a = 0 ... 18446744073709551615 } a; }")
make("variant_empty", fields="struct { enum : u8 { a } t; variant <t> { } v; }")
make("variant_other", b"\5" * 64, fields="struct { enum : u8 { a } t; variant <t> { u8 a; } v; }")
make("length_of_itself", fields="struct { u8 a[event.fields.a]; }")
make("same_field_twice", fields="struct { u8 a; u8 a; }")
make("struct_of_itself", text="/* CTF 1.8 */ struct a { struct a b; }; event { name = e; fields := struct a; };")
# clocks
make("clock_0", clock="clock { name = c; freq = 0; };")
make("clock_offset", clock="clock { name = c; freq = 1; offset = 5000000000; };", stream=CLOCKED)
make("clock_negative", clock="clock { name = c; freq = 1000000000; offset_s = -9223372036854775808; };", stream=CLOCKED)
make("clock_max", clock="clock { name = c; freq = 1000000000; offset_s = 9223372036854775807; };", stream=CLOCKED)
make("clock_unsure", clock="clock { name = c; freq = 1; precision = 18446744073709551615; };", stream=CLOCKED)
# numbers and names
make("stream_id_max", stream="id = 18446744073709551615;")
make("no_name", text=(META % {"trace": "", "clock": "", "stream": U8_ID, "fields": "struct { u8 a; }"}).replace('name = "e";', ""))
make("same_event_twice", text=META % {"trace": "", "clock": "", "stream": U8_ID, "fields": "struct { u8 a; }"} +
     'event { name = "e"; id = 0; fields := struct { u8 a; }; };')
make("empty", text="")
make("comment_without_end", text="/* CTF 1.8 */ /* ")
# packets
for name, data in (("sizes_0", packet(0, 0)), ("sizes_small", packet(8, 8)), ("content_above", packet(10000, 512)),
                   ("sizes_max", packet(2 ** 64 - 8, 2 ** 64 - 8)), ("sizes_odd", packet(449, 449)),
                   ("backwards", packet(464, 512, 10, 5, 9, 9) + packet(464, 512, 3, 2, 1, 1)),
                   # by hand: numbered 0 1 1 2, then 0 2 1 3, events without a time
                   ("twice", b"".join(packet(464, 512, b, e, 0, k) for b, e, k in
                                      ((3, 5, 0), (6, 8, 1), (6, 8, 1), (9, 12, 2)))),
                   ("swapped", b"".join(packet(464, 512, b, e, 0, k) for b, e, k in
                                        ((3, 5, 0), (9, 12, 2), (6, 8, 1), (13, 14, 3)))),
                   ("cut", packet(512, 512)[:40]), ("nothing", b"")):
    make("packet_" + name, data, trace=PACKET, stream=CONTEXT)
