#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# boot.sh IMAGES ARCH-VERSION MODULE OUT: boots a guest of two CPUs with MODULE and what tests it; OUT/console has what it said, OUT/tree what
# it wrote. Emulated: a /dev/kvm that can be opened need not work. What it does is part-$PART (all), and ENVIRON is given to that, without blanks.
# PROGRAMS=DIR: in place of guest, what is in DIR.
# WRITES=1: its disk is OUT/out.img, which is there, and each write to it goes to OUT/writes, too, with the order of flushes (blklogwrites).
set -eu
images=$1 kernel=$2 module=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
img=$images/$kernel
arch=${kernel%%-*}
root=$out/files
rm -rf "$out/files" "$out/tree"
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/modules" "$out/tree"
cp "$img/busybox" "$root/bin/busybox"
chmod 755 "$root/bin/busybox"
cp "$here/init" "$root/init"
cp "$here/part-${PART:-all}" "$root/part"
chmod 755 "$root/init"
cp "$img"/modules/*.ko "$root/modules/"
"$arch-linux-gnu-strip" --strip-debug -o "$root/modules/hwtrace.ko" "$module"
if [ -n "${PROGRAMS:-}" ]; then
	cp "$PROGRAMS"/* "$root/bin/"
else
	# of the library what the recorder needs: sections that nobody calls need other libraries
	"$arch-linux-gnu-gcc" -std=gnu11 -O1 -Wall -Wextra -Wno-unused-parameter -static -pthread -ffunction-sections -Wl,--gc-sections \
		-D_GNU_SOURCE -I"$top/include" -I"$top" -Wl,--wrap=fdatasync,--wrap=ioctl -o "$root/bin/guest" "$here"/*.c "$top"/hwtrace/events/*.c "$top"/hwtrace/filter/*.c "$top"/hwtrace/base/arena.c "$top"/hwtrace/base/vec.c "$top"/hwtrace/time/*.c \
		"$top"/hwtrace/base/text.c "$top"/hwtrace/base/strlist.c "$top"/hwtrace/base/diag.c "$top"/hwtrace/base/crc.c "$top"/hwtrace/base/idmap.c "$top"/hwtrace/base/err.c \
		"$top"/hwtrace/base/version.c "$top"/hwtrace/source/native_fmt.c "$top"/hwtrace/source/file.c "$top"/hwtrace/capture/module.c \
		"$top"/hwtrace/capture/device.c "$top"/hwtrace/capture/kown.c "$top"/hwtrace/capture/kopen.c "$top"/hwtrace/capture/krecord.c "$top"/hwtrace/capture/hwmod*.c "$top"/hwtrace/capture/hwhold.c "$top"/hwtrace/capture/hwunit.c "$top"/hwtrace/capture/pmu.c "$top"/hwtrace/capture/kstate.c \
		"$top"/hwtrace/capture/native.c "$top"/hwtrace/capture/native_*.c "$top"/hwtrace/capture/proc.c "$top"/hwtrace/capture/ticks.c
fi
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$out/initrd"
head -c 4194304 /dev/urandom >"$out/in.img"
file=$out/out.img
if [ -n "${WRITES:-}" ]; then
	: >"$out/writes"
	# what is written is kept by the host however it dies, so nothing waits for its disk
	drive="driver=blklogwrites,file.driver=file,file.filename=$file,log.driver=file,log.filename=$out/writes,log-super-update-interval=1"
	drive="$drive,file.cache.no-flush=on,log.cache.no-flush=on"
else
	rm -f "$file"
	truncate -s 256M "$file"
	drive=file=$file,format=raw
fi
# on a busy machine the emulator may get no CPU for long, which is no fault of the guest: 120 s are a lockup, 300 s a stall.
# What the kernel does not know it gives to init
append="panic=-1 quiet watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 CYCLES=${CYCLES:-5} ${ENVIRON:-} ${APPEND:-}"
case $arch in
x86_64)
	# string instructions are emulated one unit after another: without "fast" ones the kernel takes those of eight bytes
	qemu="qemu-system-x86_64 -cpu max,-erms,-fsrm" disk=virtio-blk-pci
	# else the clock is not the counter; and the kernel panics where a busy host does not let it see ten ticks of its timer in time
	append="$append console=ttyS0 mitigations=off tsc=reliable no_timer_check" ;;
aarch64)
	qemu="qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on" disk=virtio-blk-device
	append="$append console=ttyAMA0" ;;
esac
# thread: multi or single; THREAD is that of the first try
boot() {
	# shellcheck disable=SC2086
	timeout "${LIMIT:-900}" $qemu -accel tcg,thread="$1" -m ${MEM:-512} -smp 2 -nodefaults -no-user-config -display none -serial stdio -no-reboot \
		-kernel "$img/vmlinuz" -initrd "$out/initrd" -append "$append" \
		-drive if=none,id=a,file="$out/in.img",format=raw,readonly=on -device $disk,drive=a \
		-drive "if=none,id=b,$drive" -device $disk,drive=b >"$out/console" 2>&1 </dev/null
	rc=$?
	tr -d '\r' <"$out/console" >"$out/log"
	return $rc
}
rc=0
boot "${THREAD:-multi}" || rc=$?
# QEMU 7.2 with a thread for each CPU may run code that another CPU has just changed back: the kernel meets a breakpoint that it took away.
# Switching all tracepoints on and off does it without any module.
if grep -q 'Oops: int3' "$out/log"; then
	echo "# QEMU ran old code, once more with one thread"
	rc=0
	boot single || rc=$?
fi
[ $rc = 0 ] || { tail -n 10 "$out/log"; echo "the guest did not power off ($rc)"; exit 1; }
[ -z "${WRITES:-}" ] || exit 0
tar -xf "$out/out.img" -C "$out/tree" 2>/dev/null || { tail -n 10 "$out/log"; echo "the guest wrote nothing"; exit 1; }
