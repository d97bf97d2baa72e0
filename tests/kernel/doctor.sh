#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# doctor in guests: x86-64, arm64 without CoreSight, and with units of it that the device tree tells of, enabled and disabled; as root,
# without tracefs, and as a user without rights. What the machine has is what QEMU was told; verdicts and next steps are a table.
. tests/golden/common
for p in cpio python3 qemu-system-x86_64 qemu-system-aarch64 x86_64-linux-gnu-gcc aarch64-linux-gnu-gcc; do need "$p"; done
images=${IMAGES:-$O/kernels}
sh tests/kernel/image.sh "$images" x86_64-6.1 aarch64-6.12 || exit $?
n=0
# GUEST KERNEL [OPTION...]
run() {
	guest=$1 img=$images/$2 arch=${2%%-*} r=$TMP/root
	shift 2
	rm -rf "$r"
	mkdir -p "$r/bin" "$r/dev" "$r/proc" "$r/sys"
	cp "$img/busybox" "$r/bin/" && chmod 755 "$r/bin/busybox"
	cp tests/kernel/doctor/init "$r/init" && chmod 755 "$r/init"
	"$arch-linux-gnu-gcc" -std=gnu11 -O1 -Wall -Wextra -Wno-unused-parameter -Wno-format-truncation -static -D_GNU_SOURCE -Iinclude -I. -o "$r/bin/doctor" \
		tests/kernel/doctor/doctor.c hwtrace/capture/doctor*.c hwtrace/capture/hwhold.c hwtrace/base/diag.c || die "doctor: not built"
	(cd "$r" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$TMP/initrd"
	case $arch in
	x86_64) qemu="qemu-system-x86_64 -cpu max" tty=ttyS0 ;;
	*) qemu="qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on" tty=ttyAMA0 ;;
	esac
	# shellcheck disable=SC2086
	timeout 900 $qemu "$@" -accel tcg,thread=single -m 512 -smp 2 -nodefaults -no-user-config -display none -serial stdio -no-reboot \
		-kernel "$img/vmlinuz" -initrd "$TMP/initrd" -append "panic=-1 quiet console=$tty" </dev/null 2>&1 | tr -d '\r' >"$TMP/$guest"
	grep -q '^guest: done' "$TMP/$guest" || { tail -n 10 "$TMP/$guest"; die "$guest: the guest did not come to its end"; }
	! grep -m 10 '^FAIL' "$TMP/$guest" || die "$guest: its log"
}
# WHO WHAT VERDICT FIELD WORDS: a line of the guest that ran last; fields 5 found, 6 why, 7 works, 8 next
is() {
	awk -F'|' -v who="$1" -v what="$2" -v v="$3" -v f="$4" -v words="$5" '
		$1 == "item" && $2 == who && $3 == what { n++; ok = $4 == v && $f ~ words; line = $0 }
		END { if (n != 1 || !ok) { print line; exit 1 } }' "$TMP/$guest" || die "$guest: not so: $*"
	n=$((n + 1))
}
none() { ! grep -q "|$1|" "$TMP/$guest" || die "$guest: tells of $1"; n=$((n + 1)); }

run x86 x86_64-6.1
is bare machine - 5 'x86_64, Linux 6.1.*2 CPUs.*virtual machine'
none CoreSight
is root 'Intel PT' no 6 'none|not shown'
is root 'Intel PT' no 7 'record -e model'
is root 'kernel module' no 8 'make kmod|linux-headers'
is bare tracefs no 8 'mount -t tracefs'
is root tracefs yes 8 'record -k'
is user tracefs no 6 .
is root perf yes 5 'all'
is user perf no 6 CAP_PERFMON
is user perf no 8 'as root'
is closed perf no 5 'perf_event_paranoid is 3'
is root model yes 8 'record'
is user model yes 8 'record'

run arm aarch64-6.12
none 'Intel PT'
is root machine - 5 'aarch64, Linux 6.12'
is root CoreSight no 6 'neither device tree nor ACPI'
is root tracefs yes 8 'record -k'
is user tracefs no 6 .
is root counter yes 6 'that counter only'
is root model yes 8 'record'

qemu-system-aarch64 -M virt,gic-version=3,dumpdtb="$TMP/plain.dtb" -cpu max -m 512 -smp 2 -nodefaults -display none >/dev/null 2>&1
for status in okay disabled; do python3 tests/kernel/doctor/addnodes.py "$TMP/plain.dtb" "$TMP/$status.dtb" $status || die "no device tree"; done
run units aarch64-6.12 -dtb "$TMP/okay.dtb"
is root CoreSight no 5 '^2 ETMs, 1 ETR, 1 funnel in the firmware'
is root CoreSight no 6 'no drivers'
is root CoreSight no 8 'CONFIG_CORESIGHT'
is modules CoreSight no 6 'no driver is loaded'
is modules CoreSight no 8 'modprobe -a coresight-etm4x'
is user CoreSight no 7 'record -e model'
run off aarch64-6.12 -dtb "$TMP/disabled.dtb"
is root CoreSight no 6 'disabled there'
is root CoreSight no 8 'enable them in the device tree'
echo "# $n verdicts in four guests"
