#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# deps.sh [kernel|kernel-debug]: installs what the build and the tests need on Debian 12; says what it does. Nothing missing: no output.
set -u
need="gcc g++ make pkg-config libc6-dev binutils libopencsd-dev libelf-dev libdw-dev libcapstone-dev libcmocka-dev
libzstd-dev zlib1g-dev libtraceevent-dev libbabeltrace2-dev libstdc++-12-dev linux-perf libopencsd-bin babeltrace2 trace-cmd clang
libclang-rt-14-dev llvm zstd python3 groff-base"
# libipt is packaged for x86 only; elsewhere there is no Intel PT flow, and no cross build
case "$(dpkg --print-architecture 2>/dev/null)" in
amd64|"") need="$need libipt-dev gcc-aarch64-linux-gnu g++-aarch64-linux-gnu binutils-aarch64-linux-gnu qemu-user
	gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-armhf-cross sqlite3" ;;
i386) need="$need libipt-dev" ;;
esac
# what check-kernel runs whole guests with
case ${1:-} in kernel*) need="$need qemu-system-x86 qemu-system-arm cpio xz-utils e2fsprogs device-tree-compiler" ;; esac
# and what builds a kernel
[ "${1:-}" = kernel-debug ] && need="$need flex bison bc"
have_all() {
	pkg-config --exists libelf libdw capstone libzstd zlib libtraceevent cmocka 2>/dev/null &&
		printf '#include <opencsd/c_api/opencsd_c_api.h>\n' | "${CC:-cc}" -E - >/dev/null 2>&1
}
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	have_all && exit 0
	echo "deps: this system has no apt-get. Install by hand the equivalents of these Debian 12 packages:" >&2
	echo "$need" >&2
	exit 2
fi
missing=
for p in $need; do
	case "$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null)" in
	*"ok installed"*) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -z "$missing" ] && exit 0
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	command -v sudo >/dev/null || { echo "deps: missing:$missing
deps: not root and no sudo; as root run: apt-get install$missing" >&2; exit 2; }
fi
echo "deps: installing with ${sudo:+sudo }apt-get:$missing"
# shellcheck disable=SC2086
if ! DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $missing >/dev/null 2>&1; then
	$sudo apt-get update >/dev/null 2>&1
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $missing >/dev/null || {
		echo "deps: apt-get failed; try: ${sudo:+sudo }apt-get install$missing" >&2
		exit 2
	}
fi
