# SPDX-License-Identifier: BSD-2-Clause
# Sessions with Intel PT in a guest, whose registers are a model: sim/README.md. Simulation: no CPU with Intel PT takes part.
kernel=x86_64-6.1
export THREAD=single
. tests/kernel/common
out=$out-pt
mkdir -p "$out/build"
for f in tests/kernel/sim/pt_sim.c tests/model/pt_model.c; do
	cmp -s "$f" "$out/build/${f##*/}" || cp "$f" "$out/build/"
done
build PT_REGS="pt_sim.o pt_model.o" KCFLAGS="-I$PWD -Wno-declaration-after-statement"
PART=pt sh tests/kernel/boot.sh "$images" "$kernel" "$out/build/hwtrace.ko" "$out/guest" >"$TMP/boot" 2>&1 || last "$TMP/boot" "no guest"
log=$out/guest/log
ended "$log" '^(FAIL|bad)|sim: '
grep -q '^ok: unit_sim' "$log" || last "$log" "the case is missing"
grep '^# ' "$log"
# what the library recorded of it
for c in pt full newest; do
	"$HWT" info "$out/guest/tree/$c.hwt" >"$TMP/$c" 2>&1 || last "$TMP/$c" "$c.hwt does not open"
	"$HWT" list --jsonl "$out/guest/tree/$c.hwt" 2>"$TMP/err" | grep -q '"type":"sched.switch"' || die "$c.hwt has no events: $(cat "$TMP/err")"
	python3 tests/kernel/sim/numbers.py "$out/guest/tree/$c.hwt" || die "$c.hwt: not what the unit wrote"
done
grep -q '^recorded by module, snapshot\|module, snapshot' "$TMP/newest" || { cat "$TMP/newest"; die "newest.hwt does not say who recorded it"; }
