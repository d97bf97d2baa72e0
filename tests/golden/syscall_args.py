# SPDX-License-Identifier: BSD-2-Clause
# syscall_args.py HERE [ARCH]: our table of arguments of system calls against that of another kernel. Kernels differ in names and types, and
# in calls that they have; number and place of arguments are what a program sees.
import re, sys


def table(f):
    return {m[1]: re.findall(r'"([^"]*)"', m[0]) for m in re.finditer(r'^SYSCALL_ARGS\((\w+).*$', open(f).read(), re.M)}


ours, here = table('hwtrace/filter/syscall_args.def'), table(sys.argv[1])
both = ours.keys() & here.keys()
same = [n for n in both if ours[n] == here[n]]
count = [n for n in both if len(ours[n]) != len(here[n])]
# the only one of arm64 whose arguments stand otherwise (CONFIG_CLONE_BACKWARDS); names at other places would be others
moved = [n for n in both if ours[n] != here[n] and sorted(ours[n]) == sorted(here[n])]
want = ['clone'] if sys.argv[2:] == ['aarch64'] else []
print(f'# {len(ours)} calls; of {len(both)} that this kernel has {len(same)} are described alike, {len(both) - len(same)} otherwise')
if len(both) < 250 or len(same) < 0.9 * len(both) or count or moved != want:
    print(f'number of arguments differs: {count[:9]}; order: {moved}; {len(same)} of {len(both)} alike')
    sys.exit(1)
