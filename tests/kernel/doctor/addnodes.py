# SPDX-License-Identifier: BSD-2-Clause
"""addnodes.py IN.dtb OUT.dtb STATUS: a device tree (Devicetree Specification 0.4, chapter 5) with the nodes of a small CoreSight system
in its root. They have no "arm,primecell": there is no memory behind them that could be read."""
import struct, sys

data = open(sys.argv[1], 'rb').read()
magic, _, off_struct, off_strings, off_rsv, version, last, boot, n_strings, n_struct = struct.unpack('>10I', data[:40])
assert magic == 0xd00dfeed
strings, tree = bytearray(data[off_strings:off_strings + n_strings]), data[off_struct:off_struct + n_struct]

def name(s):
    at = len(strings)
    strings.extend(s.encode() + b'\0')
    return at

def pad(b):
    return b + bytes(-len(b) % 4)

def prop(key, value):
    return struct.pack('>3I', 3, len(value), name(key)) + pad(value)

def node(n, compatible):
    return (struct.pack('>I', 1) + pad(n.encode() + b'\0') + prop('compatible', compatible.encode() + b'\0') +
            prop('status', sys.argv[3].encode() + b'\0') + struct.pack('>I', 2))

nodes = b''.join(node(n, c) for n, c in (('etm0', 'arm,coresight-etm4x-sysreg'), ('etm1', 'arm,coresight-etm4x-sysreg'),
    ('funnel', 'arm,coresight-dynamic-funnel'), ('etr', 'arm,coresight-tmc')))
# before the end of the root, which is the last node to end
at = tree.rindex(struct.pack('>2I', 2, 9))
tree = tree[:at] + nodes + tree[at:]
rsv = data[off_rsv:off_rsv + 16 * (1 + data[off_rsv:off_struct].index(bytes(16)) // 16)]
off_struct = 40 + len(rsv) + (-(40 + len(rsv)) % 8)
out = bytearray(off_struct)
out[40:40 + len(rsv)] = rsv
out += tree + strings
out[:40] = struct.pack('>10I', magic, len(out), off_struct, off_struct + len(tree), 40, version, last, boot, len(strings), len(tree))
open(sys.argv[2], 'wb').write(out)
