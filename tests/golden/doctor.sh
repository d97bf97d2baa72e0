#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# doctor: verdict and next step on trees of files as the kernel's documentation of them says they look on other machines
# (sysfs-bus-coresight-devices-*, intel-pt.rst, kernel_lockdown(7), Yama.rst, the device tree bindings arm,coresight-*);
# on this machine what it says is what happens; and no file is opened behind which a register is.
. tests/golden/common
need python3
D=$TMP/d
R=6.1.0-18-test
# FILE [TEXT]: a file of the tree
f() {
	mkdir -p "$D/$(dirname "$1")"
	printf '%s\n' "${2-}" >"$D/$1"
}
common() {	# what all machines have
	rm -rf "$D"
	f proc/sys/kernel/osrelease $R
	f proc/sys/kernel/perf_event_paranoid 2
	f sys/devices/system/cpu/online 0-3
	f sys/kernel/security/lockdown '[none] integrity confidentiality'
	f sys/kernel/tracing/trace_clock '[local] global counter uptime perf mono mono_raw boot tai x86-tsc'
	f sys/bus/event_source/devices/tracepoint/type 2
	f proc/filesystems 'nodev	tracefs'
	f proc/kallsyms 'ffffffff81000000 T startup_64'
	f proc/kcore
}
x86() {	# VENDOR FLAGS
	common
	f proc/cpuinfo "processor	: 0
vendor_id	: $1
model name	: a CPU
flags		: fpu lm constant_tsc nonstop_tsc $2"
	f sys/devices/system/clocksource/clocksource0/current_clocksource tsc
}
pt() {
	f sys/bus/event_source/devices/intel_pt/type 8
	f sys/bus/event_source/devices/intel_pt/caps/psb_cyc 1
	f sys/bus/event_source/devices/intel_pt/caps/mtc 1
	f sys/bus/event_source/devices/intel_pt/caps/ptwrite 0
	f sys/bus/event_source/devices/intel_pt/nr_addr_filters 2
}
arm() {
	common
	f proc/cpuinfo 'processor	: 0
CPU implementer	: 0x41
CPU architecture: 8
CPU part	: 0xd08'
	f sys/devices/system/clocksource/clocksource0/current_clocksource arch_sys_counter
}
# NODE COMPATIBLE [STATUS]: properties end with a zero
dt() {
	mkdir -p "$D/proc/device-tree/$1"
	printf '%s\000arm,primecell\000' "$2" >"$D/proc/device-tree/$1/compatible"
	[ -z "$3" ] || printf '%s\000' "$3" >"$D/proc/device-tree/$1/status"
}
look() {
	"$HWT" doctor --jsonl "$D" >"$TMP/j" 2>"$TMP/err"
	rc=$?
	[ $rc -le 1 ] || die "doctor: exit $rc: $(cat "$TMP/err")"
}
# WHAT VERDICT MEMBER WORDS: of the tree that was looked at last
is() {
	n=$((n + 1))
	line=$(grep -F "\"what\":\"$1\"" "$TMP/j" | grep -F "\"verdict\":\"$2\"")
	[ "$(echo "$line" | grep -c .)" = 1 ] && echo "$line" | sed -n "s/.*\"$3\":\"\(\([^\"\\]\|\\\\.\)*\)\".*/\1/p" | grep -q -e "$4" ||
		die "not so: $*: $(cat "$TMP/j")"
}
n=0

x86 GenuineIntel 'hypervisor'
look
is 'Intel PT' no next 'on the host'
is counter yes found tsc
is tracefs yes found x86-tsc
is 'kernel code' yes found 'symbols: yes'
is 'kernel module' no next "linux-headers-$R"
is model yes next 'record --model'
grep -q CoreSight "$TMP/j" && die "CoreSight on x86"
# the headers are behind a link that is absolute, as Debian has it
mkdir -p "$D/lib/modules/$R" "$D/usr/src/headers"
ln -s /usr/src/headers "$D/lib/modules/$R/build"
look
is 'kernel module' no next 'linux-headers'
f usr/src/headers/Makefile
look
is 'kernel module' no next '^make kmod'
f sys/module/module/parameters/sig_enforce Y
look
is 'kernel module' no next 'sign '
f dev/hwtrace
look
is 'kernel module' yes next 'record -k'
x86 AuthenticAMD ''
look
is 'Intel PT' no why AuthenticAMD
x86 GenuineIntel ''
look
is 'Intel PT' no next firmware
x86 GenuineIntel 'intel_pt'
look
is 'Intel PT' no next 'PT is enabled at boot'
pt
look
is 'Intel PT' yes found 'cycle counts, MTC, 2 address filters'
is 'Intel PT' yes next 'hwtrace record -e intel_pt//'
is 'Intel PT' yes why 'not on hardware'
f sys/bus/event_source/devices/intel_pt/caps/psb_cyc 0
look
is 'Intel PT' yes found 'no cycle counts'
# perf records: its ring of trace is mapped behind that of records. A counter alone is none
maps() { printf '7f1200000000-7f1200081000 rw-s %s 00:0e 1031                       %s\n' "$2" "$3" >>"$D/proc/$1/maps"; }
f proc/811/comm perf
maps 811 00000000 'anon_inode:[perf_event]'
maps 811 00001000 /usr/lib/x
look
is 'Intel PT' yes found 'address filters$'
f proc/812/comm 'perf (x)'
maps 812 00081000 'anon_inode:[perf_event]'
look
is 'Intel PT' yes found 'address filters; in use by perf now: process 812 (perf (x))$'
for i in 1 2 3; do mkdir -p "$D/proc/$i" && maps $i 00081000 'anon_inode:[perf_event]'; done
look
is 'Intel PT' yes found 'in use by perf now: process .* and more$'
rm -r "$D/proc/1" "$D/proc/2" "$D/proc/3" "$D/proc/811" "$D/proc/812"
# a user without rights, as paranoid says; 3 and above are of Debian's kernel
for p in '-1 yes' '0 yes' '1 partly' '2 partly' '3 no' '4 no'; do
	f proc/sys/kernel/perf_event_paranoid "${p% *}"
	f proc/self/status 'CapEff:	0000000000000000'
	look
	is 'Intel PT' "${p#* }" what PT
	[ "${p% *}" = -1 ] || is perf no why CAP_PERFMON
done
is 'Intel PT' no next 'perf_event_paranoid=2'
f proc/self/status 'CapEff:	0000004000000000'	# CAP_PERFMON is 38
look
is 'Intel PT' yes what PT
is perf yes found 'may record all'
rm "$D/proc/self/status"
f sys/kernel/security/lockdown 'none integrity [confidentiality]'
look
is 'Intel PT' partly why 'locked down'
is tracefs no why 'locked down'
is perf no why 'locked down'
is 'kernel module' no why 'signed modules'
f sys/kernel/security/lockdown 'none [integrity] confidentiality'
look
is tracefs yes found tracing
is 'kernel module' no why 'signed modules'
# tracefs: not mounted, not in this kernel
rm -r "$D/sys/kernel/tracing"
look
is tracefs no next 'mount -t tracefs'
f proc/filesystems 'nodev	proc'
look
is tracefs no next CONFIG_FTRACE
f sys/kernel/debug/tracing/trace_clock '[local] x86-tsc'
look
is tracefs yes found debug/tracing
# stepping
for s in '0 yes' '1 yes' '2 yes' '3 no'; do	# root
	f proc/sys/kernel/yama/ptrace_scope "${s% *}"
	look
	is model "${s#* }" what model
done
for s in '0 yes' '1 partly' '2 no' '3 no'; do
	f proc/self/status 'CapEff:	0000000000000000'
	f proc/sys/kernel/yama/ptrace_scope "${s% *}"
	look
	is model "${s#* }" what model
done
# the counter
f sys/devices/system/clocksource/clocksource0/current_clocksource hpet
look
is counter partly next tsc=reliable
f proc/cpuinfo 'vendor_id	: GenuineIntel
flags		: fpu lm'
look
is counter no why 'not known to run'
f proc/kallsyms '0000000000000000 T startup_64'
look
is 'kernel code' partly found 'symbols: no'
# nothing at all
rm -rf "$D"
mkdir "$D"
look
[ $rc = 1 ] && grep -q 'nothing can be recorded' "$TMP/err" || die "an empty tree: exit $rc"

arm
look
is CoreSight no why 'neither device tree nor ACPI'
is counter yes why 'timestamps are that counter only'
grep -q 'Intel PT' "$TMP/j" && die "Intel PT on arm64"
for i in 0 1 2 3; do dt soc/etm@2204000$i arm,coresight-etm4x; done
dt soc/etr@20070000 arm,coresight-tmc
dt soc/funnel@20040000 arm,coresight-dynamic-funnel
dt soc/uart@7ff80000 arm,pl011
dt soc/funnel-of-others fancy,funnel
look
is CoreSight no found '^4 ETMs, 1 ETR, 1 funnel in'
is CoreSight no next CONFIG_CORESIGHT
f lib/modules/$R/modules.builtin 'kernel/drivers/hwtracing/coresight/coresight.ko'
look
is CoreSight no next dmesg
f lib/modules/$R/modules.dep "$(seq 3000)
kernel/drivers/hwtracing/coresight/coresight-etm4x.ko: kernel/drivers/hwtracing/coresight/coresight.ko"
look
is CoreSight no next 'modprobe -a coresight-etm4x'
for i in soc/etm@22040000 soc/etm@22040001 soc/etm@22040002 soc/etm@22040003 soc/etr@20070000 soc/funnel@20040000; do
	printf 'disabled\000' >"$D/proc/device-tree/$i/status"
done
look
is CoreSight no why 'disabled there'
for i in 0 1 2 3; do
	mkdir -p "$D/sys/bus/coresight/devices/etm$i/mgmt" "$D/sys/bus/coresight/devices/etm$i/trcidr"
	f sys/bus/coresight/devices/etm$i/mgmt/trcpdsr 0x0
	f sys/bus/coresight/devices/etm$i/trcidr/trcidr0 0x0
done
look
is CoreSight no why 'nowhere to go'
for i in tmc_etf0 tmc_etr0 funnel0 cti_cpu0; do mkdir "$D/sys/bus/coresight/devices/$i"; done
look
is CoreSight no why 'no cs_etm'
f sys/bus/event_source/devices/cs_etm/type 9
look
is CoreSight yes found '^4 ETMs, 1 ETR, 1 ETF, 1 funnel, 1 other'
is CoreSight yes next 'hwtrace record -e cs_etm/@tmc_etr0/'
is CoreSight yes why 'not on hardware'
python3 - "$HWT" "$D" <<'PY' || die "a file was opened behind which there is a register"
import ctypes, glob, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
watch = lambda p: libc.inotify_add_watch(fd, p.encode(), 0x20)	# IN_OPEN
for p in glob.glob(sys.argv[2] + '/sys/bus/coresight/devices/etm*/*/*'):
    assert watch(p) > 0
subprocess.run([sys.argv[1], 'doctor', sys.argv[2]], stdout=subprocess.DEVNULL, check=True)
try:
    sys.exit(len(os.read(fd, 4096)) > 0)
except BlockingIOError:
    pass
assert watch(sys.argv[2] + '/proc/cpuinfo') > 0	# the watch itself sees what is opened
subprocess.run([sys.argv[1], 'doctor', sys.argv[2]], stdout=subprocess.DEVNULL, check=True)
sys.exit(len(os.read(fd, 4096)) == 0)
PY
rm -r "$D/sys/bus/coresight/devices/etm3"
look
is CoreSight partly why '3 of 4 CPUs'
rm -r "$D/sys/bus/coresight/devices/"etm?
look
is CoreSight no why 'no trace source'
mkdir -p "$D/sys/bus/coresight/devices/ete0" "$D/sys/bus/coresight/devices/trbe0"
rm -r "$D/sys/bus/coresight/devices/tmc_etr0" "$D/sys/bus/coresight/devices/tmc_etf0"
f sys/devices/system/cpu/online 0
look
is CoreSight yes next 'hwtrace record -e cs_etm/@trbe0/'
is 'ETE and TRBE' partly found '^1 ETE, 1 TRBE'
is 'ETE and TRBE' partly why 'simulation only'
arm
look
is 'ETE and TRBE' no why 'tells of no trace unit by system registers'
for i in 0 1; do dt ete$i arm,embedded-trace-extension; done
dt trbe arm,trace-buffer-extension
look
is 'ETE and TRBE' no found '^2 ETEs, TRBE in the device tree'
is 'ETE and TRBE' no next 'coresight-trbe'
f dev/hwtrace
look
is 'ETE and TRBE' partly next 'record -e cs_etm// --via module -a'
is 'ETE and TRBE' partly why 'simulation only'
is 'kernel module' yes why 'simulation only'
for i in ete0 ete1 trbe; do printf 'disabled\000' >"$D/proc/device-tree/$i/status"; done
look
is 'ETE and TRBE' no why 'disabled'
arm
mkdir -p "$D/sys/bus/acpi/devices/ARMHC500:00" "$D/sys/bus/acpi/devices/ARMHC97C:00"
look
is CoreSight no found '^1 ETM, 1 ETF in the firmware.s description (ACPI, which Linux. own drivers follow; the kernel module needs a device tree, or param'
for i in 501 985 98D 9FE 9FF 9CA; do mkdir "$D/sys/bus/acpi/devices/ARMHC$i:00"; done
look
is CoreSight no found '^1 ETM, 1 ETR, 1 ETF, 2 funnels, 2 replicators, 1 other device in'
is CoreSight no next CONFIG_CORESIGHT
# a tree that leads out of itself, or is deep and wide
ln -sf /../../../etc/passwd "$D/proc/cpuinfo"
look
ln -s .. "$D/proc/device-tree"
look
rm "$D/proc/device-tree"
python3 -c 'import os, sys; os.makedirs(sys.argv[1] + "/proc/device-tree/" + "/".join(["n" * 200] * 15))' "$D"
look
head -c 300000 /dev/urandom >"$D/proc/kallsyms"
rm "$D/proc/cpuinfo"
head -c 300000 /dev/urandom >"$D/proc/cpuinfo"
look
"$HWT" doctor "$TMP/nowhere" >/dev/null 2>"$TMP/err"
[ $? = 3 ] && grep -q 'nowhere.*E001' "$TMP/err" || die "no directory: $(cat "$TMP/err")"

# this machine: what is said is what happens, as this user and as one without rights
of() {	# WHAT MEMBER
	python3 -c 'import json, sys; print([o[sys.argv[3]] for o in json.load(open(sys.argv[1])) if o.get("what") == sys.argv[2]][0])' "$TMP/j" "$@"
}
yes_no() { of "$1" verdict; }
next() { of "$1" next; }
agrees() {	# WHO WHAT CODE: whether a verdict fits what happened
	case "$(yes_no "$2") $3" in "yes 0"|"partly 0"|"no "[1-9]*) ;; *) die "$1: $2 is $(yes_no "$2"), but it ended with $3" ;; esac
}
chmod 755 "$TMP"
mkdir "$TMP/u" && chmod 777 "$TMP/u"
cp "$HWT" "$TMP/u/hwtrace" && chmod 755 "$TMP/u/hwtrace"
who() {	# NAME [COMMAND...]
	name=$1
	shift
	(cd "$TMP/u" && "$@" ./hwtrace doctor --json) >"$TMP/j" 2>"$TMP/err"
	[ $? -le 1 ] || die "$name: $(cat "$TMP/err")"
	(cd "$TMP/u" && rm -rf true.hwt && "$@" ./hwtrace record --model -q --no-kernel -- /bin/true) >/dev/null 2>&1
	agrees "$name" model $?
	i=/sys/kernel/tracing/instances/hwtrace-doctor.$$
	"$@" mkdir $i 2>/dev/null
	rc=$?
	rmdir $i 2>/dev/null
	agrees "$name" tracefs $rc
	# what it says to do next is done
	if [ $rc = 0 ]; then
		(cd "$TMP/u" && eval "\"\$@\" ./$(next tracefs) -q -o k.hwt" && ./hwtrace timeline -q k.hwt | grep -q sched.switch) >"$TMP/o" 2>&1 ||
			die "$name: $(next tracefs): $(cat "$TMP/o")"
	fi
	if command -v perf >/dev/null; then
		(cd "$TMP/u" && "$@" perf record -q -o p.data -e sched:sched_switch -- /bin/true) >/dev/null 2>&1
		agrees "$name" perf $?
		# what still works without it works
		if [ "$(yes_no perf)" = no ] && [ -n "$(of perf works)" ]; then
			(cd "$TMP/u" && "$@" ./hwtrace record -q -k 'sched.*' -o w.hwt -- /bin/true && ./hwtrace timeline -q w.hwt |
				grep -q sched.switch) >"$TMP/o" 2>&1 || die "$name: $(of perf works): $(cat "$TMP/o")"
		fi
		rm -f "$TMP/u/p.data"
	fi
}
who "this user" env
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	who nobody setpriv --reuid 65534 --regid 65534 --clear-groups
else
	echo "# left out: a user without rights can not be had here"
fi
echo "# $n verdicts on trees of other machines; here model, tracefs and perf as they are"
