#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Line coverage of our own parsers (packets, deframer, containers, image files, virtual events, filters, pages and texts of
# the kernel) by unit tests and fuzz corpora.
# Prints each file and the sum; fails below 90 % in sum.
set -u
O=${O:-build/cover}
find "$O" -name '*.gcda' -delete
for t in $(find "$O/tests/unit" -type f -perm -u+x -name 'test_*') $(find "$O/tests/fuzz" -type f -perm -u+x -name 'fuzz_*'); do
	"$t" >/dev/null 2>&1 </dev/null
	rc=$?
	[ $rc = 0 ] || [ $rc = 77 ] || echo "note: $t ended with $rc"
done
for src in decoders/pt/*.c decoders/tpiu/*.c hwtrace/source/*.c hwtrace/base/ini.c hwtrace/base/json.c hwtrace/image/*.c \
	hwtrace/events/*.c hwtrace/filter/*.c hwtrace/capture/kernel_page.c hwtrace/capture/proc.c; do
	[ -f "$src" ] || continue
	gcov -n -o "$O/obj/$(dirname "$src")" "$O/obj/${src%.c}.o" 2>/dev/null |
	awk -v f="$src" '/^File/ { hit = index($0, "\x27" f "\x27") } hit && /^Lines executed/ { sub(/.*:/, ""); print f, $1, $NF; exit }'
done | sed 's/%//' | awk '
{ c = $2 * $3 / 100; got += c; all += $3; printf "  %-40s %6.1f %% of %d lines\n", $1, $2, $3 }
END { if (!all) exit 1; printf "parsers: %.1f %% of %d lines covered\n", 100 * got / all, all; exit 100 * got / all < 90 }'
