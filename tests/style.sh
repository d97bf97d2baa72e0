#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a machine can see of the house style: SPDX line, tabs, 100 columns, no trailing blanks, a reason for long files, a README in every folder.
bad=0
files=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.def')
for f in $files; do
	[ -f "$f" ] || continue
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier' || { echo "$f:1: no SPDX line"; bad=1; }
	case "$f" in *.def) continue ;; esac
	[ "$(wc -l <"$f")" -le 600 ] || head -n 40 "$f" | tr -d '\n*' | tr '\t' ' ' | grep -q 'onger  *than  *other  *files' ||
		{ echo "$f:1: more than 600 lines, and no reason (\"Longer than other files: ...\")"; bad=1; }
	expand "$f" | awk -v f="$f" 'length($0) > 100 { printf "%s:%d: %d columns\n", f, NR, length($0); n = 1 } / $/ { printf "%s:%d: trailing blank\n", f, NR; n = 1 } END { exit n }' || bad=1
	grep -nE '^ {4,}[^ *]' "$f" /dev/null | head -n 3 | grep . && bad=1
done
# every file in a folder of inputs is an input: they are told in the README above
for d in $(git ls-files -co --exclude-standard | sed -n 's|/[^/]*$||p' | sort -u); do
	[ -f "$d/README.md" ] && continue
	case "$d" in
	tests/fuzz/corpus/*) grep -q "^| .${d##*/}/. |" tests/fuzz/corpus/README.md || { echo "$d: not told in the README above"; bad=1; } ;;
	fixtures/captures/*/in) grep -qF "$(basename "${d%/in}")/in" fixtures/captures/README.md || { echo "$d: not told in the README above"; bad=1; } ;;
	*) echo "$d: no README.md"; bad=1 ;;
	esac
done
[ $bad = 0 ] && echo "style: ok"
exit $bad
