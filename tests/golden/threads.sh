#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# --tid is a thread, also where its id is that of the process, and --pid all threads of it. Which function ran in which
# thread is known from the source.
. tests/golden/common
need gcc
case "$(uname -m)" in x86_64|aarch64) ;; *) echo "programs can not be stepped here"; exit 77 ;; esac
cat >"$TMP/p.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
static volatile int sum;
KEEP void only_main(int n) { while (n--) sum += n; }
KEEP void only_thread(int n) { while (n--) sum -= n; }
static void *other(void *arg) { (void)arg; only_thread(9); return NULL; }
int main(void)
{
	pthread_t t;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	pthread_create(&t, NULL, other, NULL);
	only_main(9);
	return pthread_join(t, NULL);
}
C
gcc -O1 -static -pthread -o "$TMP/p" "$TMP/p.c" || die "no program"
"$HWT" record -q --model --from only_main --from only_thread -o "$TMP/c.hwt" "$TMP/p" >"$TMP/said" 2>"$TMP/err" ||
	{ echo "ptrace is not permitted here: $(tail -n 2 "$TMP/err")"; exit 77; }
pid=$(cat "$TMP/said")
tid=$("$HWT" list -q --level range --jsonl "$TMP/c.hwt" | sed -n 's/.*"tid":\([0-9]*\),.*only_thread.*/\1/p' | head -n 1)
[ -n "$tid" ] && [ "$tid" != "$pid" ] || die "no second thread: \"$tid\", process $pid"
# ran OPTION ID FUNCTIONS: in list, timeline and calls
ran() {
	for c in "list --level range" "timeline --level range" calls; do
		# shellcheck disable=SC2086
		"$HWT" $c -q "$1" "$2" "$TMP/c.hwt" >"$TMP/out" || die "$c $1 $2: exit $?"
		got=$(grep -o 'only_[a-z]*' "$TMP/out" | sort -u | tr '\n' ' ')
		[ "$got" = "$3" ] || die "$c $1 $2: $got, not $3"
	done
}
ran --tid "$pid" "only_main "
ran --tid "$tid" "only_thread "
ran --pid "$pid" "only_main only_thread "
ran --tid "$pid,$tid" "only_main only_thread "
"$HWT" list --pid "$tid" "$TMP/c.hwt" >"$TMP/out" 2>&1
[ $? = 2 ] && grep -q "^hwtrace: --pid: no process $tid in this capture; it has .*$pid" "$TMP/out" || die "$(cat "$TMP/out")"
exit 0
