#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# record.sh DIR BLOCKS: builds the programs and records them under QEMU, at most BLOCKS blocks a thread, as
# DIR/NAME.ARCH.rec. What can not be had is said and left out. PLUGIN names the recorder.
set -u
dir=${1:?usage: record.sh DIR BLOCKS} max=${2:?usage: record.sh DIR BLOCKS}
here=$(dirname "$0")
plugin=${PLUGIN:?PLUGIN is not set}
sysroot=${SYSROOT:-build/aarch64-linux-gnu-sysroot}
scale=$((max / 100000 + 1))
mkdir -p "$dir" || exit 1

left_out() {
	echo "left out: $*"
}
# rec QEMU NAME PROGRAM [ARG]...
rec() {
	qemu=$1 name=$2
	shift 2
	if ! $qemu -plugin "$plugin,out=$dir/$name.rec,max=$max" "$@" >"$dir/$name.out" 2>"$dir/$name.err" </dev/null; then
		left_out "$name: $(tail -n 1 "$dir/$name.err")"
		rm -f "$dir/$name.rec"
	fi
}
sql() {
	echo "create table t(a integer primary key, b, c);"
	echo "with recursive n(i) as (select 1 union all select i + 1 from n where i < $((400 * scale))) insert into t select i, i * i % 97, 'row ' || i from n;"
	echo "create index tb on t(b); select b, count(*), sum(a) from t group by b order by 2 desc, 1 limit 5;"
	echo "update t set c = upper(c) where b in (select b from t where a % 13 = 0); delete from t where a % 7 = 1;"
	echo "select max(length(c)), total(b) from t;"
}

awk -v n=$((2000 * scale)) 'BEGIN { for (i = 0; i < n; i++) printf "%d %x %s\n", i * i % 9973, i * 7919, i % 5 ? "line of text" : "" }' >"$dir/text"
sql >"$dir/sql"
for arch in x86_64 aarch64 arm; do
	case $arch in
	x86_64) cross= ;;
	aarch64) cross=aarch64-linux-gnu- ;;
	arm) cross=arm-linux-gnueabihf- ;;
	esac
	[ "$(uname -m)" = "$arch" ] && cross=
	command -v "qemu-$arch" >/dev/null || { left_out "$arch: qemu-$arch is not installed"; continue; }
	for p in signals jit threads; do
		if "${cross}gcc" -O2 -static -pthread -o "$dir/$p.$arch" "$here/progs/$p.c" 2>"$dir/cc.err"; then
			args=$((40 * scale))
			[ $p = jit ] && args=$((20 * scale))
			rec "qemu-$arch" $p.$arch "$dir/$p.$arch" $args
		else
			left_out "$p.$arch: $(tail -n 1 "$dir/cc.err")"
		fi
	done
	if "${cross}g++" -O2 -static -o "$dir/except.$arch" "$here/progs/except.cc" 2>"$dir/cc.err"; then
		rec "qemu-$arch" except.$arch "$dir/except.$arch" $((40 * scale))
	else
		left_out "except.$arch: $(tail -n 1 "$dir/cc.err")"
	fi
	root=
	[ $arch = aarch64 ] && root=$sysroot
	for p in gzip sqlite3; do
		bin=$(ls "$root/usr/bin/$p" "$root/bin/$p" 2>/dev/null | head -n 1)
		if [ $arch = arm ] || [ -z "$bin" ]; then
			left_out "$p.$arch: no such program here"
			continue
		fi
		case $p in
		gzip) set -- -c "$dir/text" ;;
		sqlite3) set -- :memory: ".read $dir/sql" ;;
		esac
		rec "qemu-$arch${root:+ -L $root}" $p.$arch "$bin" "$@"
	done
done
