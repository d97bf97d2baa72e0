#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds every fuzz target with clang's libFuzzer, ASan and UBSan and runs each $RUNS times from its corpus.
set -u
RUNS=${RUNS:-1000000}
O=build/fuzz
make -s -j"$(nproc)" O=$O CC=clang SAN=address,undefined CFLAGS='-fsanitize=fuzzer-no-link -Wno-unknown-warning-option' fuzzers || exit 1
rc=0
for src in tests/fuzz/fuzz_*.c; do
	t=$(basename "$src" .c) name=
	name=${t#fuzz_}
	case " ${TARGETS:-$name} " in *" $name "*) ;; *) continue ;; esac
	mkdir -p "$O/corpus/$name" "$O/crashes"
	log=$O/$name.log
	if "$O/fuzzers/$t" -runs="$RUNS" -seed=1 -max_len=8192 -timeout=120 -rss_limit_mb=1024 -print_final_stats=1 \
		-artifact_prefix="$O/crashes/$name-" "$O/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
		echo "ok    $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
	else
		rc=1
		echo "FAIL  $name: see $log"
		grep -m 3 -E 'ERROR|runtime error|SUMMARY' "$log" | sed 's/^/      /'
	fi
done
exit $rc
