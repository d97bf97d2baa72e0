#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Man pages and completions are those that the tables make; roff and the shells find no fault with them.
. tests/golden/common
cmds=$("$HWT" help | sed -n 's/^  hwtrace \([a-z-]*\) .*/\1/p')
[ "$(echo "$cmds" | wc -w)" -ge 8 ] || die "commands in the overview: $cmds"
"$HWT" generate man | cmp - cli/man/hwtrace.1 || die "hwtrace.1 is old: run cli/man/regen.sh"
for c in $cmds; do
	"$HWT" generate man "$c" | cmp - "cli/man/hwtrace-$c.1" || die "hwtrace-$c.1 is old: run cli/man/regen.sh"
done
"$HWT" generate events | cmp - cli/man/hwtrace-events.7 || die "hwtrace-events.7 is old: run cli/man/regen.sh"
for s in bash:hwtrace.bash zsh:_hwtrace fish:hwtrace.fish; do
	"$HWT" completion "${s%:*}" | cmp - "cli/completion/${s#*:}" || die "${s#*:} is old: run cli/man/regen.sh"
done
if command -v groff >/dev/null; then
	for f in cli/man/*.[157]; do
		groff -man -Tutf8 -ww -b "$f" 2>&1 >/dev/null | grep . && die "$f: groff warns"
	done
fi
# every option of every command is in its man page, its help and each completion
for c in $cmds; do
	for o in $("$HWT" "$c" --help | sed -n 's/^  \(-., \)\{0,1\}--\([a-z-]*\).*/\2/p'); do
		grep -qF -e "$(echo "--$o" | sed 's/-/\\-/g')" "cli/man/hwtrace-$c.1" || die "$c --$o: not in the man page"
		grep -q -e "--$o" cli/completion/hwtrace.bash || die "--$o: not in bash"
		grep -q -e "--$o" cli/completion/_hwtrace || die "--$o: not in zsh"
		grep -q -e "-l $o" cli/completion/hwtrace.fish || die "--$o: not in fish"
	done
done
for s in bash:hwtrace.bash zsh:_hwtrace fish:hwtrace.fish; do
	command -v "${s%:*}" >/dev/null || continue
	"${s%:*}" -n "cli/completion/${s#*:}" || die "${s#*:}: syntax"
done
# what bash really offers
complete() {
	bash -c '. cli/completion/hwtrace.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hwtrace; echo "${COMPREPLY[*]}"' _ "$@"
}
[ "$(complete hwtrace ch)" = check ] || die "bash: ch"
[ "$(complete hwtrace list --lev)" = --level ] || die "bash: list --lev"
[ "$(complete hwtrace list --level r)" = range ] || die "bash: list --level r"
[ "$(complete hwtrace completion f)" = fish ] || die "bash: completion f"
[ -z "$(complete hwtrace info --lines)" ] || die "bash: info --lines"
# every option that is offered is in the help
for c in $cmds; do
	for o in $(complete hwtrace "$c" --); do
		"$HWT" "$c" --help | grep -q -e "^  \(-., \)\{0,1\}$o\( \|\$\)" || die "$c: $o is not in the help"
	done
done
echo "# $(echo "$cmds" | wc -w) commands"
