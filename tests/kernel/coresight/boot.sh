#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# boot.sh IMAGE MODULE OUT: boots an arm64 guest of two CPUs whose CoreSight is plugin.c: OUT/access and OUT/bytes-* are what that saw, OUT/log what
# the guest said, OUT/tree what it wrote. INIT: another first process, PROGRAM: what it needs in /bin, NODES:
# other nodes of the device tree, PLUGIN: more words for plugin.c. The registers lie in the last 16 MiB of its memory, which the kernel is not told of.
set -eu
img=$1 module=$2 out=$3
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../../..
root=$out/files
rm -rf "$out"
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$out/tree"
cp "$img/busybox" "$root/bin/busybox"
cp "${INIT:-$here/init}" "$root/init"
[ -z "${PROGRAM:-}" ] || cp -r "$PROGRAM" "$root/bin/"
chmod 755 "$root/bin/busybox" "$root/init"
cp -r "$img/modules" "$img/coresight" "$root/"
aarch64-linux-gnu-strip --strip-debug -o "$root/modules/hwtrace.ko" "$module"
aarch64-linux-gnu-gcc -std=gnu11 -O1 -Wall -Wextra -static -D_GNU_SOURCE -I"$top/include" -o "$root/bin/client" "$here/client.c"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$out/initrd"
${CC:-cc} -std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-parameter -fPIC -fvisibility=hidden -shared -D_GNU_SOURCE -I"$top" -o "$out/plugin.so" \
	"$here/plugin.c" "$top"/tests/model/etm4_model.c "$top"/tests/model/tmc_model.c "$top"/tests/model/link_model.c "$top"/tests/model/sink_model.c
truncate -s 512M "$out/ram"
truncate -s 64M "$out/out.img"
machine="-M virt,gic-version=3,memory-backend=m -cpu cortex-a72 -smp 2 -m 512 -nodefaults -no-user-config -display none
	-object memory-backend-file,id=m,size=512M,mem-path=$out/ram,share=on"
# the machine's own device tree, and our nodes at its end
# shellcheck disable=SC2086
qemu-system-aarch64 $(echo "$machine" | sed "s|gic-version=3|&,dumpdtb=$out/virt.dtb|") >/dev/null
dtc -q -I dtb -O dts -o "$out/virt.dts" "$out/virt.dtb"
python3 - "$out/virt.dts" "${NODES:-$here/nodes.dts}" "$out/cs.dts" <<'END'
import re, sys
virt, nodes = open(sys.argv[1]).read(), open(sys.argv[2]).read()
def phandle(node):
    return re.search(node + r' \{[^}]*?\bphandle = <(0x[0-9a-f]+)>', virt).group(1)
for name, node in (('@CPU0@', 'cpu@0'), ('@CPU1@', 'cpu@1'), ('@CLK@', 'apb-pclk')):
    nodes = nodes.replace(name, phandle(node))
i = virt.rindex('};')
open(sys.argv[3], 'w').write(virt[:i] + nodes + virt[i:])
END
dtc -q -I dts -O dtb -o "$out/cs.dtb" "$out/cs.dts"
rc=0
# on a busy machine the emulator may get no CPU for long, which is no fault of the guest; and the kernel tests its ciphers for minutes
# shellcheck disable=SC2086
timeout "${LIMIT:-900}" qemu-system-aarch64 $machine -accel tcg,thread=single -serial stdio -no-reboot -dtb "$out/cs.dtb" \
	-kernel "$img/vmlinuz" -initrd "$out/initrd" -append "console=ttyAMA0 panic=-1 quiet nosoftlockup rcupdate.rcu_cpu_stall_timeout=300 cryptomgr.notests mem=496M ${APPEND:-}" \
	-drive if=none,id=b,file="$out/out.img",format=raw -device virtio-blk-device,drive=b \
	-plugin "$out/plugin.so,ram=$out/ram,out=$out${PLUGIN:+,$PLUGIN}" >"$out/console" 2>&1 </dev/null || rc=$?
rm -f "$out/ram"
tr -d '\r' <"$out/console" >"$out/log"
[ $rc = 0 ] || { tail -n 10 "$out/log"; echo "the guest did not power off ($rc)"; exit 1; }
tar -xf "$out/out.img" -C "$out/tree" 2>/dev/null || { tail -n 10 "$out/log"; echo "the guest wrote nothing"; exit 1; }
