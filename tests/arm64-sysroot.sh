#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unpacks the arm64 packages that a cross build needs into DIR, without root and without touching the system's packages.
# libipt is not packaged for arm64: that build has no Intel PT flow, and says so.
set -eu
dir=${1:?usage: arm64-sysroot.sh DIR}
[ -e "$dir/.done" ] && exit 0
command -v apt-get >/dev/null || { echo "arm64: no apt-get here to fetch arm64 packages"; exit 77; }
mkdir -p "$dir" && dir=$(cd "$dir" && pwd)
state=$dir/.apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
: >"$state/status"
apt="apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$state -o Dir::State::lists=$state/lists
-o Dir::State::status=$state/status -o Dir::Cache=$state/cache -o Debug::NoLocking=1 -o APT::Install-Recommends=0 -o APT::Sandbox::User=root"
# shellcheck disable=SC2086
$apt update >&2
# shellcheck disable=SC2086
$apt install -y --download-only libopencsd-dev libelf-dev libdw-dev libcapstone-dev libzstd-dev zlib1g-dev \
	libtraceevent-dev libbabeltrace2-dev libcmocka-dev libstdc++-12-dev libc6-dev gzip sqlite3 >&2
for d in "$state"/cache/archives/*.deb; do
	dpkg-deb -x "$d" "$dir"
done
# absolute links point into this tree
find "$dir" -type l -lname '/*' | while read -r l; do
	ln -sf "$dir$(readlink "$l")" "$l"
done
rm -rf "$state"
: >"$dir/.done"
