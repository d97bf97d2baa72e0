#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# debug-kernel.sh DIR: makes DIR/x86_64-6.1-debug as image.sh has it of a kernel that looks for mistakes (debug.config), from Debian's source.
# DIR/x86_64-6.1 must be there. Takes half an hour of two CPUs and 2 GB. What was made is kept. Exit 77: can not be had, and why.
set -u
dir=${1:?usage: debug-kernel.sh DIR}
dir=$(cd "$dir" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
out=$dir/x86_64-6.1-debug src=$dir/debug-src
none() {
	echo "debug kernel: $*"
	exit 77
}
# one at a time
exec 9>"$dir/lock-debug"
flock 9
# a change of the configuration makes it anew
if [ -e "$out/.done-2" ] && cmp -s "$here/debug.config" "$out/config"; then
	exit 0
fi
for p in apt-get dpkg-deb make gcc flex bison bc xz; do
	command -v $p >/dev/null || none "$p is not installed"
done
rm -rf "$out"
mkdir -p "$src/deb" "$src/obj" "$out/modules"
if ! [ -e "$src/linux/.unpacked" ]; then
	rm -rf "$src/linux"
	mkdir "$src/linux"
	(cd "$src/deb" && apt-get -qq download linux-source-6.1) >"$src/log" 2>&1 || none "apt-get download: $(tail -n 1 "$src/log")"
	dpkg-deb -x "$src"/deb/linux-source-6.1_*.deb "$src/deb/tree" || none "the package can not be unpacked"
	tar -xf "$src/deb/tree/usr/src/linux-source-6.1.tar.xz" -C "$src/linux" --strip-components=1 || none "the source can not be unpacked"
	rm -rf "$src/deb"
	: >"$src/linux/.unpacked"
fi
build() {
	env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES make -j2 -C "$src/linux" O="$src/obj" "$@" >>"$src/log" 2>&1 || {
		tail -n 20 "$src/log"
		exit 1
	}
}
build KCONFIG_ALLCONFIG="$here/debug.config" allnoconfig
for c in $(grep -o '^CONFIG_[A-Z0-9_]*=[^ ]*' "$here/debug.config"); do
	[ "${c#*=}" = n ] || grep -qx "$c" "$src/obj/.config" || { echo "not taken: $c"; exit 1; }
done
build bzImage modules
cp "$src/obj/arch/x86/boot/bzImage" "$out/vmlinuz"
find "$src/obj" -name failover.ko -exec cp {} "$out/modules/" \;
cp "$dir/x86_64-6.1/busybox" "$out/busybox"
ln -sfn "$src/obj" "$out/headers"
cp "$src/obj/include/config/kernel.release" "$out/release"
cp "$here/debug.config" "$out/config"
: >"$out/.done-2"
