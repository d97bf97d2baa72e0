# SPDX-License-Identifier: BSD-2-Clause
"""table.py LOG: instructions of each record beside those of others. Exit 1: ours are above a third of LTTng's."""
import sys

# name in the log, load, records of one call or switch
ROWS = (
    ("syscall enter + exit, arguments", "call", 2, ("hwtrace", "ftrace", "lttng", "lttng-tid")),
    ("syscall enter, arguments", "call", 1, ("hwtrace-enter", "ftrace-enter", None, None)),
    ("  with a filter", "call", 1, ("hwtrace-enter-filter", "ftrace-enter-filter", None, None)),
    ("sched.switch", "switch", 1, ("hwtrace", "ftrace", "lttng", "lttng-tid")),
    ("  with a filter", "switch", 1, ("hwtrace-filter", "ftrace-filter", "lttng-filter", None)),
    ("  with a filter of one field", "switch", 1, ("hwtrace-filter1", None, None, None)),
)


def main():
    took = {}
    for line in open(sys.argv[1]):
        w = line.split()
        if len(w) == 4 and w[0] == "cost":
            took[w[1], w[2]] = float(w[3])
    rc = 0
    print("# instructions of a record           hwtrace   kernel    LTTng  LTTng with pid, tid")
    for text, load, records, names in ROWS:
        cells = []
        for n in names:
            t = took.get((n, load))
            cells.append(None if t is None else (t - took["none", load]) / records)
        print("# %-32s" % text + "".join("%9s" % ("-" if c is None else "%.0f" % c) for c in cells))
        # of LTTng without task and context, which ours have
        ours, lttng = cells[0], cells[2]
        if lttng and ours * 3 > lttng:
            print("more than a third of LTTng: " + text.strip())
            rc = 1
    return rc


sys.exit(main())
