# SPDX-License-Identifier: GPL-2.0 OR MIT
# make bench-memcached: memcached's modes of serving GETs over UDP, in one boot.

# Options of bench/memcached/memcached.py: BENCH_ARGS='--modes off syscript --rounds 9'
BENCH_ARGS ?=

.PHONY: bench-memcached bench-memcached-icount bench-memcached-frames-icount \
	bench-memcached-facebook-icount bench-memcached-sizes-icount
bench-memcached: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload module
	$(BUILD)/venv/bin/python bench/memcached/memcached.py -k $(KREL) \
		-o $(BUILD)/bench/memcached.json $(BENCH_ARGS)

bench-memcached-icount: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload module
	$(BUILD)/venv/bin/python bench/memcached/memcached.py --icount -k $(KREL) \
		-o $(BUILD)/bench/memcached-icount.json $(BENCH_ARGS)

# Figures 3 and 4 of the paper: by value size, with the batch's depth and the wait in the socket. A
# million requests for each figure, in ten minutes.
bench-memcached-sizes-icount: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload module
	$(BUILD)/venv/bin/python bench/memcached/memcached.py --icount -k $(KREL) --buffers \
		--modes off mmsg syscript_interp syscript confined \
		--sizes 16 32 64 128 256 512 1024 --outstanding 128 --rounds 10 --seconds 0.1 \
		-o $(BUILD)/bench/memcached-sizes-icount.json $(BENCH_ARGS)

# Over a veth pair: what frames save there.
bench-memcached-frames-icount: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload \
		module $(BUILD)/syscript
	$(BUILD)/venv/bin/python bench/memcached/memcached.py --icount -k $(KREL) \
		--modes mmsg frames -o $(BUILD)/bench/memcached-frames-icount.json $(BENCH_ARGS)

# Facebook's load, as memaslap generates it: GETs of many keys, four threads. Also over the veth
# pair.
bench-memcached-facebook-icount: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload \
		module $(BUILD)/syscript
	$(BUILD)/venv/bin/python bench/memcached/memcached.py --icount -k $(KREL) \
		--modes off mmsg io_uring syscript_interp syscript frames \
		--keys-per-get 50 --threads 4 --outstanding 64 \
		-o $(BUILD)/bench/memcached-facebook-icount.json $(BENCH_ARGS)

# Six modes with short runs, and du and ls on 20,000 files: tables, and the README's plots
# (DEMO_ARGS='--pictures docs'). DEMO_ARGS=--seccomp: only memcached's servers, under the seccomp
# filter of containers.
DEMO_ARGS ?=
DEMO_PROGRAMS := walks/coreutils-ahead.done memcached/memcached bench/udpload/udpload
DEMO_PARTS := $(DEMO_PROGRAMS:%=$(BUILD)/%) \
	$(BUILD)/syscript $(BUILD)/libsyscript.so $(BUILD)/lua-runtime/lua.image module
# Downloads and packages come first, alongside the builds that need none of these packages, because
# coreutils' configure takes longest, on one CPU, and needs them.
DEMO_FIRST := $(VENDOR_READY) $(BUILD)/deps/demo $(BUILD)/apt/coreutils.orig.tar.xz \
	$(BUILD)/apt/memcached.orig.tar.xz $(KTREE)/complete \
	$(BUILD)/syscript $(BUILD)/libsyscript.so module
DEMO_WAIT := 4
# For arm64: the module, and what a make of its own compiles.
ifneq ($(FOR),$(ARCH))
DEMO_GROUPS += arm64-tests
DEMO_FIRST := $(VENDOR_READY) $(BUILD)/deps/demo $(KTREE)/complete module
DEMO_PARTS := demo-compiled
DEMO_COMPILED := $(DEMO_PROGRAMS:%=build/$(FOR)/%)
DEMO_PLACE := $(BUILD)/bench/$(FOR)
DEMO_WALKS := du
endif
DEMO_PLACE ?= $(BUILD)/bench
DEMO_WALKS ?= du and ls
$(BUILD)/deps/demo: tools/deps $(PINNED)
	$(Q)tools/deps $(DEMO_GROUPS)
	@touch $@

.PHONY: demo-first demo-parts demo-compiled
demo-first: $(DEMO_FIRST)
demo-parts: $(DEMO_PARTS)
demo-compiled: $(BUILD)/deps/demo
	+$(Q)$(MAKE) --no-print-directory ARCH=$(FOR) lib cli $(DEMO_COMPILED)

demo:
	@echo "demo: building memcached, coreutils' $(DEMO_WALKS), and the module for Linux $(KREL)"
	@+$(MAKE) --no-print-directory $(call jobs,$(DEMO_WAIT)) demo-first
	@+$(MAKE) --no-print-directory $(call jobs,0) demo-parts
	@echo "demo: booting Linux $(KREL) in two guests that count instructions (a minute)"
	@mkdir -p $(DEMO_PLACE)
	@tools/progress result demo bench/demo.py -k $(KREL) -o $(DEMO_PLACE)/demo.json $(DEMO_ARGS)
