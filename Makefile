# SPDX-License-Identifier: GPL-2.0
# `make help` lists the goals. Each directory's build.mk is a part of this file.

# The architecture to build for. ARCH=arm64 on another machine cross-compiles the library and
# the command into build/arm64: docs/arm64.md.
HOST_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
ifndef ARCH
ARCH := $(HOST_ARCH)
endif
override ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(ARCH)))
# The demo and the proof run on this machine; FOR is the architecture that they are about.
FOR := $(ARCH)
ifneq ($(filter demo demo-% prove,$(MAKECMDGOALS)),)
override ARCH := $(HOST_ARCH)
endif
ifneq ($(FOR),$(ARCH))
KREL ?= 6.1-arm64
endif
ifeq ($(ARCH),$(HOST_ARCH))
BUILD := build
CROSS :=
OBJCOPY ?= objcopy
else ifeq ($(ARCH),arm64)
BUILD := build/arm64
CROSS := aarch64-linux-gnu-
CC := $(CROSS)gcc
LD := $(CROSS)ld
AR := $(CROSS)ar
OBJCOPY := $(CROSS)objcopy
ifneq ($(filter-out lib cli lua-runtime clean build/arm64/%,$(or $(MAKECMDGOALS),all)),)
$(error ARCH=arm64 builds the goals lib, cli and lua-runtime only, not $(or $(MAKECMDGOALS),all): see docs/arm64.md)
endif
else
$(error ARCH is $(ARCH): x86 and arm64 are known, and only arm64 can be cross-compiled)
endif
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/bash -o pipefail

# tools/progress prints short lines of what is built; V=1 shows the commands, -s nothing.
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),,$(if $(Q),@printf '  %-8s%s\n' $(1) $(or $(2),$@)))
# Runs a command whose long output goes to a file; $(1) describes it.
quiet = $(if $(Q),tools/progress quiet '$(1)')

# The kernel that the module is built for. KREL is 6.1, 6.12, newest, debug or a
# release, whose tree is fetched; KERNEL is a kernel installed on this machine
# with its headers, so nothing is fetched (as for DKMS).
ifdef KERNEL
override KREL := $(KERNEL)
KDIR := /lib/modules/$(KERNEL)/build
else
# The default kernel, and the packages that tools/deps installs for it: make makes this
# file first, and restarts with it. PLAIN and LIGHT goals do not need it, and PLAIN ones
# no compiler; goals of the module need neither QEMU nor Python packages, and the demo
# needs fewer packages than the tests.
PLAIN := clean help help-all install install-% uninstall uninstall-%
LIGHT := $(PLAIN) lib cli build/cosy/cosy.so consolidate consolidate-calibrate cosy lua-runtime examples \
	dist deb test-deb test-newcomer build/arm64/%
HEAVY := $(filter-out $(LIGHT),$(or $(MAKECMDGOALS),all))
ifneq ($(filter-out all module module-deb demo demo-%,$(HEAVY)),)
include $(BUILD)/config.mk
else ifneq ($(filter demo demo-%,$(HEAVY)),)
include $(BUILD)/config-demo.mk
else ifneq ($(HEAVY),)
include $(BUILD)/config-module.mk
else ifneq ($(filter-out $(PLAIN),$(MAKECMDGOALS)),)
include $(BUILD)/deps/build$(if $(filter consolidate%,$(MAKECMDGOALS)),+consolidate)$(if $(CROSS),+$(ARCH)+clang).ready
endif
KREL ?= $(DEFAULT_KREL)
ifneq ($(filter 6.1 6.12 newest 6.1-arm64 6.12-arm64 newest-arm64,$(KREL)),)
override KREL := $(shell vm/kernels.py release $(KREL))
endif
KDIR := $(CURDIR)/$(BUILD)/kernels/$(KREL)/headers
endif
KTREE := $(BUILD)/kernels/$(KREL)
# SAFETY=kefence,evmon builds the module with tools of the safety kit, in its own directory.
comma := ,
KOUT := $(BUILD)/kernel-$(KREL)$(subst $(comma),+,$(SAFETY:%=+%))
KMODULE := $(KOUT)/syscript.ko
KMODULE_LUAJIT := $(KOUT)/syscript_luajit.ko

MATRIX := 6.1 6.12 newest

# A rule's needs on this machine, order only: a group of tools/deps, or GROUP+GROUP.
DEPS_READY := $(BUILD)/deps/%.ready
PINNED := requirements.txt vm/requirements.txt third_party/Cargo.lock
$(DEPS_READY): tools/deps $(PINNED)
	$(Q)tools/deps $(subst +, ,$*)
	@mkdir -p $(@D) && touch $@
.PRECIOUS: $(DEPS_READY)

# Third-party sources: fetched, or part of a release.
ifneq ($(wildcard vendor/luajit-src),)
VENDOR := vendor
VENDOR_READY :=
else
VENDOR := build/vendor
VENDOR_READY := $(BUILD)/deps/vendor.ready
endif

$(BUILD)/config-module.mk: private DEPS_GROUPS := build vendor kernel
# The demo's other packages are installed while it compiles, unless a question must be asked.
DEMO_GROUPS := guest clang memcached walks
$(BUILD)/config-demo.mk: private DEPS_GROUPS := build kernel \
	$(if $(filter 0,$(shell id -u)),,vendor $(DEMO_GROUPS))
$(addprefix $(BUILD)/config,.mk -module.mk -demo.mk): tools/deps $(PINNED)
	$(Q)tools/deps $(DEPS_GROUPS)
	@mkdir -p $(@D)
	$(Q)release=$$(vm/kernels.py release 6.1) && echo "DEFAULT_KREL := $$release" >$@

# A kernel's tree, to build against, and the compiler that built the kernel; the tree of
# the debug kernel is built here.
ifdef KERNEL
$(KTREE)/complete: ;
else
$(BUILD)/kernels/%/complete:
	$(call say,FETCH)
	$(Q)vm/kernels.py path $* >/dev/null

$(KMODULE) lint-module $(KOUT)/echo/echo.ko $(KOUT)/faults/faults.ko $(KOUT)/template/template.ko $(KOUT)/fakefreq/fakefreq.ko $(KOUT)/fail_nth/fail_nth.ko: private export CC = $(shell vm/kernels.py cc $(KREL))
endif

# Goals that only build: make runs itself under tools/progress, with as many jobs as there
# are CPUs unless -j is given.
GOALS := $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL))
BUILDING := all module lib cli consolidate consolidate-calibrate cosy lua-runtime examples \
	memcached busybox cpio walks nsd nsd-newest safety unit-programs guest-programs \
	demo-first demo-parts
one_of = $(strip $(foreach flag,$(1),$(findstring $(flag),$(firstword -$(MAKEFLAGS)))))
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell expr $$(nproc) + $(1)))
ifeq ($(PROGRESS)$(filter-out $(BUILDING),$(GOALS))$(filter 1,$(V))$(call one_of,n q s t),)
.PHONY: $(GOALS)
$(firstword $(GOALS)):
	@+tools/progress make $(MAKE) --no-print-directory $(call jobs,0) $(GOALS)
$(filter-out $(firstword $(GOALS)),$(GOALS)): $(firstword $(GOALS)) ;
else

include $(wildcard */build.mk */*/build.mk)

.PHONY: all module deps demo test test-unit test-vm test-matrix test-debug debug-kernel \
	fuzz fuzz-memory fuzz-jit fuzz-confined install lint clean help

##+all            build the command, the library and the module (the default)
all: $(BUILD)/syscript $(BUILD)/libsyscript.so $(BUILD)/libsyscript.a module

##+module         build the module for kernel KREL (6.1, 6.12, newest, 6.1-arm64, debug, a release)
module: $(KMODULE)

##deps           install what is missing on this machine, see tools/deps
deps: $(BUILD)/config.mk

##memcached      build Debian's memcached with batches of UDP datagrams
##busybox cpio   build Debian's with compounds
##+demo           memcached in six ways, du and ls plain and patched, in a guest (ARCH=arm64, DEMO_ARGS=--seccomp)
##examples       programs that use files and sockets in batches
##+cosy           the compiler for compounds, cosy-cc(1)
##lua-runtime    Lua as a compound, for syscript run --engine confined
##+consolidate    build the tool that finds system calls worth a script, consolidate(1)
##+test           unit tests and guest tests on kernel KREL, side by side: what each change passes
##test-verify    plant faults in the confined engine's code generator: its verifier must refuse them
##prove          docs/design/proof.md's part on single machine instructions, PROVE=claims for a part (ARCH=arm64)
##prove-c        docs/design/proof.md's part on the decoder's own C code, by Frama-C
##trusted        count the lines that are trusted if all users may run compounds
##test-uninit    LuaJIT's errors, where the compiler puts other bytes into what is not set
##search-safe-points call LuaJIT's functions with much to do: how long do they keep the CPU? (long)
##test-weakened  remove each check from the verifier: tests or the proof must notice
##test-long      the same with the exhaustive tests, before a release
##test-unit      the tests that need no module
##test-vm        the guest tests
##test-matrix    the guest tests on all kernels; LONG=--long: all of them
##test-sensors   perf trace, bpftrace and consolidate on scripts, in a guest
##test-sandboxes scripts under sandboxes, sanitizers and debuggers, and beside io_uring, in a guest
##test-storm     filters, dying threads and closed descriptors under scripts, STORM_TIME=300 s
##test-attack    attacks that take minutes each, of accounts on others among them
##test-deploy    memcached and Redis under systemd's units, containers, sandboxes, in a guest
##test-arm64     the library and the code generator for arm64, emulated, and the module in guests
##test-litmus    handshakes between threads, by memory models
##test-newcomer  README's first quarter of an hour in bare Debians, timed (as root)
##test-apps      the patched programs: test-walks, test-nsd, test-memcached, test-cpio, test-busybox
##test-memcached memcached's own tests and ours, in all modes of udp_batch
##test-cpio      compare Debian's cpio with compounds and without; test-busybox
##test-lua-runtime Lua in the confined engine: tests, attacks, and PUC's tests for 5.1
##test-csmith    random C programs, compiled plainly and as compounds (long)
##test-consolidate consolidate's unit tests, a part of make test
##test-traces    consolidate on traces of real programs, recorded for it
##test-trace-tools the same on what strace, perf and audit of three Debians write (as root)
##test-live      their scripts in the programs' place, on other files; test-live-guest: in the kernel
##test-browser   the page of consolidate report --html, in headless Chromium
##test-allocations each of the kernel's allocations fails once, in a guest on kernel 6.1 or debug
##test-debug     the guest tests on a debug kernel (KASAN, lockdep, kmemleak; long)
##debug-kernel   build that kernel
##+safety         the safety kit: tools for kernel modules, see safety/README.md
##test-safety    its tests, in a guest on kernel KREL
##safety-dist    the kit by itself: build/safety-kit-VERSION.tar.xz
##test-safety-dist that, unpacked, built and tested elsewhere, in a guest
##test-safety-syscript syscript.ko built with each tool, under all its guest tests
##test-safety-modules modules of Debian and of the kernel's tree with each tool; safety/docs/modules.md
##fuzz-kgcc      random programs: all of KGCC's checks, and those left after elimination
##bench-safety   what its tools cost a file system; build/bench/safety.json
##bench-safety-icount the same in instructions
##bench-safety-detection which tool finds which planted fault; safety/docs/detection.md
##bench-safety-user-icount what checks of the compiler cost a daemon in user space
##bench-safety-scaling KGCC's checks on two CPUs; build/bench/safety-scaling.json
##bench-safety-kasan-icount what KASAN costs instead; builds a kernel
##profile-safety-icount one of its measurements, function by function: SAMPLE='reiserfs mix kgcc'
##fuzz           hostile input to the module in a guest and to the library, time-boxed
##fuzz-memory    its part with allocations that fail; fuzz-jit: compiled code against interpreted
##fuzz-engines   random programs on LuaJIT and on Lua, interpreted and compiled
##fuzz-engines-long 10^6 of them; stopped, it goes on where it stood
##fuzz-confined  images at the confined engine: checked, interpreted, as machine code
##bench-inner    system calls inside a script and outside; build/bench/inner.json
##bench-inner-icount the same in instructions, identical in every boot
##bench-arm64-icount calls, programs and compounds in a guest of arm64: build/bench/arm64-icount.json
##bench-compound compounds next to plain loops; build/bench/compound.json
##bench-compound-icount the same in instructions
##bench-auto-icount what cosy-cc --auto marks in a small database, and what that saves
##bench-sqlite-icount what SELECTs of SQLite execute, and how much of it is system calls
##bench-daemons-icount what nginx and Dovecot execute, and how much of it is system calls
##bench-confined-c-icount plain C on the confined engine over gcc -O2, counted in this process
##bench-guest    Lua in the confined engine next to LuaJIT's interpreter; build/bench/guest.json
##bench-guest-icount the same in instructions
##profile-icount count what CMD executes in a guest, function by function; PER=steps
##bench-consolidate a trace of a million lines, in seconds
##count-costs    count the instructions of the cost model that ships with consolidate
##bench-prediction what consolidate predicts and what is measured; build/bench/prediction.json
##bench-prediction-icount the same in instructions, the same in every boot
##bench-latency  how long scripts keep others from their CPU; build/bench/latency.json
##bench-udp      measure a UDP server's loop, in every way; build/bench/udp.json
##bench-udp-icount the same in instructions
##bench-uring-loop-icount a UDP echo by io_uring's BPF loop, on Linux 7.2, as root
##bench-connections accepting and receiving, compared with plain calls; build/bench/connections.json
##bench-frames   GETs from frames of a device, compared with a UDP socket; build/bench/frames.json
##bench-frames-icount the same in instructions
##bench-memcached memcached over UDP in all modes; build/bench/memcached.json, plots
##bench-memcached-icount the worker's instructions for a GET, the same in every boot
##bench-memcached-sizes-icount Figures 3 and 4 of the paper, by value size
##bench-memcached-frames-icount frames compared with recvmmsg and sendmmsg, over a veth pair
##bench-memcached-facebook-icount the same of GETs of 50 keys, in all modes, from four threads
##model          what scripts cost on this machine; modelled if it cannot load the module
##papers         the rows of docs/papers.md: their tests and quick benches, today's figures
##figures        count again, and put the figures into docs/figures.md
##figures-safety the same for the safety kit: safety/docs/figures.md
##bench-text     text work in Lua next to lua5.1 and luajit; build/bench/text.json
##bench-cpio-icount Debian's cpio with compounds and without; bench-busybox-icount
##nsd            Debian's NSD, plain and with queries as frames
##test-nsd       both give the same replies, in a guest; test-nsd-suite: NSD's own tests, TPKG=DIRECTORY
##walks          Debian's du, ls, chmod, chown, find, rsync and ninja, plain and patched
##test-walks     compare patched with plain; test-walks-guest: with scripts in the kernel
##test-filesystems the same on file systems of every kind, with their gains; FILE_SYSTEMS='xfs proc'
##test-walks-suites the programs' own tests, plain and patched (long)
##bench-programs-icount plain and patched, in instructions; bench-programs: in time
##soak           memcached under load, vandals and SIGKILL in a guest, SOAK_TIME=600 s
##soak-programs  owners of namespaces with their programs against all others, SOAK_TIME=600 s
##bench-hooks    programs that netfilter calls, next to nftables and eBPF; build/bench/hooks.json
##bench-hooks-icount the same in instructions
##bench-files    files and directories compared with plain calls; build/bench/files.json
##bench-readdirplus-icount elapsed, system and user for 10 to 100,000 files
##+lib cli        build the library and the command; needs a compiler and the crates, nothing else
##+install        install what lib and cli have built, the manual, and the module's source
##install-luajit  the source of syscript_luajit.ko, LuaJIT in the kernel, and its group
##uninstall      remove what install has installed
##install-safety install the safety kit, its source for DKMS; uninstall-safety
##dist           a release: build/syscript-VERSION.tar.xz, with the foreign sources
##deb            Debian packages, in build/deb
##module-deb     the modules of kernel KREL as packages, signed by MODULE_KEY, MODULE_CERT
##test-deb       install, use, upgrade and purge them in a clean chroot

##lint           check sources: C's style, the module by sparse, the library by gcc, Python, shell
lint: deps
	+$(Q)$(MAKE) $(call jobs,0) --no-print-directory lint-module lint-analyzer
	$(BUILD)/venv/bin/ruff check .
	$(BUILD)/venv/bin/ruff format --check .
	tools/check-format $(BUILD)/venv/bin/clang-format
	$(PYTEST) -q tests/unit/test_c_style.py
	tools/deps shell
	shellcheck $$(grep -rlI -m1 '^#!/bin/\(ba\)\?sh' .ci apps consolidate cosy findings lib safety scripts tests tools vm)

##clean          remove everything that was built (fetched kernels and packages stay)
clean:
	[ ! -d $(BUILD) ] || find $(BUILD) -mindepth 1 -maxdepth 1 \
		! -name kernels ! -name apt ! -name venv ! -name venv-guest ! -name vendor ! -name deps \
		! -name config.mk -exec rm -rf {} +

##+help          this list; make help-all: everything there is to make
# Lines of the first list begin with ##+.
.PHONY: help-all
help:
	@sed -n 's/^##+\(.*[^ ]\)   *\(.*\)/make \1\t\2/p' Makefile | expand -t 24
	@echo "make help-all lists all $$(grep -c '^##' Makefile): tests, benchmarks, single programs, packages"

help-all:
	@sed -n 's/^##+\?\(.*[^ ]\)   *\(.*\)/make \1\t\2/p; t; s/^##+\?\([^ ]*\) /make \1\t/p' Makefile | expand -t 36

endif
