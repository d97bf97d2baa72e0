# SPDX-License-Identifier: BSD-2-Clause
# made from the tables of the tool: hwtrace completion bash
# shellcheck shell=bash disable=SC2207
_hwtrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd='' i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		info|packets|list|calls|check|help|version|completion) cmd=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $prev in
	--output|-o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--color|-C) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
	--as) COMPREPLY=($(compgen -W "perf snapshot lldb pt cs" -- "$cur")); return ;;
	--config) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--pt) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--cs) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--elf) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--sysroot) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	--kcore) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--kallsyms) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--debuginfod-cache) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	--perf-map) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	--cpu)  return ;;
	--tid)  return ;;
	--time)  return ;;
	--sym)  return ;;
	--limit)  return ;;
	--max-loss)  return ;;
	--resync) COMPREPLY=($(compgen -W "psb packet" -- "$cur")); return ;;
	--level) COMPREPLY=($(compgen -W "insn range events" -- "$cur")); return ;;
	esac
	case $cmd:$cur in
	info:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu " -- "$cur")) ;;
	packets:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --limit --strict --max-loss " -- "$cur")) ;;
	list:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --time --sym --limit --abs --ns --strict --max-loss --resync --level --lines " -- "$cur")) ;;
	calls:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --time --sym --limit --abs --ns --strict --max-loss --resync --summary --insns " -- "$cur")) ;;
	check:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --strict --max-loss --resync " -- "$cur")) ;;
	help:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose " -- "$cur")) ;;
	version:-*) COMPREPLY=($(compgen -W "--help --output --force --color --quiet --verbose --build " -- "$cur")) ;;
	completion:-*) COMPREPLY=($(compgen -W "--help --output --force --color --quiet --verbose " -- "$cur")) ;;
	:*|help:*) COMPREPLY=($(compgen -W "info packets list calls check help version completion times holes errors " -- "$cur")) ;;
	completion:*) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")) ;;
	version:*) ;;
	*) COMPREPLY=($(compgen -f -- "$cur")) ;;
	esac
}
complete -o filenames -F _hwtrace hwtrace
