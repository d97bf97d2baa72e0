#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# record -k with context fields and functions of the kernel that can not be: refused with a reason, before anything is written or opened. What
# can be is recorded in guests (tests/kernel/).
. tests/golden/common
no() {	# WORDS ARGS...
	words=$1
	shift
	"$HWT" record -o "$TMP/x.hwt" --time 1 "$@" >/dev/null 2>"$TMP/err" </dev/null && die "$*: not refused"
	[ $? = 2 ] || { cat "$TMP/err"; die "$*: wrong exit code"; }
	grep -qF -e "$words" "$TMP/err" || { cat "$TMP/err"; die "$*: expected: $words"; }
	[ ! -e "$TMP/x.hwt" ] || die "$*: left a capture"
}
no "for the kernel module" -a --provider tracefs -k kprobe:vfs_read
no "for the kernel module" -a --provider tracefs -k 'irq.*' --context prio
no "nothing: no context field" -a -k 'irq.*' --context prio,nothing
no "nothing: no counter" -a -k 'irq.*' --context counter:nothing
no "a:u7: types are u8" -a -k 'kprobe:f(a:u7), irq.*'
no "--context" --context prio --model /bin/true
