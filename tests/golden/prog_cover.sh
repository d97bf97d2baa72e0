#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Of the files that program trace units, at least 95 % of the lines run in their tests against the models.
. tests/golden/common
need gcov
cc=${CC:-cc}
cover() {	# TEST FILE...
	t=$1 objs=
	model=$(basename "$t" .c | sed 's|^test_\(.*\)_prog$|tests/model/\1_model.c|')
	shift
	for f in "$@"; do
		o="$TMP/$(basename "$f" .c).o"
		"$cc" -std=gnu11 -O0 -g --coverage -D_GNU_SOURCE -Iinclude -I. -c -o "$o" "$f" || die "$f does not compile"
		objs="$objs $o"
	done
	# shellcheck disable=SC2086
	"$cc" -std=gnu11 -O1 -D_GNU_SOURCE -Iinclude -I. --coverage -o "$TMP/test" "$t" "$model" tests/model/sink_model.c $objs -lcmocka || die "$t does not compile"
	"$TMP/test" >"$TMP/log" 2>&1 || { cat "$TMP/log"; die "$t fails"; }
	for f in "$@"; do
		gcov -n -o "$TMP" "$TMP/$(basename "$f" .c).o" 2>/dev/null | awk -v f="$f" '
			/^File/ { hit = index($0, "\x27" f "\x27") }
			hit && /^Lines executed/ { sub(/.*:/, ""); sub(/%/, ""); n = 1
				printf "%s: %s %% of %d lines\n", f, $1, $NF; bad = $1 < 95; exit }
			END { exit !n || bad }' || die "$f: less than 95 %"
	done
}
cover tests/unit/kmod/test_pt_prog.c kmod/pt_prog.c kmod/pt_caps.c
cover tests/unit/kmod/test_etm4_prog.c kmod/etm4_prog.c kmod/etm4_config.c kmod/csunit.c
cover tests/unit/kmod/test_tmc_prog.c kmod/tmc_prog.c kmod/csunit.c
cover tests/unit/kmod/test_link_prog.c kmod/link_prog.c kmod/csunit.c
cover tests/unit/kmod/test_trbe_prog.c kmod/trbe_prog.c
