# SPDX-License-Identifier: BSD-2-Clause
# One non-recursive makefile: sources are found by wildcard, objects mirror the tree under $(O).

CC        ?= cc
ifeq ($(origin CC),default)
CC        := $(CROSS_COMPILE)gcc
endif
AR        := $(CROSS_COMPILE)ar
TRIPLET   := $(patsubst %-,%,$(CROSS_COMPILE))
# a cross build finds its libraries in an unpacked package tree; for arm64 it is made on the way
SYSROOT   ?= $(if $(TRIPLET),build/$(TRIPLET)-sysroot)
PKG_CONFIG ?= $(if $(SYSROOT),PKG_CONFIG_SYSROOT_DIR=$(abspath $(SYSROOT)) \
	PKG_CONFIG_LIBDIR=$(abspath $(SYSROOT))/usr/lib/$(TRIPLET)/pkgconfig:$(abspath $(SYSROOT))/usr/share/pkgconfig) pkg-config
SYSFLAGS  := $(if $(SYSROOT),--sysroot=$(abspath $(SYSROOT)) -L$(abspath $(SYSROOT))/usr/lib/gcc/$(TRIPLET)/12)
EMU       ?= $(if $(TRIPLET),qemu-$(firstword $(subst -, ,$(TRIPLET))) -L $(abspath $(SYSROOT)))
PREFIX    ?= /usr/local
LIBDIR    ?= $(PREFIX)/lib
DESTDIR   ?=
SAN       ?=
V         ?= 0
comma     := ,
O         ?= build$(if $(TRIPLET),/$(TRIPLET))$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
VERSION   := $(shell sed -n 's/.*HWT_VERSION "\(.*\)"/\1/p' include/hwtrace/hwtrace.h)
SOVERSION := 0

ifeq ($(V),0)
Q := @
say = @printf '  %-6s %s\n' $(1) $(2)
else
Q :=
say = @:
endif

PKGS      := libelf libdw capstone libzstd zlib libtraceevent
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
# sanitized code takes twice as long to compile with -O2, and finds the same; of truncation -O1 knows too little to warn
OPT       ?= $(if $(SAN),-O1,-O2) -g
CFLAGS    ?=
HWT_CFLAGS = $(SYSFLAGS) -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=default -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Iinclude -I. \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-format-truncation) $(CFLAGS)
HWT_LDFLAGS = $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
# libipt and OpenCSD ship no usable .pc file in Debian 12; libstdc++ gives the C++ demangler
LIBS       = $(HAVE_IPT) $(HAVE_BT2) -lopencsd_c_api -lopencsd $(shell $(PKG_CONFIG) --libs $(PKGS)) -lstdc++ -lm -lpthread

# libipt exists for x86 only; without it (or with HAVE_IPT= given) there is no Intel PT flow, and the tool says so
ifeq ($(origin HAVE_IPT),undefined)
HAVE_IPT  := $(shell $(CC) $(SYSFLAGS) -include intel-pt.h -E -x c /dev/null >/dev/null 2>&1 && echo -lipt)
endif
IPT_SRC   := $(addprefix decoders/flow/,flow_ipt.c ipt_block.c ipt_event.c ipt_hole.c ipt_image.c ipt_lib.c ipt_pass.c ipt_put.c)
# libbabeltrace2 reads CTF of others; without it (or with HAVE_BT2= given) there is none, and the tool says so
ifeq ($(origin HAVE_BT2),undefined)
HAVE_BT2  := $(shell $(PKG_CONFIG) --libs babeltrace2 2>/dev/null)
endif
BT2_SRC   := $(addprefix hwtrace/source/,ctf_lib.c ctf_merge.c ctf_put.c)
LIB_SRC   := $(filter-out $(if $(HAVE_IPT),decoders/flow/flow_ipt_none.c,$(IPT_SRC)) \
	$(if $(HAVE_BT2),hwtrace/source/ctf_lib_none.c,$(BT2_SRC)), \
	$(sort $(wildcard hwtrace/*/*.c decoders/*/*.c correlate/*.c correlate/*/*.c)))
CLI_SRC   := $(sort $(wildcard cli/*.c cli/out/*.c))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c tests/model/*.c))
# what of the kernel module programs trace units: it runs against the models
PROG_SRC  := $(sort $(wildcard kmod/*_prog.c kmod/pt_caps.c kmod/etm4_config.c kmod/csunit.c))
UNIT_SRC  := $(sort $(shell find tests/unit -name 'test_*.c' 2>/dev/null))
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
PROP_SRC  := $(filter-out tests/prop/sim.c,$(sort $(wildcard tests/prop/*.c)))
TOOL_SRC  := $(sort $(wildcard tests/tools/*.c))

# objects have a folder of their own: "hwtrace" is both a source folder and the tool
obj        = $(patsubst %.c,$(O)/obj/%.o,$(1))
LIB_OBJ   := $(call obj,$(LIB_SRC))
CLI_OBJ   := $(call obj,$(CLI_SRC))
# an archive: a test that replaces a function of the library must not pull in helpers that need it
SUPPORT_LIB := $(O)/libsupport.a
UNIT_BIN  := $(patsubst %.c,$(O)/%,$(UNIT_SRC))
FUZZ_BIN  := $(patsubst %.c,$(O)/%,$(FUZZ_SRC))
BENCH_BIN := $(patsubst %.c,$(O)/%,$(BENCH_SRC))
PROP_BIN  := $(patsubst %.c,$(O)/%,$(PROP_SRC))
TOOL_BIN  := $(patsubst %.c,$(O)/%,$(TOOL_SRC))

.DELETE_ON_ERROR:
.SECONDARY:
ORACLE    := $(O)/tests/oracle/oracle $(O)/tests/oracle/plugin.so $(O)/tests/oracle/fault/fault $(O)/tests/oracle/length/length
.PHONY: help all lib cli deps unit check check-all check-arm64 check-kernel guests-arm64 guests-x86_64 check-kernel-long check-kernel-patched check-kernel-debug bench-kernel check-record-arm64 check-spin kmod san-bins cover cover-bins damage-long fault-long oracle-long anchor-long bench-align fuzz fuzzers bench demo install uninstall clean layers analyze style FORCE

all: lib cli

help:
	@printf '%s\n' \
		'make all        library and tool in $(O) (also: lib, cli)' \
		'make demo       installs what is missing, builds, records a small program and looks at it' \
		'make check      installs what is missing, builds, runs all tests, also sanitized' \
		'make unit       unit tests only' \
		'make check-arm64  cross build, unit tests under qemu-user' \
		'make check-record-arm64  the recorder on an arm64 kernel, in a virtual machine' \
		'make kmod       the kernel module, $(O)/kmod/hwtrace.ko, for the kernel of this machine or KDIR=' \
		'make check-kernel  whole guests, kernel and programs, through the software trace units and back; the kernel module' \
		'make check-kernel-long  the kernel module for long: overload, in and out, CPUs, power cuts, filters, random requests; PART="cpus stops"' \
		'make check-kernel-patched  a kernel that rewrites its code while it is traced; in tests/oracle/guest/ it does not hold yet' \
		'make bench-kernel  instructions that a record of the kernel module takes, beside LTTng' \
		'make check-kernel-debug  the kernel module in a kernel that looks for mistakes, built here, and in a real-time one: an hour' \
		'make check-spin  a model of the kernel module'"'"'s ring, all its states: minutes; needs spin' \
		'make fuzz       RUNS=$(RUNS) executions of each fuzz target; TARGETS="pt elf" for some' \
		'make fault-long  10^5 faults put into traces that are right' \
		'make oracle-long  10^8 branches of real programs through the software trace units and back' \
		'make bench-align  how well records are put to the instructions that wrote them' \
		'make anchor-long  10^6 anchors of simulated CPUs against the truth' \
		'make damage-long  every byte of the inputs damaged: two hours of CPU; goes on where it was stopped' \
		'make cover      line coverage of the parsers' \
		'make bench      CPU time and memory against other tools' \
		'make install    to PREFIX ($(PREFIX)), under DESTDIR; uninstall takes it away' \
		'make layers style analyze   checks of the source' \
		'make clean' \
		'Variables: O, PREFIX, DESTDIR, SAN=address,undefined, CROSS_COMPILE, CC, CFLAGS, V=1'

lib: $(O)/libhwtrace.a $(O)/libhwtrace.so.$(SOVERSION) $(O)/libhwtrace.pc

cli: $(O)/hwtrace

# flags are part of every object's inputs: a change of CFLAGS rebuilds
FLAGS_NOW = $(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(O)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@

$(O)/obj/%.o: %.c $(O)/flags | $(if $(SYSROOT),$(SYSROOT)/.done)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) -MMD -MP -c -o $@ $<

build/aarch64-linux-gnu-sysroot/.done:
	sh tests/arm64-sysroot.sh build/aarch64-linux-gnu-sysroot

$(O)/libhwtrace.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(SUPPORT_LIB): $(call obj,$(SUPPORT_SRC) $(PROG_SRC))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/libhwtrace.so.$(SOVERSION): $(LIB_OBJ) hwtrace/libhwtrace.map
	$(call say,LD,$@)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -shared -Wl,-soname,libhwtrace.so.$(SOVERSION) \
		-Wl,--version-script=hwtrace/libhwtrace.map -o $@ $(LIB_OBJ) $(LIBS)

# anew each time: it depends on PREFIX
$(O)/libhwtrace.pc: hwtrace/libhwtrace.pc.in include/hwtrace/hwtrace.h FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@PKGS@|$(PKGS)|' -e 's|@BT2@|$(HAVE_BT2)|' $< > $@

$(O)/hwtrace: $(CLI_OBJ) $(O)/libhwtrace.a
	$(call say,LD,$@)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $(CLI_OBJ) $(O)/libhwtrace.a $(LIBS)

# the same tool against the shared library: proves that cli/ needs nothing but the public API
$(O)/hwtrace-shared: $(CLI_OBJ) $(O)/libhwtrace.so.$(SOVERSION)
	$(call say,LD,$@)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $(CLI_OBJ) $(O)/libhwtrace.so.$(SOVERSION) -Wl,-rpath,'$$ORIGIN'

$(O)/tests/unit/%: $(O)/obj/tests/unit/%.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

# the tool's own parts, without its main()
$(O)/cli.a: $(filter-out $(O)/obj/cli/main.o,$(CLI_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/tests/unit/cli/%: $(O)/obj/tests/unit/cli/%.o $(SUPPORT_LIB) $(O)/cli.a $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(SUPPORT_LIB) $(O)/cli.a $(O)/libhwtrace.a $(LIBS) -lcmocka

$(O)/tests/bench/%: $(O)/obj/tests/bench/%.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

$(O)/tests/prop/%: $(O)/obj/tests/prop/%.o $(O)/obj/tests/prop/sim.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(O)/obj/tests/prop/sim.o $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

$(O)/tests/tools/%: $(O)/obj/tests/tools/%.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

# what the truth is made with: the emulator's plugin, which stands alone, and the comparing program
RECORDER  := tests/oracle/recorder.c tests/oracle/recorder.h tests/oracle/qemu_plugin.h tests/oracle/rec_format.h
$(O)/tests/oracle/plugin.so $(O)/tests/oracle/guest/plugin.so: $(O)/%.so: %.c $(RECORDER) $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) -fPIC -fvisibility=hidden -shared -D_GNU_SOURCE -Iinclude -I. -o $@ \
		$(filter %.c,$^) -ldl -lpthread

$(O)/tests/oracle/oracle: $(call obj,$(filter-out %/plugin.c %/recorder.c,$(wildcard tests/oracle/*.c))) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/tests/oracle/fault/fault: $(call obj,$(wildcard tests/oracle/fault/*.c) \
		$(addprefix tests/oracle/,rec.c rows.c truth.c)) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/tests/oracle/guest/guest: $(call obj,tests/oracle/guest/guest.c tests/oracle/guest/code.c \
		$(addprefix tests/oracle/,code.c encode.c rec.c rows.c truth.c)) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/tests/oracle/whole/whole: $(call obj,$(wildcard tests/oracle/whole/[!s]*.c) tests/oracle/guest/code.c \
		$(addprefix tests/oracle/,rec.c truth.c)) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/tests/oracle/opinion/opinion: $(call obj,$(wildcard tests/oracle/opinion/*.c) \
		$(addprefix tests/oracle/,code.c encode.c rec.c rows.c truth.c)) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/tests/oracle/length/length: $(call obj,tests/oracle/length/length.c \
		$(addprefix tests/oracle/,code.c encode.c rec.c rows.c truth.c)) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $^ $(LIBS)

# replay driver: a fuzz target is an ordinary test of its corpus
$(O)/tests/fuzz/fuzz_%: $(O)/obj/tests/fuzz/fuzz_%.o $(O)/obj/tests/fuzz/driver.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(O)/obj/tests/fuzz/driver.o $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

deps:
	@sh tests/deps.sh

unit: $(UNIT_BIN)
	@EMU='$(EMU)' sh tests/run.sh $(UNIT_BIN)

# the recorder on an arm64 kernel, in a virtual machine: minutes, and 20 MB of packages
check-record-arm64: deps
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- all
	@sh tests/record-arm64.sh || [ $$? = 77 ]

# what ran in guests of two CPUs; without packages or QEMU it is skipped, and the reason is printed
GUESTS    := $(sort $(wildcard tests/oracle/guest/check-*.sh tests/oracle/whole/check-*.sh tests/kernel/module-*.sh tests/kernel/doctor.sh))
check-kernel: deps
	@sh tests/deps.sh kernel || true
	@$(MAKE) --no-print-directory O=$(O) $(O)/tests/oracle/guest/guest \
		$(O)/tests/oracle/guest/plugin.so $(O)/tests/oracle/whole/whole cli
	@# the tool that records in guests of arm64; what needs it skips where it can not be built
	-@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- O=$(O)/aarch64-linux-gnu cli
	@$(MAKE) --no-print-directory -k $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2) O=$(O) guests-arm64 guests-x86_64

# those of one architecture share what they build, so they run one after another, beside those of the other
GUESTS_ARM64 := $(foreach g,$(GUESTS),$(if $(findstring aarch64,$(g))$(findstring coresight,$(g)),$(g)))
guests-arm64:
	@JOBS=1 SKIP_OK=1 O=$(O) sh tests/run.sh $(GUESTS_ARM64)
guests-x86_64:
	@JOBS=1 SKIP_OK=1 O=$(O) sh tests/run.sh $(filter-out %-patched.sh $(GUESTS_ARM64),$(GUESTS))

# the kernel module for long: tests/kernel/long-*.sh, each with its number in the environment; PART="cpus stops" for some
PART      ?= $(patsubst tests/kernel/long-%.sh,%,$(sort $(wildcard tests/kernel/long-*.sh)))
check-kernel-long: deps
	@sh tests/deps.sh kernel || true
	@$(MAKE) --no-print-directory O=$(O) cli $(O)/tests/unit/kmod/test_filter
	@JOBS=1 O=$(O) sh tests/run.sh $(patsubst %,tests/kernel/long-%.sh,$(PART))

# a kernel that rewrites its code while it is traced
check-kernel-patched: deps
	@sh tests/deps.sh kernel || true
	@$(MAKE) --no-print-directory O=$(O) $(O)/tests/oracle/guest/guest $(O)/tests/oracle/guest/plugin.so $(O)/tests/oracle/whole/whole cli
	-@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- O=$(O)/aarch64-linux-gnu cli
	@JOBS=1 SKIP_OK=1 O=$(O) sh tests/run.sh $(filter %-patched.sh,$(GUESTS))

# instructions of a record, counted in a guest
bench-kernel: deps
	@sh tests/deps.sh kernel || true
	@$(MAKE) --no-print-directory O=$(O) $(O)/libhwtrace.a
	@O=$(O) sh tests/run.sh tests/kernel/cost/check.sh

# kernels that look for mistakes, or switch tasks wherever they can
check-kernel-debug: deps
	@sh tests/deps.sh kernel-debug || true
	@$(MAKE) --no-print-directory O=$(O) cli
	@JOBS=1 O=$(O) sh tests/run.sh $(sort $(wildcard tests/kernel/debug-x86_64*.sh))

# the kernel module, for this machine's kernel or that of KDIR
KDIR      ?= /lib/modules/$(shell uname -r)/build
kmod:
	@sh kmod/build.sh $(KDIR) $(O)/kmod $(if $(ARCH),ARCH=$(ARCH)) $(if $(CROSS_COMPILE),CROSS_COMPILE=$(CROSS_COMPILE) CC=$(CROSS_COMPILE)gcc)

# all states of the model of the kernel module's ring, and of twelve wrong ones
check-spin:
	@SKIP_OK=1 sh tests/run.sh tests/spin/check.sh

# the unit tests of a cross build, run under user-mode emulation
check-arm64: deps
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- all unit

check: deps
	@$(MAKE) --no-print-directory O=$(O) check-all

# the sanitized build runs the unit tests and the corpora again, and is what the damage test decodes with
SAN_O     := $(O)/san
# without those that only ask a peer about input that other tests give to the same code
SAN_UNIT  := $(filter-out %/test_insn_objdump %/test_perf_peer,$(UNIT_BIN))
check-all: all $(O)/hwtrace-shared layers style $(UNIT_BIN) $(PROP_BIN) $(FUZZ_BIN) $(TOOL_BIN) $(ORACLE)
	@$(MAKE) --no-print-directory O=$(SAN_O) SAN=address,undefined san-bins
	@O=$(O) SAN_O=$(SAN_O) sh tests/run.sh tests/golden/damage.sh $(UNIT_BIN) $(PROP_BIN) $(FUZZ_BIN) \
		$(patsubst $(O)/%,$(SAN_O)/%,$(SAN_UNIT) $(FUZZ_BIN)) $(sort $(filter-out %/damage.sh,$(wildcard tests/golden/*.sh)))

san-bins: $(SAN_UNIT) $(FUZZ_BIN) $(O)/tests/tools/damage $(O)/hwtrace

layers:
	@sh tests/layers.sh

style:
	@sh tests/style.sh

demo: deps
	@$(MAKE) --no-print-directory O=$(O) cli
	@HWTRACE=$(O)/hwtrace sh fixtures/demo.sh

# every byte of every input; goes on where it was stopped
damage-long: deps $(O)/hwtrace $(O)/tests/tools/mknative
	@$(MAKE) --no-print-directory O=$(SAN_O) SAN=address,undefined $(SAN_O)/tests/tools/damage
	@LONG=1 O=$(O) SAN_O=$(SAN_O) nice sh tests/golden/damage.sh

# how well records are put to their instructions: the figures of fixtures/align/expect.txt
bench-align: $(O)/tests/prop/align
	@$(O)/tests/prop/align -p

# 10^6 anchors that are called certain
anchor-long: $(O)/tests/prop/anchor
	@$(O)/tests/prop/anchor 1050000

# ten runs of other places and options; the tables are in $(O)/fault.log
fault-long: deps $(ORACLE)
	@rm -f $(O)/fault.log
	@LOG=$(O)/fault.log SEEDS="11 12 13 14 15 16 17 18 19 20" O=$(O) sh tests/golden/fault.sh

# 10^8 branches: programs of half a million blocks a thread; the log is $(O)/oracle.log
oracle-long: deps $(ORACLE)
	@rm -f $(O)/oracle.log
	@LOG=$(O)/oracle.log BLOCKS=500000 O=$(O) sh tests/golden/oracle.sh

# each target RUNS times under libFuzzer with sanitizers; TARGETS="pt elf" for some of them
RUNS      ?= 1000000
fuzz: deps
	@RUNS=$(RUNS) TARGETS="$(TARGETS)" sh tests/fuzz/run.sh

FUZZER_BIN := $(patsubst tests/fuzz/%.c,$(O)/fuzzers/%,$(FUZZ_SRC))
fuzzers: $(FUZZER_BIN)
$(O)/fuzzers/%: $(O)/obj/tests/fuzz/%.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -fsanitize=fuzzer -fsanitize-link-c++-runtime -o $@ $< $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

# line coverage of our own parsers by unit tests and fuzz corpora
cover: deps
	@$(MAKE) --no-print-directory O=$(O)/cover CFLAGS=--coverage OPT='-O0 -g' cover-bins
	@O=$(O)/cover sh tests/cover.sh

cover-bins: $(UNIT_BIN) $(FUZZ_BIN)

bench: all $(BENCH_BIN) $(TOOL_BIN)
	@O=$(O) sh tests/bench/run.sh

analyze:
	@command -v cppcheck >/dev/null || { echo 'analyze: cppcheck is not installed; try: apt-get install cppcheck' >&2; exit 2; }
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr --std=c11 -D__x86_64__ \
		-Iinclude -I. hwtrace decoders correlate cli

MAN       := $(sort $(wildcard cli/man/*.1))
MAN5      := $(sort $(wildcard cli/man/*.5))
MAN7      := $(sort $(wildcard cli/man/*.7))
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/hwtrace \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
		$(DESTDIR)$(PREFIX)/share/man/man7 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d \
		$(DESTDIR)$(PREFIX)/lib/udev/rules.d $(DESTDIR)$(PREFIX)/lib/sysusers.d
	install -m 644 kmod/60-hwtrace.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/60-hwtrace.rules
	install -m 644 kmod/hwtrace.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/hwtrace.conf
	install -m 755 $(O)/hwtrace $(DESTDIR)$(PREFIX)/bin/hwtrace
	install -m 644 $(O)/libhwtrace.a $(DESTDIR)$(LIBDIR)/libhwtrace.a
	install -m 755 $(O)/libhwtrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libhwtrace.so.$(SOVERSION)
	ln -sf libhwtrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libhwtrace.so
	install -m 644 $(O)/libhwtrace.pc $(DESTDIR)$(LIBDIR)/pkgconfig/libhwtrace.pc
	install -m 644 include/hwtrace/*.h include/hwtrace/*.def $(DESTDIR)$(PREFIX)/include/hwtrace/
	$(if $(MAN),install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1/)
	$(if $(MAN5),install -m 644 $(MAN5) $(DESTDIR)$(PREFIX)/share/man/man5/)
	$(if $(MAN7),install -m 644 $(MAN7) $(DESTDIR)$(PREFIX)/share/man/man7/)
	$(if $(wildcard cli/completion/hwtrace.bash),install -m 644 cli/completion/hwtrace.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hwtrace)
	$(if $(wildcard cli/completion/_hwtrace),install -m 644 cli/completion/_hwtrace $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hwtrace)
	$(if $(wildcard cli/completion/hwtrace.fish),install -m 644 cli/completion/hwtrace.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hwtrace.fish)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/hwtrace $(DESTDIR)$(LIBDIR)/libhwtrace.a $(DESTDIR)$(LIBDIR)/libhwtrace.so \
		$(DESTDIR)$(LIBDIR)/libhwtrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/pkgconfig/libhwtrace.pc \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN))) \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man5/,$(notdir $(MAN5))) \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man7/,$(notdir $(MAN7))) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hwtrace \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hwtrace \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hwtrace.fish \
		$(DESTDIR)$(PREFIX)/lib/udev/rules.d/60-hwtrace.rules $(DESTDIR)$(PREFIX)/lib/sysusers.d/hwtrace.conf
	rm -rf $(DESTDIR)$(PREFIX)/include/hwtrace

clean:
	rm -rf build

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CLI_OBJ) $(call obj,$(SUPPORT_SRC) $(PROG_SRC))) $(patsubst %.c,$(O)/obj/%.d,$(UNIT_SRC) $(FUZZ_SRC) $(BENCH_SRC) $(PROP_SRC) $(TOOL_SRC) tests/fuzz/driver.c tests/prop/sim.c \
	$(wildcard tests/oracle/*.c tests/oracle/*/*.c))
