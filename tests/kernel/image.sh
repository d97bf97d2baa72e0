#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# image.sh DIR ARCH-VERSION...: fetches what is needed to build a module for Debian's current cloud kernel of each (x86_64-6.1,
# aarch64-6.12) and to boot it: DIR/ARCH-VERSION/{release,vmlinuz,modules/,coresight/,headers,busybox}; headers is a link to the build folder. No root;
# apt works with files of its own in DIR, nothing is installed. What was fetched is kept. Exit 77: can not be had, and why.
set -u
dir=${1:?usage: image.sh DIR ARCH-VERSION...}
shift
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
none() {
	echo "$kernel: $*"
	exit 77
}
kernel=guests
for p in apt-get apt-cache dpkg-deb; do
	command -v "$p" >/dev/null || none "$p is not installed"
done
# one at a time
exec 9>"$dir/lock"
flock 9
todo=
for kernel; do
	[ -e "$dir/$kernel/.done-2" ] && { [ "${kernel%%-*}" != aarch64 ] || [ -e "$dir/$kernel/coresight" ]; } || todo="$todo $kernel"
done
[ -n "$todo" ] || exit 0

# packages of both architectures side by side, without dpkg --add-architecture
state=$dir/apt
rm -rf "$state"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/deb"
: >"$state/status"
cat >"$state/conf" <<END
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
Dir::State "$state";
Dir::State::lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
Debug::NoLocking "1";
APT::Sandbox::User "root";
END
export APT_CONFIG="$state/conf"
apt-get -qq update >"$dir/log" 2>&1 || none "apt-get update: $(tail -n 1 "$dir/log")"
# the packages of the day that PACKAGE depends on, those that match
depends() {	# package, pattern
	apt-cache depends "$1" 2>>"$dir/log" | sed -n "s/^ *Depends: <*\($2[^ :>]*\).*/\1/p" | head -n 1
}
unpack() {	# package[:arch] to
	f=$state/deb/$(echo "$1" | tr ':' '_').deb
	if ! [ -e "$f" ]; then
		mkdir "$state/one"
		(cd "$state/one" && apt-get -qq download "$1") >>"$dir/log" 2>&1 || none "apt-get download $1: $(tail -n 1 "$dir/log")"
		mv "$state"/one/*.deb "$f"
		rmdir "$state/one"
	fi
	mkdir -p "$2" && dpkg-deb -x "$f" "$2" || none "$1 can not be unpacked"
}
for kernel in $todo; do
	case $kernel in
	x86_64-*) deb=amd64 ;;
	aarch64-*) deb=arm64 ;;
	*) echo "image.sh: unknown architecture: $kernel" >&2; exit 1 ;;
	esac
	case $kernel in
	*-rt) meta=rt-$deb ;;			# real time
	*-6.1) meta=cloud-$deb ;;		# the kernel of Debian 12
	*) meta=${kernel#*-}-cloud-$deb ;;	# a newer one for it
	esac
	image=$(depends "linux-image-$meta:$deb" linux-image-)
	headers=$(depends "linux-headers-$meta:$deb" linux-headers-)
	[ -n "$image" ] && [ -n "$headers" ] || none "no packages linux-image-$meta, linux-headers-$meta"
	common=$(depends "$headers:$deb" 'linux-headers-.*-*common')
	kbuild=$(depends "$headers:$deb" linux-kbuild-)
	out=$dir/$kernel
	rm -rf "$out" "$state/image"
	mkdir -p "$out"
	# one root for a kernel's headers: their links are relative, and for nobody else's, who may be building with them. The build
	# tools are those of this machine
	for p in "$headers:$deb" "$common" "$kbuild:amd64"; do
		unpack "$p" "$out/tree"
	done
	rel=${headers#linux-headers-}
	sed -i "s,^include /usr/src/,include $out/tree/usr/src/," "$out/tree/usr/src/$headers/Makefile"
	ln -sfn "tree/usr/src/$headers" "$out/headers"
	unpack "$image:$deb" "$state/image"
	cp "$state/image/boot/vmlinuz-$rel" "$out/vmlinuz" || none "$image has no kernel"
	mkdir "$out/modules"
	# disks and a file system; the loader wants plain files
	find "$state/image" \( -name 'virtio*.ko*' -o -name 'net_failover.ko*' -o -name 'failover.ko*' -o -name 'ext4.ko*' -o -name 'jbd2.ko*' \
		-o -name 'mbcache.ko*' -o -name 'crc16.ko*' -o -name 'crc32c_generic.ko*' \) -exec cp {} "$out/modules/" \;
	# Linux's own drivers of trace units, of the architecture that has them in memory
	[ $deb != arm64 ] || { mkdir "$out/coresight" &&
		find "$state/image" \( -name 'coresight*.ko*' -o -name 'configfs.ko*' -o -name 'stm_core.ko*' \) -exec cp {} "$out/coresight/" \; ; }
	for m in "$out"/modules/*.xz "$out"/coresight/*.xz; do
		[ ! -e "$m" ] || xz -d "$m" || none "$m can not be unpacked"
	done
	unpack "busybox-static:$deb" "$state/busybox.$deb"
	find "$state/busybox.$deb" -type f -name busybox -exec cp {} "$out/busybox" \;
	echo "$rel" >"$out/release"
	: >"$out/.done-2"
done
rm -rf "$state"
