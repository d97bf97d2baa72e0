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
OPT       ?= -O2 -g
CFLAGS    ?=
HWT_CFLAGS = $(SYSFLAGS) -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=default -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Iinclude -I. \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(CFLAGS)
HWT_LDFLAGS = $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
# libipt and OpenCSD ship no usable .pc file in Debian 12; libstdc++ gives the C++ demangler
LIBS       = $(HAVE_IPT) -lopencsd_c_api -lopencsd $(shell $(PKG_CONFIG) --libs $(PKGS)) -lstdc++ -lm -lpthread

# libipt exists for x86 only; without it (or with HAVE_IPT= given) there is no Intel PT flow, and the tool says so
ifeq ($(origin HAVE_IPT),undefined)
HAVE_IPT  := $(shell $(CC) $(SYSFLAGS) -include intel-pt.h -E -x c /dev/null >/dev/null 2>&1 && echo -lipt)
endif
IPT_SRC   := $(addprefix decoders/flow/,flow_ipt.c ipt_block.c ipt_event.c ipt_hole.c ipt_image.c ipt_lib.c ipt_pass.c ipt_put.c)
LIB_SRC   := $(filter-out $(if $(HAVE_IPT),decoders/flow/flow_ipt_none.c,$(IPT_SRC)), \
	$(sort $(wildcard hwtrace/*/*.c decoders/*/*.c correlate/*.c correlate/*/*.c)))
CLI_SRC   := $(sort $(wildcard cli/*.c cli/out/*.c))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
UNIT_SRC  := $(sort $(shell find tests/unit -name 'test_*.c' 2>/dev/null))
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
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
TOOL_BIN  := $(patsubst %.c,$(O)/%,$(TOOL_SRC))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help all lib cli deps unit check check-all check-arm64 san-bins cover cover-bins check-damage damage-long fuzz fuzzers bench demo install uninstall clean layers analyze style FORCE

all: lib cli

help:
	@printf '%s\n' \
		'make all        library and tool in $(O) (also: lib, cli)' \
		'make demo       installs what is missing, builds, decodes a capture of this project' \
		'make check      installs what is missing, builds, runs all tests, also sanitized' \
		'make unit       unit tests only' \
		'make check-arm64  cross build, unit tests under qemu-user' \
		'make fuzz       RUNS=$(RUNS) executions of each fuzz target; TARGETS="pt elf" for some' \
		'make check-damage  damage by the rule: all bytes of files up to 2 KiB, 500 of larger ones' \
		'make damage-long  every byte of the small inputs damaged: an hour' \
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

$(SUPPORT_LIB): $(call obj,$(SUPPORT_SRC))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/libhwtrace.so.$(SOVERSION): $(LIB_OBJ) hwtrace/libhwtrace.map
	$(call say,LD,$@)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -shared -Wl,-soname,libhwtrace.so.$(SOVERSION) \
		-Wl,--version-script=hwtrace/libhwtrace.map -o $@ $(LIB_OBJ) $(LIBS)

# anew each time: it depends on PREFIX
$(O)/libhwtrace.pc: hwtrace/libhwtrace.pc.in include/hwtrace/hwtrace.h FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@PKGS@|$(PKGS)|' $< > $@

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

$(O)/tests/tools/%: $(O)/obj/tests/tools/%.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

# replay driver: a fuzz target is an ordinary test of its corpus
$(O)/tests/fuzz/fuzz_%: $(O)/obj/tests/fuzz/fuzz_%.o $(O)/obj/tests/fuzz/driver.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -o $@ $< $(O)/obj/tests/fuzz/driver.o $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

deps:
	@sh tests/deps.sh

unit: $(UNIT_BIN)
	@EMU='$(EMU)' sh tests/run.sh $(UNIT_BIN)

# the unit tests of a cross build, run under user-mode emulation
check-arm64: deps
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- all unit

check: deps
	@$(MAKE) --no-print-directory O=$(O) check-all

# the sanitized build runs the unit tests and the corpora again, and is what the damage test decodes with
SAN_O     := $(O)/san
# without those that only ask a peer about input that other tests give to the same code
SAN_UNIT  := $(filter-out %/test_insn_objdump %/test_perf_peer,$(UNIT_BIN))
check-all: all $(O)/hwtrace-shared layers style $(UNIT_BIN) $(FUZZ_BIN) $(TOOL_BIN)
	@$(MAKE) --no-print-directory O=$(SAN_O) SAN=address,undefined san-bins
	@O=$(O) SAN_O=$(SAN_O) sh tests/run.sh $(UNIT_BIN) $(FUZZ_BIN) \
		$(patsubst $(O)/%,$(SAN_O)/%,$(SAN_UNIT) $(FUZZ_BIN)) $(sort $(wildcard tests/golden/*.sh))

san-bins: $(SAN_UNIT) $(FUZZ_BIN) $(O)/tests/tools/damage $(O)/hwtrace

layers:
	@sh tests/layers.sh

style:
	@sh tests/style.sh

demo: deps
	@$(MAKE) --no-print-directory O=$(O) cli
	@HWTRACE=$(O)/hwtrace sh fixtures/demo.sh

# all offsets of small inputs, many of large ones: an hour of CPU
# every input by the rule; "make check" takes fewer places of those that take long
check-damage: deps $(O)/hwtrace
	@$(MAKE) --no-print-directory O=$(SAN_O) SAN=address,undefined $(SAN_O)/tests/tools/damage
	@RULE=1 O=$(O) SAN_O=$(SAN_O) sh tests/golden/damage.sh

damage-long: deps $(O)/hwtrace
	@$(MAKE) --no-print-directory O=$(SAN_O) SAN=address,undefined $(SAN_O)/tests/tools/damage
	@LONG=1 O=$(O) SAN_O=$(SAN_O) sh tests/golden/damage.sh

# each target RUNS times under libFuzzer with sanitizers; TARGETS="pt elf" for some of them
RUNS      ?= 1000000
fuzz: deps
	@RUNS=$(RUNS) TARGETS="$(TARGETS)" sh tests/fuzz/run.sh

FUZZER_BIN := $(patsubst tests/fuzz/%.c,$(O)/fuzzers/%,$(FUZZ_SRC))
fuzzers: $(FUZZER_BIN)
$(O)/fuzzers/%: $(O)/obj/tests/fuzz/%.o $(SUPPORT_LIB) $(O)/libhwtrace.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HWT_CFLAGS) $(HWT_LDFLAGS) -fsanitize=fuzzer -o $@ $< $(SUPPORT_LIB) $(O)/libhwtrace.a $(LIBS) -lcmocka

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
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/hwtrace \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(O)/hwtrace $(DESTDIR)$(PREFIX)/bin/hwtrace
	install -m 644 $(O)/libhwtrace.a $(DESTDIR)$(LIBDIR)/libhwtrace.a
	install -m 755 $(O)/libhwtrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libhwtrace.so.$(SOVERSION)
	ln -sf libhwtrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libhwtrace.so
	install -m 644 $(O)/libhwtrace.pc $(DESTDIR)$(LIBDIR)/pkgconfig/libhwtrace.pc
	install -m 644 include/hwtrace/*.h $(DESTDIR)$(PREFIX)/include/hwtrace/
	$(if $(MAN),install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1/)
	$(if $(MAN5),install -m 644 $(MAN5) $(DESTDIR)$(PREFIX)/share/man/man5/)
	$(if $(wildcard cli/completion/hwtrace.bash),install -m 644 cli/completion/hwtrace.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hwtrace)
	$(if $(wildcard cli/completion/_hwtrace),install -m 644 cli/completion/_hwtrace $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hwtrace)
	$(if $(wildcard cli/completion/hwtrace.fish),install -m 644 cli/completion/hwtrace.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hwtrace.fish)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/hwtrace $(DESTDIR)$(LIBDIR)/libhwtrace.a $(DESTDIR)$(LIBDIR)/libhwtrace.so \
		$(DESTDIR)$(LIBDIR)/libhwtrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/pkgconfig/libhwtrace.pc \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN))) \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man5/,$(notdir $(MAN5))) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hwtrace \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hwtrace \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hwtrace.fish
	rm -rf $(DESTDIR)$(PREFIX)/include/hwtrace

clean:
	rm -rf build

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CLI_OBJ) $(call obj,$(SUPPORT_SRC))) $(patsubst %.c,$(O)/obj/%.d,$(UNIT_SRC) $(FUZZ_SRC) $(BENCH_SRC) $(TOOL_SRC) tests/fuzz/driver.c)
