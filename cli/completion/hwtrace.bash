# SPDX-License-Identifier: BSD-2-Clause
# made from the tables of the tool: hwtrace completion bash
# shellcheck shell=bash disable=SC2207
_hwtrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd='' i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		info|packets|list|calls|timeline|between|check|record|list-events|doctor|export|latency|why|help|version|completion) cmd=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $prev in
	--output|-o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--color|-C) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
	--as) COMPREPLY=($(compgen -W "perf snapshot lldb native ctf ftrace pt cs" -- "$cur")); return ;;
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
	--pid)  return ;;
	--time)  return ;;
	--sym)  return ;;
	--limit)  return ;;
	--max-loss)  return ;;
	--resync) COMPREPLY=($(compgen -W "psb packet" -- "$cur")); return ;;
	--level) COMPREPLY=($(compgen -W "insn range events" -- "$cur")); return ;;
	--abi-check) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--output|-o)  return ;;
	--event|-e)  return ;;
	--addr-filter)  return ;;
	--trace-size)  return ;;
	--via) COMPREPLY=($(compgen -W "perf module" -- "$cur")); return ;;
	--kernel|-k)  return ;;
	--filter)  return ;;
	--context)  return ;;
	--time)  return ;;
	--size)  return ;;
	--provider) COMPREPLY=($(compgen -W "module tracefs perf" -- "$cur")); return ;;
	--snapshot-on)  return ;;
	--pid|-p)  return ;;
	--from)  return ;;
	--to)  return ;;
	--limit)  return ;;
	--mtc)  return ;;
	--ts)  return ;;
	--seed)  return ;;
	--to) COMPREPLY=($(compgen -W "perf" -- "$cur")); return ;;
	--images) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	--level) COMPREPLY=($(compgen -W "calls range insn events" -- "$cur")); return ;;
	--filter)  return ;;
	--from)  return ;;
	--to)  return ;;
	--key)  return ;;
	--worst)  return ;;
	--call)  return ;;
	esac
	case $cmd:$cur in
	info:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu " -- "$cur")) ;;
	packets:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --limit --strict --max-loss " -- "$cur")) ;;
	list:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --pid --time --sym --limit --abs --ns --strict --max-loss --resync --level --lines " -- "$cur")) ;;
	calls:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --pid --time --sym --limit --abs --ns --strict --max-loss --resync --summary --insns " -- "$cur")) ;;
	timeline:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --pid --time --sym --limit --abs --ns --strict --max-loss --resync --lines --level --filter " -- "$cur")) ;;
	between:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --pid --sym --limit --abs --ns --strict --max-loss --resync --lines " -- "$cur")) ;;
	check:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --strict --max-loss --resync " -- "$cur")) ;;
	record:-*) COMPREPLY=($(compgen -W "--help --color --quiet --verbose --output --force --event --addr-filter --trace-size --via --model --kernel --all --filter --context --time --size --provider --snapshot --snapshot-on --pid --from --to --limit --no-kernel --cyc --mtc --ts --no-retcomp --seed " -- "$cur")) ;;
	list-events:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl " -- "$cur")) ;;
	doctor:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl " -- "$cur")) ;;
	export:-*) COMPREPLY=($(compgen -W "--help --output --force --color --quiet --verbose --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --to --images " -- "$cur")) ;;
	latency:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --pid --time --abs --ns --strict --max-loss --resync --from --to --key --worst " -- "$cur")) ;;
	why:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --json --jsonl --as --config --pt --cs --elf --sysroot --kcore --kallsyms --debuginfod-cache --perf-map --cpu --tid --pid --time --abs --ns --strict --max-loss --resync --from --to --key --worst --call " -- "$cur")) ;;
	help:-*) COMPREPLY=($(compgen -W "--help --output --force --color --pager --no-pager --quiet --verbose --abi-check " -- "$cur")) ;;
	version:-*) COMPREPLY=($(compgen -W "--help --output --force --color --quiet --verbose --build " -- "$cur")) ;;
	completion:-*) COMPREPLY=($(compgen -W "--help --output --force --color --quiet --verbose " -- "$cur")) ;;
	:*|help:*) COMPREPLY=($(compgen -W "info packets list calls timeline between check record list-events doctor export latency why help version completion times holes errors events " -- "$cur")) ;;
	completion:*) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")) ;;
	version:*) ;;
	*) COMPREPLY=($(compgen -f -- "$cur")) ;;
	esac
}
complete -o filenames -F _hwtrace hwtrace
