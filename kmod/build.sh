#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# build.sh KDIR OUT [MAKE-VARIABLE=VALUE...]: the module for the kernel whose build folder is KDIR, as OUT/hwtrace.ko. The sources are
# copied there, so that several kernels do not mix. What make's own variables say (O, CFLAGS) is not the kernel's business.
set -eu
kdir=${1:?usage: build.sh KDIR OUT [VARIABLE=VALUE...]} out=${2:?usage: build.sh KDIR OUT [VARIABLE=VALUE...]}
shift 2
top=$(cd "$(dirname "$0")/.." && pwd)
if ! [ -e "$kdir/Makefile" ]; then
	echo "kmod: no kernel headers in $kdir; try: apt-get install linux-headers-$(uname -r), or make kmod KDIR=DIR" >&2
	exit 2
fi
mkdir -p "$out/compat"
out=$(cd "$out" && pwd)
# what is the same stays as old as it is, so only what changed is compiled
for f in Kbuild $(cd "$top/kmod" && ls ./*.[ch] compat/*.h); do
	cmp -s "$top/kmod/$f" "$out/$f" || cp "$top/kmod/$f" "$out/$f"
done
# type information of modules needs a tool that the headers do not bring
env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES make -j2 -C "$kdir" M="$out" HWT_INCLUDE="$top/include" CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
