#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Prints syscall_args.def: names and types of arguments of system calls, as the kernel of this machine describes its events.
#   sh hwtrace/filter/syscall_args.sh [EVENTS] >hwtrace/filter/syscall_args.def
# EVENTS: the folder with sys_enter_*/format. The kernel's functions that are called otherwise than the call they serve are renamed.
set -eu
dir=${1:-/sys/kernel/tracing/events/syscalls}
cat <<'HEAD'
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SYSCALL_ARGS(name, arguments): types and names as Linux describes them, 64-bit programs. Sorted by
 * name. Made by syscall_args.sh.
 */
HEAD
for f in "$dir"/sys_enter_*/format; do
	awk '
	/^name: sys_enter_/ {
		name = substr($2, 11)
		if (name == "newstat" || name == "newfstat" || name == "newlstat" || name == "newuname") name = substr(name, 4)
		if (name == "sendfile64") name = "sendfile"
		if (name == "umount") name = "umount2"
	}
	/^\tfield:/ && !/ common_/ && !/ __syscall_nr;/ && !/ nr;/ {
		sub(/^\tfield:/, "")
		sub(/;.*/, "")
		# the number of the call is in front, texts that newer kernels copy are behind
		if (!/ __/) { n++; args = args ", \"" $0 "\"" }
	}
	END { if (n <= 6) printf "SYSCALL_ARGS(%s%s)\n", name, args }' "$f"
done | LC_ALL=C sort
