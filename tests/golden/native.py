# SPDX-License-Identifier: BSD-2-Clause
"""Reads a native capture by hwtrace-capture(5) and nothing else: checks every checksum, prints what is in it as JSON lines.

native.py CAPTURE
"""
import json, os, struct, sys

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
    TABLE.append(i)

def crc32c(b):
    c = 0xffffffff
    for x in b:
        c = TABLE[(c ^ x) & 255] ^ c >> 8
    return c ^ 0xffffffff

assert crc32c(b"123456789") == 0xe3069283

def unescape(s):
    out, i = "", 0
    while i < len(s):
        if s[i] == "%":
            out, i = out + chr(int(s[i + 1:i + 3], 16)), i + 3
        else:
            out, i = out + s[i], i + 1
    return out

def sections(text):
    name, start, lines = None, 0, []
    pos = 0
    for line in text.decode("latin-1").splitlines(True):
        if line.startswith("["):
            assert name is None, "section [%s] has no checksum" % name
            name, start, lines = line.strip()[1:-1], pos, []
        elif line.startswith("crc="):
            assert int(line[4:], 16) == crc32c(text[start:pos]), "checksum of [%s]" % name
            yield name, lines
            name = None
        else:
            key, value = line.rstrip("\n").split("=", 1)
            lines.append((key, unescape(value)))
        pos += len(line)
    assert name is None

def blocks(path):
    data, index = open(path + ".bin", "rb").read(), open(path + ".idx", "rb").read()
    assert len(index) % 64 == 0
    end = 0
    for i in range(0, len(index), 64):
        e = index[i:i + 64]
        off, size, pos, time, lost, pid, tid, cause, flags, kind, crc, own = struct.unpack("<5Q2i2H3I", e)
        assert own == crc32c(e[:60]), "checksum of an entry"
        assert off == end and off + size <= len(data)
        assert crc == crc32c(data[off:off + size]), "checksum of a block"
        end += size
        yield dict(kind=("start", "more", "hole", "pages")[kind], pos=pos, time=time, lost=lost, pid=pid, tid=tid, cause=cause,
                   flags=flags), data[off:off + size]
    assert end == len(data)

def main(d):
    names, ends = [], {}
    for name, lines in sections(open(d + "/hwtrace.ini", "rb").read()):
        row = dict(lines)
        if name == "buffer":
            names.append((row["name"], "hw/" + row["file"]))
        elif name == "image":
            data = open(d + "/images/" + row["file"], "rb").read()
            assert len(data) == int(row["size"]) and int(row["sum"], 16) == crc32c(data), "copy of " + row["path"]
        elif name == "end":
            for key, value in lines:
                if key == "file":
                    size, file = value.split(" ", 1)
                    ends[file] = int(size)
        print(json.dumps(dict(section=name, lines=lines)))
    for file, size in ends.items():
        assert os.path.getsize(d + "/" + file) == size, file
    if os.path.exists(d + "/images/pages.idx"):
        names.append(("pages", "images/pages"))
    for name, file in names:
        for e, data in blocks(d + "/" + file):
            print(json.dumps(dict(buffer=name, entry=e, bytes=data.hex())))
    for file in sorted(os.listdir(d + "/kernel")):
        if file == "metadata":
            continue
        data, pos, n = open(d + "/kernel/" + file, "rb").read(), 0, 0
        while pos < len(data):
            content, packet = (x // 8 for x in struct.unpack_from("<2Q", data, pos + 40))
            flags, events, crc = struct.unpack_from("<3I", data, pos + 76)
            assert flags & 1 and crc == crc32c(data[pos:pos + 84] + bytes(4) + data[pos + 88:pos + content]), "checksum of a packet"
            pos, n = pos + packet, n + events
        assert pos == len(data)
        print(json.dumps(dict(stream=file, events=n)))

main(sys.argv[1])
