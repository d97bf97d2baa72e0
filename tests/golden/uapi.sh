#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# uapi.h alone: as kernel code with nothing but the fixed size types, freestanding, as C++, beside the whole API; and the same
# layout on 64 and 32 bits.
. tests/golden/common
CC=${CC:-cc}
mkdir -p "$TMP/kernel/linux"
# what a kernel's linux/types.h gives; -nostdinc leaves nothing else
cat >"$TMP/kernel/linux/types.h" <<'C'
typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
C
# sums by hand of each type's bytes: a hole or padding anywhere stops the build
cat >"$TMP/layout.c" <<'C'
#include <hwtrace/uapi.h>
_Static_assert(sizeof(struct hwt_rec) == 32 && sizeof(struct hwt_ctf_packet) == 96, "headers");
_Static_assert(__builtin_offsetof(struct hwt_rec, hit) == 16 && __builtin_offsetof(struct hwt_ctf_packet, crc) == 84, "fields");
enum { u32 = 4, x32 = 4, s32 = 4, pid = 4, text = 4, u64 = 8, x64 = 8, s64 = 8, name16 = 16, code16 = 16, id24 = 24 };
#define HWT_EVENT(sec, name, number, since, stamp, order, often) _Static_assert(sizeof(struct hwt_rec_##sec##_##name) == 32
#define HWT_F(type, name, unit, since, meaning) + type
#define HWT_EVENT_END , "hole");
#include <hwtrace/events.def>
C
printf '#include <hwtrace/uapi.h>\nint size(const struct hwt_rec_sched_switch *r) { return r->rec.size + r->next_tid; }\n' >"$TMP/a.c"
cp "$TMP/a.c" "$TMP/a.cc"
printf '#include <hwtrace/hwtrace.h>\n#include <hwtrace/uapi.h>\n' >"$TMP/all.c"
n=0
build() {
	"$@" -Iinclude -Wall -Wextra -Werror -c -o "$TMP/o" 2>"$TMP/err" || die "$*: $(head -n 5 "$TMP/err")"
	n=$((n + 1))
}
for c in "$CC" clang aarch64-linux-gnu-gcc; do
	command -v "$c" >/dev/null || continue
	build "$c" -std=gnu11 -D__KERNEL__ -nostdinc -ffreestanding -I"$TMP/kernel" "$TMP/layout.c"
	build "$c" -std=gnu11 -D__KERNEL__ -nostdinc -ffreestanding -I"$TMP/kernel" "$TMP/a.c"
	build "$c" -std=gnu11 -ffreestanding "$TMP/layout.c"
	build "$c" -std=gnu11 "$TMP/all.c"
done
case "$("$CC" -dumpmachine)" in x86_64*) build "$CC" -m32 -std=gnu11 -nostdinc -ffreestanding -I"$TMP/kernel" "$TMP/layout.c" ;; esac
for c in g++ clang++; do
	command -v "$c" >/dev/null && build "$c" -std=c++11 "$TMP/a.cc"
done
echo "# $n builds"
