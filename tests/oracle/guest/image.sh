#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# image.sh DIR ARCH: makes DIR/ARCH.vmlinuz, Debian's current cloud kernel, and DIR/ARCH.initrd, where prog.c is
# /init and peer.c is /peer. No root; apt works with files of its own in DIR. What was fetched is kept. Exit 77: can not be had, and why.
set -u
dir=${1:?usage: image.sh DIR ARCH} arch=${2:?usage: image.sh DIR ARCH}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
case $arch in
x86_64) deb=amd64 cross=x86_64-linux-gnu- ;;
aarch64) deb=arm64 cross=aarch64-linux-gnu- ;;
*) echo "image.sh: unknown architecture $arch" >&2; exit 1 ;;
esac
none() {
	echo "$arch: $*"
	exit 77
}
for p in apt-get apt-cache dpkg-deb cpio "${cross}gcc"; do
	command -v "$p" >/dev/null || none "$p is not installed"
done

if ! [ -e "$dir/$arch.vmlinuz" ]; then
	state=$dir/apt.$deb
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/deb"
	: >"$state/status"
	opts="-qq -o APT::Architecture=$deb -o APT::Architectures=$deb -o Dir::State=$state -o Dir::State::lists=$state/lists
-o Dir::State::status=$state/status -o Dir::Cache=$state/cache -o Debug::NoLocking=1 -o APT::Sandbox::User=root"
	# shellcheck disable=SC2086
	apt-get $opts update >"$dir/$arch.log" 2>&1 || none "apt-get update: $(tail -n 1 "$dir/$arch.log")"
	# the meta package depends on the kernel of the day
	# shellcheck disable=SC2086
	pkg=$(apt-cache $opts depends "linux-image-cloud-$deb" 2>>"$dir/$arch.log" |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$pkg" ] || none "no package linux-image-cloud-$deb"
	# shellcheck disable=SC2086
	(cd "$state/deb" && apt-get $opts download "$pkg") >>"$dir/$arch.log" 2>&1 ||
		none "apt-get download $pkg: $(tail -n 1 "$dir/$arch.log")"
	dpkg-deb --fsys-tarfile "$state"/deb/"$pkg"_*.deb | tar -xOf - --wildcards './boot/vmlinuz-*' >"$dir/$arch.tmp" &&
		[ -s "$dir/$arch.tmp" ] || none "$pkg has no kernel"
	mv "$dir/$arch.tmp" "$dir/$arch.vmlinuz"
	echo "$pkg" >"$dir/$arch.kernel"
	rm -rf "$state"
fi

root=$dir/root.$arch
rm -rf "$root"
mkdir -p "$root/dev" "$root/proc"
# both at one address, so that only the address space tells their code apart
"${cross}gcc" -O2 -static -no-pie -pthread -o "$root/init" "$here/prog.c" &&
	"${cross}gcc" -O2 -static -no-pie -o "$root/peer" "$here/peer.c" || none "the programs can not be built"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$dir/$arch.initrd"
