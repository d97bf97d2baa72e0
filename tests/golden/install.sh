#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Install, build a client with pkg-config against the shared library, run it, uninstall: nothing is left.
. tests/golden/common
make -s O="$O" install DESTDIR="$TMP/dest" PREFIX=/usr >"$TMP/log" 2>&1 || die "install: $(tail -n 3 "$TMP/log")"
cat >"$TMP/client.c" <<'C'
#include <stdio.h>
#include <hwtrace/hwtrace.h>
int main(void)
{
	struct hwt_session *s = NULL;
	struct hwt_diag d;
	int rc = hwt_session_open(&s, "/nonexistent", NULL, &d);
	printf("%s %d %d\n", hwt_version(), rc < 0, d.id);
	return s != NULL;
}
C
export PKG_CONFIG_PATH="$TMP/dest/usr/lib/pkgconfig"
flags=$(PKG_CONFIG_SYSROOT_DIR=$TMP/dest PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pkg-config --cflags --libs libhwtrace) || die "no libhwtrace.pc"
# shellcheck disable=SC2086
cc -o "$TMP/client" "$TMP/client.c" $flags || die "client does not link"
got=$(LD_LIBRARY_PATH="$TMP/dest/usr/lib" "$TMP/client")
[ "$got" = "$("$HWT" version | sed 's/^hwtrace //') 1 1" ] || die "client printed: $got"
nm -D --defined-only "$TMP/dest/usr/lib/libhwtrace.so.0" | awk '$2 != "A" && $3 !~ /^hwt_/ { print $3; n = 1 } END { exit n }' ||
	die "the library exports more than hwt_*"
for s in $(nm -D --defined-only "$TMP/dest/usr/lib/libhwtrace.so.0" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }'); do
	grep -qw "$s" "$TMP"/dest/usr/include/hwtrace/*.h || die "$s is exported, and in no header"
done
# the group of the module's device, by the tool that makes it
[ -s "$TMP/dest/usr/lib/udev/rules.d/60-hwtrace.rules" ] || die "no rule for the device"
if command -v systemd-sysusers >/dev/null; then
	mkdir -p "$TMP/tree/etc"
	systemd-sysusers --root="$TMP/tree" "$TMP/dest/usr/lib/sysusers.d/hwtrace.conf" >"$TMP/log" 2>&1 && grep -q '^hwtrace:' "$TMP/tree/etc/group" ||
		die "sysusers: $(cat "$TMP/log")"
fi
make -s O="$O" uninstall DESTDIR="$TMP/dest" PREFIX=/usr >/dev/null || die "uninstall"
left=$(find "$TMP/dest" -type f -o -type l)
[ -z "$left" ] || die "left behind: $left"
echo "# installed, linked, removed"
