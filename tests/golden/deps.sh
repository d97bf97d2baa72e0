#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What "make check" and "make demo" do on machines that lack packages, with stand-ins for the system's commands.
. tests/golden/common
mkdir "$TMP/bin" "$TMP/none"
for c in sh echo printf cat; do
	ln -s "$(command -v $c)" "$TMP/none/$c" 2>/dev/null
done
fake() {	# name, body
	printf '#!/bin/sh\n%s\n' "$2" >"$TMP/bin/$1"
	chmod +x "$TMP/bin/$1"
}
deps() {
	PATH=$TMP/bin:$PATH sh tests/deps.sh >"$TMP/out" 2>"$TMP/err"
}
fake apt-get "echo \"\$*\" >>$TMP/calls"
fake sudo "echo sudo >>$TMP/calls; exec \"\$@\""
fake id 'echo 0'
fake dpkg 'echo amd64'

fake dpkg-query 'echo "install ok installed"'
deps || die "all installed: exit $?"
[ ! -s "$TMP/out" ] && [ ! -s "$TMP/err" ] && [ ! -e "$TMP/calls" ] || die "all installed: not silent"

fake dpkg-query 'case "$*" in *libipt-dev|*zstd) exit 1 ;; esac; echo "install ok installed"'
deps || die "root: exit $?"
grep -qx 'deps: installing with apt-get: zstd libipt-dev' "$TMP/out" || die "root: does not say what it does"
grep -qx 'install -y --no-install-recommends zstd libipt-dev' "$TMP/calls" || die "root: no install"
grep -q sudo "$TMP/calls" && die "root: sudo"

rm "$TMP/calls"
fake id 'echo 1000'
deps || die "user: exit $?"
grep -qx 'deps: installing with sudo apt-get: zstd libipt-dev' "$TMP/out" || die "user: does not say what it does"
[ "$(head -n 1 "$TMP/calls")" = sudo ] || die "user: no sudo"

# lists of packages that are old: update, then once more; then it says what to do
rm "$TMP/calls"
fake apt-get "echo \"\$*\" >>$TMP/calls; [ \"\$1\" = update ]"
deps && die "failed install: exit 0"
[ $(grep -c '^install' "$TMP/calls") = 2 ] && grep -q '^update' "$TMP/calls" || die "failed install: no update and second try"
grep -q 'try: sudo apt-get install zstd libipt-dev' "$TMP/err" || die "failed install: no advice"

# libipt is not asked for where it does not exist
fake dpkg 'echo arm64'
fake dpkg-query 'exit 1'
fake apt-get "echo \"\$*\" >$TMP/calls"
deps || die "arm64: exit $?"
grep -q libopencsd-dev "$TMP/calls" || die "arm64: no packages"
grep -q libipt "$TMP/calls" && die "arm64: libipt"

# another system
PATH=$TMP/none sh tests/deps.sh >"$TMP/out" 2>"$TMP/err" && die "no apt-get: exit 0"
grep -q 'no apt-get' "$TMP/err" && grep -q 'libopencsd-dev.*libelf-dev' "$TMP/err" || die "no apt-get: no list"
exit 0
