#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# boot.sh IMAGES ARCH-VERSION MODULE TOOL PLUGIN OUT: a guest of two CPUs in which TOOL records with MODULE while PLUGIN writes down what each
# CPU runs; SYSROOT: where the libraries are that TOOL needs. OUT/console, OUT/recording, and OUT/tree, what the guest handed over.
set -eu
images=$1 kernel=$2 module=$3 tool=$4 plugin=$5 out=$6
here=$(cd "$(dirname "$0")" && pwd)
img=$images/$kernel
arch=${kernel%%-*}
root=$out/files
rm -rf "$out"
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$out/tree"
cp "$img/busybox" "$root/bin/busybox"
cp "$here/init" "$root/init"
chmod 755 "$root/bin/busybox" "$root/init"
"$arch-linux-gnu-strip" --strip-debug -o "$root/hwtrace.ko" "$module"
"$arch-linux-gnu-gcc" -O2 -static -no-pie -pthread -I"$here/../../../include" -o "$root/bin/serve" "$here/serve.c"
"$arch-linux-gnu-strip" -o "$root/bin/hwtrace" "$tool"
# the libraries that the tool needs, and those that they need: of this machine, or of SYSROOT
todo=$root/bin/hwtrace
mkdir -p "$root/lib" "$root/lib64"
while [ -n "$todo" ]; do
	next=
	for f in $todo; do
		for n in $("$arch-linux-gnu-readelf" -d "$f" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
			[ -e "$root/lib/$n" ] && continue
			for d in "${SYSROOT:-}/usr/lib/$arch-linux-gnu" "${SYSROOT:-}/lib/$arch-linux-gnu" "${SYSROOT:-}/lib64" "${SYSROOT:-}/lib"; do
				[ -e "$d/$n" ] && cp -L "$d/$n" "$root/lib/" && next="$next $root/lib/$n" && break
			done
			[ -e "$root/lib/$n" ] || { echo "no library $n for $arch"; exit 1; }
		done
	done
	todo=$next
done
# where programs look for what loads them
ld=$("$arch-linux-gnu-readelf" -l "$tool" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
[ -e "$root/$ld" ] || cp -L "$root/lib/$(basename "$ld")" "$root/$ld"
# not packed: unpacking is slow where it is emulated
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$out/initrd"
# on a busy machine the emulator may get no CPU for long, which is no fault of the guest
append="panic=-1 quiet nosoftlockup rcupdate.rcu_cpu_stall_timeout=300 EVENTS=${EVENTS:-*} ${APPEND:-}"
case $arch in
x86_64)
	qemu="qemu-system-x86_64 -cpu max"
	# code that no file has would be missing
	append="$append console=ttyS0 mitigations=off tsc=reliable no5lvl vdso=0 no_timer_check" ;;
aarch64)
	qemu="qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on"
	append="$append console=ttyAMA0" ;;
esac
rc=0
# shellcheck disable=SC2086
timeout "${LIMIT:-900}" $qemu -accel tcg,thread="${THREAD:-single}" -m 512 -smp 2 -nodefaults -no-user-config -display none -serial stdio \
	-no-reboot -kernel "$img/vmlinuz" -initrd "$out/initrd" -append "$append" \
	-plugin "$plugin,out=$out/recording,max=${MAX:-3000000},export=$out/tree.cpio" >"$out/console" 2>&1 </dev/null || rc=$?
if grep -q 'recorder: this QEMU does not export' "$out/console"; then
	grep -a 'recorder:' "$out/console"
	exit 77
fi
[ $rc = 0 ] || { tail -n 10 "$out/console"; echo "the guest did not power off ($rc)"; exit 1; }
! grep -aE 'FAIL|recorder:' "$out/console" || exit 1
grep -qa '^guest: done' "$out/console" || { tail -n 10 "$out/console"; echo "the guest did not come to its end"; exit 1; }
# what stood for PTWRITE in the guest, which has none
[ $arch != x86_64 ] || LC_ALL=C sed -i "s/\x0f\x1f\x44\x00W/\xf3\x48\x0f\xae\xe0/g" "$root/bin/serve"
(cd "$out/tree" && cpio -idm --quiet) <"$out/tree.cpio" || { echo "what the guest exported is no archive"; exit 1; }
