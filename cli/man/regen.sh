#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Writes the generated man pages and completions anew. Run from the top after a change of a table.
set -eu
h=${HWTRACE:-build/hwtrace}
"$h" generate man >cli/man/hwtrace.1
for c in $("$h" help | sed -n 's/^  hwtrace \([a-z-]*\) .*/\1/p'); do
	"$h" generate man "$c" >"cli/man/hwtrace-$c.1"
done
"$h" generate events >cli/man/hwtrace-events.7
"$h" completion bash >cli/completion/hwtrace.bash
"$h" completion zsh >cli/completion/_hwtrace
"$h" completion fish >cli/completion/hwtrace.fish
