#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# lttng.sh DIR HEADERS RELEASE: Debian's LTTng for a guest of x86-64, as a tree that is copied over its root: DIR/files. Nothing is installed;
# apt works with files of its own. What was made is kept. Exit 77: can not be had, and why.
set -u
dir=${1:?usage: lttng.sh DIR HEADERS RELEASE} headers=${2:?usage: lttng.sh DIR HEADERS RELEASE} release=${3:?usage: lttng.sh DIR HEADERS RELEASE}
[ ! -e "$dir/.done" ] || exit 0
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
none() {
	echo "lttng: $*"
	exit 77
}
root=$dir/files tree=$dir/tree
agents=usr/lib/x86_64-linux-gnu/lttng/libexec
rm -rf "$dir/apt" "$tree" "$root"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$tree" "$root/bin" "$root/lib64" "$root/etc" "$root/$agents" \
	"$root/usr/share"
: >"$dir/apt/status"
cat >"$dir/apt/conf" <<END
APT::Architecture "amd64";
Dir::State "$dir/apt";
Dir::State::lists "$dir/apt/lists";
Dir::State::status "$dir/apt/status";
Dir::Cache "$dir/apt/cache";
Debug::NoLocking "1";
APT::Sandbox::User "root";
END
export APT_CONFIG="$dir/apt/conf"
apt-get -qq update >"$dir/log" 2>&1 || none "apt-get update: $(tail -n 1 "$dir/log")"
# with all that they need: nothing is there, says the status
apt-get -qq install -y --download-only --no-install-recommends lttng-tools >>"$dir/log" 2>&1 || none "no package lttng-tools"
(cd "$dir/apt/cache/archives" && apt-get -qq download lttng-modules-dkms) >>"$dir/log" 2>&1 || none "no package lttng-modules-dkms"
for p in "$dir"/apt/cache/archives/*.deb; do
	case ${p##*/} in
	lib*|lttng-*|zlib1g*) dpkg-deb -x "$p" "$tree" || none "$p can not be unpacked" ;;
	esac
done
src=$(echo "$tree"/usr/src/lttng-modules-*)
# its probe of timers does not fit a prototype of Debian's kernel
sed -i '/lttng-probe-timer/d' "$src/src/probes/Kbuild"
env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES make -j2 -C "$headers" M="$src" CONFIG_LTTNG=m CONFIG_LTTNG_CLOCK_PLUGIN_TEST=m \
	CONFIG_DEBUG_INFO_BTF_MODULES= modules >>"$dir/log" 2>&1 || none "lttng-modules does not build: $(tail -n 1 "$dir/log")"
m=$root/lib/modules/$release
mkdir -p "$m/extra"
find "$src" -name '*.ko' | while read -r k; do
	strip --strip-debug -o "$m/extra/${k##*/}" "$k"
done
: >"$m/modules.order"
: >"$m/modules.builtin"
/sbin/depmod -b "$root" "$release" >>"$dir/log" 2>&1 || none "depmod: $(tail -n 1 "$dir/log")"
cp "$tree/usr/bin/lttng" "$tree/usr/bin/lttng-sessiond" "$root/bin/"
cp "$tree/$agents/lttng-consumerd" "$root/$agents/"
cp -r "$tree/usr/share/xml" "$root/usr/share/"
cp "$tree/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$root/lib64/"
# what those three need, and what that needs
libs() {
	objdump -p "$@" 2>/dev/null | sed -n 's/^ *NEEDED *//p'
}
todo=$(libs "$root/bin/lttng" "$root/bin/lttng-sessiond" "$root/$agents/lttng-consumerd")
while [ -n "$todo" ]; do
	next=
	for l in $todo; do
		[ ! -e "$root/lib/$l" ] || continue
		for f in "$tree/lib/x86_64-linux-gnu/$l" "$tree/usr/lib/x86_64-linux-gnu/$l"; do
			[ ! -e "$f" ] || { cp -L "$f" "$root/lib/$l"; next="$next $(libs "$f")"; }
		done
	done
	todo=${next# }
done
echo 'root:x:0:0:root:/tmp:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
rm -rf "$dir/apt" "$tree"
: >"$dir/.done"
