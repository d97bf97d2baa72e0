# SPDX-License-Identifier: BSD-2-Clause
# A guest that records onto its disk, whose power is cut at STOPS random instants (10); see stop.py.
kernel=x86_64-6.1
export THREAD=single PART=stop WRITES=1 SPAN=${SPAN:-8} ENVIRON="SPAN=${SPAN:-8}"
. tests/kernel/common
for p in mke2fs e2fsck debugfs; do
	command -v $p >/dev/null || [ -x /sbin/$p ] || { echo "$p is not installed"; exit 77; }
done
PATH=$PATH:/sbin
build
seed=${SEED:-$(date +%s)}
rm -rf "$out/stop"
mkdir "$out/stop"
truncate -s 96M "$out/stop/out.img"
mke2fs -q -t ext4 "$out/stop/out.img" || die "no file system"
cp --sparse=always "$out/stop/out.img" "$out/stop/first.img"
echo "# seed $seed"
python3 tests/kernel/stop.py watch "$out/stop" "${STOPS:-10}" "$seed" >"$TMP/watch" 2>&1 &
watch=$!
sh tests/kernel/boot.sh "$images" "$kernel" "$out/build/hwtrace.ko" "$out/stop" >"$TMP/boot" 2>&1 || { kill $watch; last "$TMP/boot" "no guest"; }
grep -q '^guest: done' "$out/stop/log" || kill $watch
watched=0
wait $watch || watched=$?
ended "$out/stop/log"
[ $watched = 0 ] || last "$TMP/watch" "nobody looked"
python3 tests/kernel/stop.py look "$out/stop" "$HWT" "$TMP" || die "seed $seed: see $out/stop"
