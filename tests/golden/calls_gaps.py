# SPDX-License-Identifier: BSD-2-Clause
"""Holes one by one and those folded to one object for several are the same, for each cause: number and bytes."""
import collections, json, sys


def total(path):
    n, b = collections.Counter(), collections.Counter()
    for line in open(path):
        e = json.loads(line)
        if e["type"] == "gap":
            n[e["cause"]] += e.get("count", 1)
            b[e["cause"]] += e["bytes"]
    return n, b


if total(sys.argv[1]) != total(sys.argv[2]):
    sys.exit("%s, folded %s" % (total(sys.argv[1]), total(sys.argv[2])))
