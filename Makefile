# SPDX-License-Identifier: GPL-2.0
# What there is to make: `make help`.  Parts: the build.mk of each directory.

BUILD := build
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/bash -o pipefail

# What is built is said in short; V=1 shows the commands, -s nothing.
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),,$(if $(Q),@printf '  %-8s%s\n' $(1) $(or $(2),$@)))

# The kernel that the module is built for: KREL is 6.1, 6.12, newest, debug or a
# release, and its tree is fetched; KERNEL is one that this machine has installed
# with its headers, and nothing is fetched (DKMS builds so).
ifdef KERNEL
override KREL := $(KERNEL)
KDIR := /lib/modules/$(KERNEL)/build
else
# All else needs what tools/deps installs, and a default kernel: make makes this
# file first, and starts again with it.
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),all)),)
-include $(BUILD)/config.mk
endif
KREL ?= $(DEFAULT_KREL)
ifneq ($(filter 6.1 6.12 newest,$(KREL)),)
override KREL := $(shell vm/kernels.py release $(KREL))
endif
KDIR := $(CURDIR)/$(BUILD)/kernels/$(KREL)/headers
endif
KTREE := $(BUILD)/kernels/$(KREL)
KMODULE := $(BUILD)/kernel-$(KREL)/syscript.ko

MATRIX := 6.1 6.12 newest

$(BUILD)/config.mk: tools/deps requirements.txt third_party/Cargo.lock
	$(Q)tools/deps
	$(Q)release=$$(vm/kernels.py release 6.1) && echo "DEFAULT_KREL := $$release" >$@

# A kernel's tree, for all that is built against it, and the compiler that the
# kernel was built with; debug's tree is built instead.
ifdef KERNEL
$(KTREE)/complete: ;
else
$(BUILD)/kernels/%/complete:
	$(Q)vm/kernels.py path $*

$(KMODULE): private export CC = $(shell vm/kernels.py cc $(KREL))
endif

include $(wildcard */build.mk */*/build.mk)

.PHONY: all module deps demo test test-unit test-vm test-matrix test-debug debug-kernel \
	fuzz bench-micro install lint clean help

##all            build the command, the library and the module (the default)
all: $(BUILD)/syscript $(BUILD)/libsyscript.so $(BUILD)/libsyscript.a module

##module         build the module for kernel KREL (6.1, 6.12, newest, debug, a release)
module: $(KMODULE)

##deps           install what is missing on this machine, see tools/deps
deps: $(BUILD)/config.mk

##memcached      build Debian's memcached with batches of UDP datagrams
##demo           memcached in a guest: a packet a call, recvmmsg, and a script
##examples       programs that use files and sockets by the batch
##consolidate    build the tool that finds what to make scripts of, consolidate(1)
##test           unit tests, then the guest tests on 6.1
##test-unit      the tests that need no guest of their own kernel
##test-vm        the guest tests on kernel KREL
##test-matrix    the guest tests on all kernels
##test-memcached memcached's own tests and ours, in all modes of udp_batch
##test-traces    consolidate on traces of real programs, recorded for it
##test-debug     the guest tests on a debug kernel (KASAN, lockdep, kmemleak; long)
##debug-kernel   build that kernel
##fuzz           hostile input to the module in a guest and to the library, time-boxed
##bench-micro    measure calls, in a guest; build/bench/micro.json
##bench-micro-icount the same in instructions, the same in every boot
##bench-consolidate a trace of a million lines, in seconds
##bench-prediction what consolidate predicts and what is measured; build/bench/prediction.json
##bench-prediction-icount the same in instructions, the same in every boot
##bench-latency  how long scripts keep others from their CPU; build/bench/latency.json
##bench-udp      measure a UDP server's loop, in every way; build/bench/udp.json
##bench-connections accepting and receiving, beside plain calls; build/bench/connections.json
##bench-memcached memcached over UDP in all modes; build/bench/memcached.json, plots
##bench-memcached-icount the worker's instructions for a GET, the same in every boot
##bench-udpload  what the load generator of bench-memcached can do, on this machine
##soak           memcached under load, vandals and SIGKILL in a guest, SOAK_TIME=600 s
##bench-files    files and directories beside plain calls; build/bench/files.json
##install        install the command, the library, the manual and the DKMS source

##lint           check shell and Python sources
lint: deps
	$(BUILD)/venv/bin/ruff check .
	$(BUILD)/venv/bin/ruff format --check .
	shellcheck $$(grep -rlI -m1 '^#!/bin/\(ba\)\?sh' .ci apps lib scripts tests tools vm)

##clean          remove all that was built (the kernels and packages fetched stay)
clean:
	find $(BUILD) -mindepth 1 -maxdepth 1 2>/dev/null \
		! -name kernels ! -name apt ! -name venv ! -name vendor ! -name deps \
		! -name config.mk -exec rm -rf {} +

##help           this list
help:
	@sed -n 's/^##\([^ ]*\)  */make \1\t/p' Makefile | expand -t 30
