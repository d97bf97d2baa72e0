#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a machine can see of the house style: SPDX line, tabs, 100 columns, no trailing blanks, a README in every folder.
bad=0
files=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.def')
for f in $files; do
	[ -f "$f" ] || continue
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier' || { echo "$f:1: no SPDX line"; bad=1; }
	case "$f" in *.def) continue ;; esac
	expand "$f" | awk -v f="$f" 'length($0) > 100 { printf "%s:%d: %d columns\n", f, NR, length($0); n = 1 } / $/ { printf "%s:%d: trailing blank\n", f, NR; n = 1 } END { exit n }' || bad=1
	grep -nE '^ {4,}[^ *]' "$f" /dev/null | head -n 3 | grep . && bad=1
done
for d in $(git ls-files -co --exclude-standard | sed -n 's|/[^/]*$||p' | sort -u); do
	case "$d" in fixtures/*|tests/*/*|.ci|cli/completion|cli/man|*/corpus*) continue ;; esac
	[ -f "$d/README.md" ] || { echo "$d: no README.md"; bad=1; }
done
[ $bad = 0 ] && echo "style: ok"
exit $bad
