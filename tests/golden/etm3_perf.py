# SPDX-License-Identifier: BSD-2-Clause
"""etm3_perf.py TRACE PREFIX cr,id,ccer,idr bare|frames FILE@ADDRESS,OFFSET,LENGTH...: PREFIX.0, .1 and .2, a perf.data
of cs_etm in each version of its header, as Linux' tools/perf/util/cs-etm.h describes it, for one unit of ETMv3 or PTM
that traced a thread, and PREFIX.elf, which has the code that is given as dumps."""
import os
import struct
import sys

trace, prefix, regs, framing = sys.argv[1:5]
regs = [int(r, 0) for r in regs.split(",")]
TID, ID = 1234, 1
SAMPLE_ID = struct.pack("<IIIIQ", TID, TID, 0, 0, ID)


def record(kind, body, misc=0):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


parts = []
for part in sys.argv[5:]:
    name, rest = part.rsplit("@", 1)
    addr, off, size = (int(x, 0) for x in rest.split(","))
    data = open(name, "rb").read()[off:]
    parts.append((addr, data[:size] if size else data))
heads, body, maps, off = b"", b"", [], 0x1000
for addr, data in parts:
    off += (addr - off) % 0x1000        # a file is mapped by pages
    body += bytes(off - 0x1000 - len(body)) + data
    heads += struct.pack("<8I", 1, off, addr, addr, len(data), len(data), 5, 0x1000)
    maps.append((addr & ~0xfff, ((addr & 0xfff) + len(data) + 0xfff) & ~0xfff, off & ~0xfff))
    off += len(data)
with open(prefix + ".elf", "wb") as f:
    head = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0, 52, 0, 0x5000200, 52, 32,
                                                     len(parts), 40, 0, 0) + heads
    f.write(head + bytes(0x1000 - len(head)) + body)

# all records have a sample id of TID, CPU and IDENTIFIER
attr = struct.pack("<IIQQQQQ", 8, 128, 0, 1, 1 | 2 | 1 << 7 | 1 << 16, 4, 1 | 1 << 8 | 1 << 9 | 1 << 18 | 1 << 23) + bytes(80)
path = os.path.abspath(prefix + ".elf").encode() + b"\0"
path += bytes(-len(path) % 8)
aux = open(trace, "rb").read()
for version in range(3):
    words = [version, 8 << 32 | 1, 0, 0x3030303030303030, 0] + ([len(regs)] if version else []) + regs
    if version == 2:    # the trace id that the unit really had is told by a record of its own
        words[-3] ^= 0x21
    data = record(70, struct.pack("<II", 3, 0) + struct.pack("<%dQ" % len(words), *words))
    data += record(3, struct.pack("<II", TID, TID) + b"board\0\0\0" + SAMPLE_ID, 1 << 13)
    for addr, size, off in maps:
        data += record(10, struct.pack("<IIQQQIIQQII", TID, TID, addr, size, off, 8, 1, 99, 0, 5, 2) + path + SAMPLE_ID, 2)
    data += record(12, struct.pack("<II", TID, TID) + SAMPLE_ID, 2)
    if version == 2:    # AUX_OUTPUT_HW_ID
        data += record(21, struct.pack("<Q", regs[1]) + SAMPLE_ID)
    data += record(11, struct.pack("<QQQ", 0, len(aux), 0x100 if framing == "bare" else 0) + SAMPLE_ID, 2)
    data += record(71, struct.pack("<QQQIIII", len(aux), 0, 0, 0, TID, 0xffffffff, 0)) + aux
    arch = struct.pack("<I", 8) + b"armv7l\0\0"
    with open("%s.%d" % (prefix, version), "wb") as f:
        f.write(b"PERFILE2" + struct.pack("<12Q", 104, 144, 112, 144, 256, len(data), 0, 0, 1 << 6, 0, 0, 0))
        f.write(struct.pack("<Q", ID) + attr + struct.pack("<QQ", 104, 8) + data)
        f.write(struct.pack("<QQ", 256 + len(data) + 16, len(arch)) + arch)
