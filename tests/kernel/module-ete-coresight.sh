# SPDX-License-Identifier: BSD-2-Clause
# Sessions with trace units and trace buffers that are reached by system registers (ETE, TRBE), in a guest with Debian's kernel 6.12 for aarch64.
# No emulator has them: the module is built with models in the place of cs_sys.c (sim/cs_sim.c). And units that parameters of the module tell of.
kernel=aarch64-6.12
. tests/kernel/common
need dtc
out=$out-sim
mkdir -p "$out/build" "$TMP/bin"
for f in tests/kernel/sim/cs_sim.c tests/model/etm4_model.c tests/model/trbe_model.c tests/model/sink_model.c; do
	cmp -s "$f" "$out/build/${f##*/}" || cp "$f" "$out/build/"
done
build CS_REGS="cs_sim.o etm4_model.o trbe_model.o sink_model.o" KCFLAGS="-I$PWD -Wno-declaration-after-statement"
here=tests/kernel/coresight guest=$out/ete
aarch64-linux-gnu-gcc -std=gnu11 -O1 -Wall -Wextra -static -D_GNU_SOURCE -Iinclude -o "$TMP/bin/ete" $here/ete.c || die "ete.c"
INIT=$here/init-ete NODES=$here/nodes-ete.dts PROGRAM=$TMP/bin/. sh $here/boot.sh "$images/$kernel" "$out/build/hwtrace.ko" "$guest" >"$TMP/boot" 2>&1 ||
	last "$TMP/boot" "no guest"
log=$guest/log
ended "$log" '^FAIL|sim: '
[ "$(grep -c '^ok: ' "$log")" = 19 ] || last "$log" "cases are missing: $(grep -c '^ok: ' "$log") of 19"
# all that the given unit gave
sed -n 's/^CAPTURE \([0-9]*\) etr .*/\1/p' "$guest/access" | while read -r i; do cat "$guest/bytes-$i"; done >"$TMP/came"
[ -s "$TMP/came" ] && cmp "$TMP/came" "$guest/tree/given-0" || die "other bytes than the given unit's"
! grep '^BROKEN' "$guest/access" || die "rules are broken"
grep -E '^ok: |^# ' "$log" | sed 's/^/# /'
