# SPDX-License-Identifier: BSD-2-Clause
# What a record costs, in instructions: a guest of one CPU whose counter counts them (-icount), with the module, the kernel's own ring buffer
# and LTTng doing the same. Prints the table; fails if the module takes more than a third of LTTng. Run by "make bench-kernel".
. tests/golden/common
kernel=x86_64-6.1
for p in qemu-system-x86_64 cpio gcc make python3; do
	need "$p"
done
images=${IMAGES:-$O/kernels} out=$O/module/cost
here=tests/kernel/cost
sh tests/kernel/image.sh "$images" "$kernel" || exit $?
rel=$(cat "$images/$kernel/release")
sh kmod/build.sh "$images/$kernel/headers" "$out/build" >"$TMP/build" 2>&1 || { cat "$TMP/build"; die "the module does not build"; }
rm -rf "$out/ramfs"
mkdir -p "$out/ramfs/bin" "$out/ramfs/dev" "$out/ramfs/proc" "$out/ramfs/sys" "$out/ramfs/tmp" "$out/ramfs/run" "$out/ramfs/modules"
cp "$images/$kernel/busybox" "$out/ramfs/bin/busybox"
cp $here/init "$out/ramfs/init"
chmod 755 "$out/ramfs/init" "$out/ramfs/bin/busybox"
strip --strip-debug -o "$out/ramfs/modules/hwtrace.ko" "$out/build/hwtrace.ko"
gcc -std=gnu11 -O2 -Wall -Wextra -static -ffunction-sections -Wl,--gc-sections -D_GNU_SOURCE -Iinclude -I. -o "$out/ramfs/bin/cost" \
	$here/cost.c tests/kernel/client.c "$O/libhwtrace.a" >"$TMP/cc" 2>&1 || { cat "$TMP/cc"; die "cost.c does not build"; }
lttng=yes
sh $here/lttng.sh "$images/lttng" "$(readlink -f "$images/$kernel/headers")" "$rel" >"$TMP/lttng" 2>&1 || lttng=
if [ -n "$lttng" ]; then cp -r "$images/lttng/files/." "$out/ramfs/"; else sed 's/^/# /' "$TMP/lttng"; fi
(cd "$out/ramfs" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$out/initrd"
# two CPUs hang when one instruction is one tick
timeout "${LIMIT:-400}" qemu-system-x86_64 -accel tcg -icount shift=0,sleep=off -cpu max -m 1024 -smp 1 -nodefaults -no-user-config \
	-display none -serial stdio -no-reboot -kernel "$images/$kernel/vmlinuz" -initrd "$out/initrd" \
	-append 'console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable' >"$out/console" 2>&1 </dev/null
tr -d '\r' <"$out/console" >"$out/log"
grep -q '^guest: done' "$out/log" || { tail -n 20 "$out/log"; die "the guest did not come to its end"; }
! grep '^FAIL' "$out/log" || die "see $out/log"
python3 $here/table.py "$out/log"
