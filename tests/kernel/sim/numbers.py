# SPDX-License-Identifier: BSD-2-Clause
# numbers.py NAME.hwt: trace of the model has bytes 1 to 251 by turns, between PSBs; after a hole any may follow. Reads the files by itself
# (hwtrace-capture(5)): an entry of an index is 64 bytes, offset and size first, its kind at byte 56.
import glob, os, struct, sys

PSB = b"\x02\x82" * 8
total = 0
for idx in sorted(glob.glob(os.path.join(sys.argv[1], "hw", "*.idx"))):
    data = open(idx[:-4] + ".bin", "rb").read()
    runs, entries = [b""], open(idx, "rb").read()
    for at in range(0, len(entries) - 63, 64):
        off, size = struct.unpack_from("<QQ", entries, at)
        if size:
            runs[-1] += data[off:off + size]
        else:
            runs.append(b"")
    starts = bad = 0
    for n, run in enumerate(runs):
        pieces = run.split(PSB)
        starts += len(pieces) - 1
        last = 0
        for i, piece in enumerate(pieces):
            if i + 1 == len(pieces) and n + 1 < len(runs):
                # a PSB may be cut where the buffer was full
                k = next((k for k in range(15, 0, -1) if piece.endswith(PSB[:k]) and (k > 2 or len(piece) == k)), 0)
                piece = piece[:len(piece) - k]
            for b in piece:
                bad += last != 0 and b != last % 251 + 1
                last = b
    total += sum(map(len, runs))
    print("# %s: %d bytes, %d starts, %d holes" % (os.path.basename(idx), sum(map(len, runs)), starts, len(runs) - 1))
    if bad or not starts:
        sys.exit("%s: %d bytes do not follow" % (idx, bad))
if not total:
    sys.exit("no trace")
