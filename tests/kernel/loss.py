# SPDX-License-Identifier: BSD-2-Clause
"""
loss.py CAPTURE PEER OURS LOST: of the packets in CAPTURE/kernel each must say produced == records until its end + lost. PEER records are
what babeltrace2 has, OURS what the tool has, LOST what the recorder was told.
"""
import glob
import os
import struct
import sys

# struct hwt_ctf_packet: content_size, events_discarded, events, produced
AT = (40, "Q"), (56, "Q"), (80, "I"), (88, "Q")
peer, ours, told = map(int, sys.argv[2:5])
records = lost = packets = 0
for name in sorted(glob.glob(sys.argv[1] + "/kernel/cpu*")):
    data, at, here = open(name, "rb").read(), 0, 0
    while at < len(data):
        bits, gone, events, produced = (struct.unpack_from("<" + k, data, at + o)[0] for o, k in AT)
        here += events
        packets += 1
        if produced != here + gone:
            sys.exit(f"{os.path.basename(name)} at {at}: {produced} produced, {here} recorded, {gone} lost")
        at += bits // 8
    records += here
    lost += gone
print(f"# lossy.hwt: {records + lost} produced, {records} recorded, {lost} lost, in each of {packets} packets")
if peer != records or ours != records or lost != told or not lost:
    sys.exit(f"{records} records in packets, babeltrace2 {peer}, the tool {ours}; {lost} lost, the recorder {told}")
