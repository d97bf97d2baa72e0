#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The recorder on arm64: a Debian kernel under qemu-system-aarch64 (user-mode emulation can not ptrace). Fetches kernel and busybox
# of arm64 into DIR, boots them with the cross-built tool, and compares inside. Run by "make check-record-arm64", some minutes.
set -eu
O=${O:-build/aarch64-linux-gnu}
S=${SYSROOT:-build/aarch64-linux-gnu-sysroot}
D=${1:-build/arm64-vm}
for p in qemu-system-aarch64 cpio aarch64-linux-gnu-gcc apt-get; do
	command -v $p >/dev/null || { echo "$p is not installed (packages qemu-system-arm, cpio, gcc-aarch64-linux-gnu)"; exit 77; }
done
mkdir -p "$D" && D=$(cd "$D" && pwd)
if ! [ -e "$D/.done" ]; then
	state=$D/.apt
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	: >"$state/status"
	opts="-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$state -o Dir::State::lists=$state/lists
-o Dir::State::status=$state/status -o Dir::Cache=$state/cache -o Debug::NoLocking=1 -o APT::Sandbox::User=root"
	# shellcheck disable=SC2086
	apt-get $opts update >&2
	# shellcheck disable=SC2086
	kernel=$(apt-cache $opts depends linux-image-cloud-arm64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	# shellcheck disable=SC2086
	(cd "$state/cache/archives" && apt-get $opts download "$kernel" busybox-static >&2)
	for d in "$state"/cache/archives/*.deb; do
		dpkg-deb -x "$d" "$D/tree"
	done
	rm -rf "$state"
	: >"$D/.done"
fi
ir=$D/initramfs
rm -rf "$ir"
mkdir -p "$ir/bin" "$ir/lib" "$ir/proc" "$ir/sys" "$ir/dev" "$ir/tmp"
find "$D/tree" -path '*/bin/busybox' -type f -exec cp {} "$ir/bin/" \;
cp "$O/hwtrace" "$ir/bin/"
aarch64-linux-gnu-gcc -O1 -static -pthread -mno-outline-atomics -o "$ir/bin/prog" tests/golden/record/prog.c
aarch64-linux-gnu-gcc -O1 -static -pthread -mno-outline-atomics -o "$ir/bin/trap" tests/golden/record/trap.c
aarch64-linux-gnu-gcc -O1 -static -D_GNU_SOURCE -o "$ir/bin/step" tests/tools/step.c
# the libraries that the tool needs, and those that they need
todo=$ir/bin/hwtrace
while [ -n "$todo" ]; do
	next=
	for f in $todo; do
		for n in $(aarch64-linux-gnu-readelf -d "$f" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p') ld-linux-aarch64.so.1; do
			[ -e "$ir/lib/$n" ] && continue
			for d in "$S/usr/lib/aarch64-linux-gnu" "$S/lib/aarch64-linux-gnu" "$S/lib"; do
				[ -e "$d/$n" ] && cp -L "$d/$n" "$ir/lib/" && next="$next $ir/lib/$n" && break
			done
		done
	done
	todo=$next
done
aarch64-linux-gnu-nm "$ir/bin/prog" | sed -n 's/^0*\([0-9a-f]*\) T tick$/\1/p' >"$ir/tick"
cat >"$ir/init" <<'EOF'
#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib
exec 2>&1
cd /tmp
addrs() { hwtrace list --jsonl "$@" 2>/dev/null | sed -n 's/.*"type":"insn".*"addr":"0x\([0-9a-f]*\)".*/\1/p'; }
bad() { echo "FAIL $*"; }
check() { hwtrace check "$1" >check 2>&1 || bad "$2: $(cat check)"; }
echo 0 >/proc/sys/kernel/randomize_va_space
# another stepper stays in the first loop of exclusive load and store for ever: up to there, all is the same
timeout -s KILL 30 step /bin/prog work 4 2>/dev/null | uniq >truth
hwtrace record -q --model -o c.hwt prog work 4 >/dev/null || bad "work: $?"
check c.hwt work
addrs c.hwt >got
same=$(awk 'NR == FNR { a[NR] = $1; next } "x" $1 != "x" a[FNR] { print FNR - 1; exit }' truth got)
[ "${same:-0}" -gt 3000 ] && [ "$(wc -l <got)" -gt "$same" ] || bad "work: the same for ${same:-0} of $(wc -l <got)"
echo "# the same $same instructions as another stepper, which then stays in a loop; $(wc -l <got) recorded"
for m in threads forks restarts signals atomics; do
	prog $m | sed 's/tid [0-9]*/tid/' | sort >alone
	hwtrace record -q --model -f --from main -o m.hwt prog $m >out || bad "$m: exit $?"
	sed 's/tid [0-9]*/tid/' out | sort | cmp - alone || bad "$m: prints something else: $(cat out)"
	check m.hwt $m
	awk '{ last[$2] = $4 } END { for (t in last) print t, last[t] }' out >said
	while read -r tid n; do
		k=$(addrs --tid "$tid" m.hwt | grep -c "^$(cat /tick)\$")
		[ "$k" = "$n" ] || bad "$m: thread $tid called tick() $n times, $k recorded"
	done <said
	echo "# $m"
done
# SIGTRAP, by which steps are told, stays as the program has it
for m in blocks waits signalfd sent waited-by-thread nested unhandled own-mask sequence stops ends-blocked ends-in-handler set-by-threads \
		ignored ignored-by-thread ends-ignored; do
	/bin/trap $m >alone
	a=$?
	for from in main spin; do
		hwtrace record --model -f --from $from -o t.hwt -- /bin/trap $m >out 2>err
		cmp out alone || bad "trap $m, $from: prints something else: $(cat out err)"
		c=$(sed -n 's/.* ended with exit code \([0-9]*\)$/\1/p; s/.* killed by signal 5 .*/133/p' err)
		[ "$c" = $a ] || bad "trap $m, $from: ends with $c, alone with $a: $(cat err)"
		check t.hwt "trap $m, $from"
	done
done
echo "# programs that use SIGTRAP"
hwtrace record -q --model --no-retcomp --cyc -o w.hwt --from work --to done prog work 5 || bad "window: $?"
check w.hwt window
# what stops and begins elsewhere is no signal, and one is one
hwtrace record -q --model -f -o w.hwt --from tick prog work 4 || bad "window: $?"
hwtrace calls w.hwt >calls 2>/dev/null
[ "$(grep -c '(trace begins here)' calls)" -gt 3 ] || bad "window: begins: $(head -n 9 calls)"
grep -e ' signal \|interrupt' calls && bad "window: calls tells what was not seen"
hwtrace record -q --model -f -o w.hwt --from main prog signals >out || bad "signals: $?"
hwtrace calls w.hwt 2>/dev/null | grep -q ' signal on_signal' || bad "signals: calls shows none"
prog count /tmp/n &
p=$!
sleep 1
hwtrace record -q --model --limit 500 -o p.hwt -p $p || bad "attach: $?"
a=$(head -c 8 /tmp/n | od -An -tu8)
sleep 2
[ "$(head -c 8 /tmp/n | od -An -tu8)" -gt "$a" ] || bad "attach: the process does not go on"
grep -q 'TracerPid:.0' /proc/$p/status || bad "attach: still traced"
check p.hwt attach
echo "# window, attach"
echo "all done"
poweroff -f
EOF
chmod 755 "$ir/init"
(cd "$ir" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$D/initrd.gz"
timeout 1200 qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on -m 1024 -smp 1 -nographic -no-reboot -nic none \
	-kernel "$D"/tree/boot/vmlinuz-* -initrd "$D/initrd.gz" -append "console=ttyAMA0 quiet rdinit=/init panic=-1" >"$D/log" 2>&1 </dev/null || :
grep -a '^#\|FAIL\|Kernel panic' "$D/log" || :
grep -qa '^all done' "$D/log" || { echo "it did not come to its end: $(tail -n 3 "$D/log")"; exit 1; }
! grep -qa FAIL "$D/log"
