# SPDX-License-Identifier: GPL-2.0
# The test targets, and the programs they run.

PYTEST := $(BUILD)/venv/bin/pytest
# The command line's -k, -x and so on: make test-vm PYTEST_ARGS='-k kill'
PYTEST_ARGS ?=
# Seconds that a test may take on a machine with eight times the load, and that a guest may be
# silent.
TEST_TIME ?= 900
VM_TIME ?= 1200

# Those of the products' own folders are part of the gate, too.
UNIT_TESTS := tests/unit consolidate/tests/unit
VM_TESTS := tests/vm consolidate/tests/vm apps/tests/vm

TEST_SRC := $(wildcard tests/vm/*.c tests/unit/*.c)
TEST_PROGRAMS := $(TEST_SRC:%.c=$(BUILD)/%)

$(BUILD)/tests/%: tests/%.c $(BUILD)/libsyscript.a
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -Iinclude -iquote core $(LIB_CFLAGS) -MMD -MP \
		-o $@ $< $(LIB_LIBS)

-include $(TEST_PROGRAMS:=.d)

# Programs that unit tests run; other makefiles add to them. They link the library's objects, to
# test functions that only the command uses, or to put others around those of the core.
LUA_WHOLE := $(BUILD)/tests/lua/whole
SAFE_POINTS := $(BUILD)/tests/safe-points/gap
$(LUA_WHOLE): engine/confined/interpret.c
$(SAFE_POINTS): private WRAPS := -Wl,--wrap=run_poll,--wrap=usermem_load
$(LUA_WHOLE) $(SAFE_POINTS): $(BUILD)/tests/%: tests/%.c $(LIB_OBJ) $(LIB_ENGINE)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -iquote core $(LIB_CFLAGS) $(WRAPS) \
		-o $@ $< $(LIB_OBJ) $(LIB_ENGINE) -lm -lpthread

.PHONY: unit-programs
unit-programs: all consolidate $(TEST_PROGRAMS) $(LUA_WHOLE)

# An engine as a module, see tests/engine/echo.c.
ECHO_MODULE := $(KOUT)/echo/echo.ko
$(ECHO_MODULE): tests/engine/echo.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# Faults injected into the clock, see tests/clock/faults.c.
FAULTS_MODULE := $(KOUT)/faults/faults.ko
$(FAULTS_MODULE): tests/clock/faults.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# A module that calls programs.
TEMPLATE_MODULE := $(KOUT)/template/template.ko
$(TEMPLATE_MODULE): examples/embedding/template.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# A fake cpufreq driver, and a thermal zone.
FAKEFREQ_MODULE := $(KOUT)/fakefreq/fakefreq.ko
$(FAKEFREQ_MODULE): tests/cpufreq/fakefreq.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# Allocations that fail.
FAIL_NTH_MODULE := $(KOUT)/fail_nth/fail_nth.ko
$(FAIL_NTH_MODULE): tests/allocations/fail_nth.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# Expected results for guests, computed in a process, where it takes no time.
CORPUS_KNOWN := $(BUILD)/tests/corpus.json
$(CORPUS_KNOWN): tests/corpus.py tests/runner.py $(wildcard tests/lua/*.lua) $(BUILD)/syscript
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/venv/bin/python -B $< $@

# Malformed frames, made here: scapy takes ten seconds to start on an emulated CPU.
MALFORMED := $(addprefix $(BUILD)/tests/vm/malformed-,0 1)
$(MALFORMED): $(BUILD)/tests/vm/malformed-%: tests/vm/malformed.py
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)/usr/bin/python3 $< $* >$@.new && mv $@.new $@

# Programs for subsystems, including those of examples/, compiled as in docs/firewall.md; on
# this machine, because an emulated clang takes seconds for each. others/: programs that the
# examples are compared with.
PROGRAM_SRC := $(wildcard tests/vm/programs/*.c examples/netfilter/*.c \
	examples/cpufreq/*.c examples/netfilter/others/*.c)
PROGRAMS := $(patsubst %.c,$(BUILD)/tests/programs/%.o,$(notdir $(PROGRAM_SRC)))
$(foreach src,$(PROGRAM_SRC),$(eval $(BUILD)/tests/programs/$(basename $(notdir $(src))).o: $(src)))
$(BUILD)/tests/programs/dns_tc.o: private PROGRAM_FLAGS := -mcpu=v3 -g
PROGRAM_FLAGS := -mcpu=v4 -mllvm -disable-bpf-peephole
$(PROGRAMS): $(LIB_HEADERS) $(BUILD)/deps/clang
	$(call say,CLANG)
	@mkdir -p $(@D)
	$(Q)$(COSY_CLANG) -target bpf $(PROGRAM_FLAGS) -O2 -Wall -Werror -I$(BUILD)/include \
		-I/usr/include/x86_64-linux-gnu -c -o $@ $(filter %.c,$^)

# tests/lua/whole.c runs the examples.
unit-programs: $(PROGRAMS)

FIREWALL := $(BUILD)/tests/firewall/compiled
$(FIREWALL): tests/firewall_page.py docs/firewall.md $(PROGRAMS)
	$(call say,CLANG)
	$(Q)python3 -B $< $(@D) && touch $@

# Compile tests to bytecode, even if Python is told to write none: compiling takes a guest half a
# minute each time. The tests import built files.
BYTECODE := $(BUILD)/tests/bytecode
$(BYTECODE): $(shell find tests $(VM_TESTS) -name '*.py') conftest.py | unit-programs
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)PYTHONDONTWRITEBYTECODE= $(PYTEST) --collect-only -q $(VM_TESTS) >$@.new && mv $@.new $@

# Programs that guest tests run; other makefiles add to them.
.PHONY: guest-programs
guest-programs: $(CORPUS_KNOWN) $(MALFORMED) $(BYTECODE) $(PROGRAMS) $(FIREWALL) all $(TEST_PROGRAMS) $(ECHO_MODULE) $(FAULTS_MODULE) \
	$(TEMPLATE_MODULE) $(FAKEFREQ_MODULE) $(BUILD)/bench/scanner $(BUILD)/bench/frames

# Parts of the tests run side by side: two guests share theirs, so do two runs of unit tests
# (tests/sharding.py). Each part's output is printed when it ends, and a failing part does not stop
# the others. Three at a time, because guests sometimes wait. Programs of the library run in guests
# as well, to test its kernel backend.
PART_JOBS ?= 3
# LONG=--long: also run tests that are not in the gate, such as all of part-boots-$(KREL).
LONG ?=
VM_PARTS := part-guest-1 part-guest-2 $(if $(LONG),part-boots-$(KREL))
UNIT_PARTS := part-boots part-unit-1 part-unit-2 part-arm64
# The costs of tests in the last run, for tests/costs.py.
COSTS := $(BUILD)/test-costs
# On a loaded, emulated machine, one test in thousands misses its deadline. It is repeated, and the
# summary says why. Never repeated: attacks (conftest.py), and tests ended by the kernel's
# log, a time limit or a crash.
RERUNS := $(if $(LONG),,--reruns 2 --only-rerun ^AssertionError)
# -k may deselect all tests of a part.
part = $(BUILD)/venv/bin/python tests/costs.py part $@ $(COSTS) $(1) --costs $(COSTS) $(LONG) \
	$(RERUNS) $(PYTEST_ARGS) || [ $$? = 5 ]

# make -n executes lines with a +, too, which must change nothing then.
dry := $(findstring n,$(firstword -$(MAKEFLAGS)))
define run-parts
	$(if $(dry),,+)$(Q)rm -rf $(COSTS) && mkdir $(COSTS) && \
		shares=$$(mktemp -d $(BUILD)/shares.XXXXXX) && mkdir $$shares/guest $$shares/unit && \
		{ $(MAKE) -k -j$(PART_JOBS) -Otarget --no-print-directory SHARES=$$shares $(1); \
		status=$$?; rm -r $$shares; \
		$(BUILD)/venv/bin/python tests/costs.py report $(COSTS); exit $$status; }
endef

.PHONY: $(VM_PARTS) $(UNIT_PARTS) part-boots-$(KREL) test-long
part-guest-1 part-guest-2:
	$(call part,vm/guest -k $(KREL) -m --timeout $(VM_TIME) -- \
		$(PYTEST) $(VM_TESTS) tests/unit --timeout $(TEST_TIME) --share $(SHARES)/guest)

part-unit-1 part-unit-2:
	$(call part,$(PYTEST) $(UNIT_TESTS) tests/meta -m 'not boot' --timeout $(TEST_TIME) \
		--share $(SHARES)/unit)

# The code generator and the verifier for arm64, emulated. test-arm64 also plants faults.
ARM64_REMOTE := build/arm64/tests/confined/remote
EMULATED = env CONFINED_REMOTE="qemu-aarch64 $(ARM64_REMOTE)" $(PYTEST)
part-arm64:
	+$(Q)$(MAKE) --no-print-directory ARCH=arm64 $(ARM64_REMOTE)
	$(call part,$(EMULATED) tests/arm64/test_machine_code.py \
		$(addprefix tests/unit/test_confined_,run.py fuel.py) --timeout $(TEST_TIME) \
		--deselect tests/arm64/test_machine_code.py::test_faults_are_refused)

part-boots-$(KREL): export KREL := $(KREL)
part-boots-$(KREL):
	$(call part,$(PYTEST) $(VM_TESTS) -m boot)

part-boots:
	$(call part,$(PYTEST) tests/meta -m boot)

test:
	+$(Q)$(MAKE) $(call jobs,0) --no-print-directory unit-programs guest-programs
	$(call run-parts,$(VM_PARTS) $(UNIT_PARTS))

# How many of the most expensive tests of the last run to show.
SLOWEST ?= 40
.PHONY: test-costs
test-costs:
	$(Q)$(BUILD)/venv/bin/python tests/costs.py report --slowest $(SLOWEST) $(COSTS)

# Before a release, or by hand.
test-long:
	$(MAKE) test LONG=--long
	$(MAKE) test-verify prove

# LuaJIT's error messages must not depend on old contents of the stack: compared with a build
# whose compiler puts a pattern there, and not zeros; also where the port asks for neither.
# MemorySanitizer is no help: it takes frames, keys and characters that the VM's assembly writes to
# the C stack for unset, and whatever system calls of the library fill. Such were its 28,581 reports
# on a third of these scripts; without their places it would not look at the way of an error.
UNINIT := $(BUILD)/uninit
.PHONY: test-uninit
test-uninit: $(BUILD)/syscript
	$(Q)mkdir -p $(UNINIT)
	$(Q)ln -sfn $(abspath $(BUILD)/deps) $(abspath $(BUILD)/vendor) $(UNINIT)
	$(Q)$(MAKE) --no-print-directory BUILD=$(UNINIT) $(UNINIT)/syscript \
		AUTO_INIT='-ftrivial-auto-var-init=pattern -Duninitialized=unused'
	tests/uninit/compare.py $(BUILD)/syscript $(UNINIT)/syscript $(UNINIT_CASES)

# Work of LuaJIT without a safe point, by calling all of its functions with much to do (half an hour
# of two CPUs). SEARCH: options of search.py.
.PHONY: search-safe-points
search-safe-points: $(SAFE_POINTS) $(BUILD)/syscript
	tests/safe-points/search.py $(BUILD)/syscript $(SAFE_POINTS) -o $(BUILD)/safe-points.json $(SEARCH)

test-unit: unit-programs
	$(call run-parts,$(UNIT_PARTS))

test-vm: guest-programs
	$(call run-parts,$(VM_PARTS))

# Attacks that take minutes each: frames on the wire, and accounts against each other. Those without
# an end of their own stop after a number of seconds or frames (0: any number).
ATTACK_TIME ?= 60
FRAMES ?= 0
.PHONY: test-attack
test-attack: guest-programs
	vm/guest -k $(KREL) -m --timeout $$(($(VM_TIME) + $(ATTACK_TIME))) -- \
		$(PYTEST) tests/hostile --attack-time $(ATTACK_TIME) --frames $(FRAMES) $(PYTEST_ARGS)

# Tracing tools, which are installed for the test.
.PHONY: test-sensors
test-sensors: all
	tools/deps sensors
	vm/guest -k $(KREL) -m --memory 2G -- $(PYTEST) tests/sensors $(PYTEST_ARGS)

# Sandboxes and tools, which are installed for the test.
.PHONY: test-sandboxes
test-sandboxes: all
	tools/deps sandboxes
	tests/sandboxes/bindings $(BUILD)/sandboxes
	vm/guest -k $(KREL) -m --memory 2G -- $(PYTEST) tests/sandboxes $(PYTEST_ARGS)

# Runs docs/deploy.md: a Debian with systemd, servers and containers, in a guest.
.PHONY: test-deploy
DEPLOY := $(BUILD)/deploy/root
test-deploy: all $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload
	tools/deps deploy
	tests/deploy/root $(abspath $(DEPLOY))
	vm/guest -k $(KREL) -m --memory 3G -- $(PYTEST) tests/deploy $(PYTEST_ARGS)

# README's first commands and the tutorial, typed in bare Debians by an ordinary user, with a
# terminal and without, and in a release; prints the minutes of each step.
# NEWCOMER_ARGS='--way log --until "make demo"' for a part.
NEWCOMER_ARGS ?=
.PHONY: test-newcomer
test-newcomer: dist
	tools/deps deploy
	tests/newcomer.py --release $(BUILD)/syscript-$(LIB_VERSION).tar.xz $(NEWCOMER_ARGS)

# The library and the command for arm64, its code generator and its verifier, emulated by qemu-user;
# then the module, in guests of two CPUs.
.PHONY: test-arm64
test-arm64: cli lua-runtime | $(BUILD)/deps/arm64-tests.ready
	+$(Q)$(MAKE) $(call jobs,0) --no-print-directory ARCH=arm64 lib cli $(ARM64_REMOTE) build/arm64/cosy-cc
	$(EMULATED) tests/arm64 \
		$(addprefix tests/unit/test_confined_,run.py fuel.py extends.py) \
		--ignore tests/arm64/guest $(PYTEST_ARGS)
	+for kernel in $(ARM64_MATRIX); do \
		$(MAKE) --no-print-directory ARM64_KREL=$$kernel test-arm64-guest || exit; \
	done

# Handshakes between threads, by the memory models of the kernel and of C11.
.PHONY: test-litmus
test-litmus:
	tests/litmus/run.py

# The guest has a Python of its own.
ARM64_MATRIX := 6.1-arm64 6.12-arm64 newest-arm64
ARM64_KREL ?= 6.1-arm64
ARM64_PYTEST = vm/guest -k $(ARM64_KREL) -m -- \
	env PYTHONPATH=$$(echo $(BUILD)/venv/lib/python3*/site-packages) \
	python3 -m pytest -q -p no:cacheprovider
.PHONY: test-arm64-guest
test-arm64-guest: guest-programs | $(BUILD)/deps/arm64-tests.ready
	+$(Q)$(MAKE) $(call jobs,0) --no-print-directory ARCH=arm64 lib cli \
		build/arm64/tests/vm/test_watcher_storm \
		$(addprefix build/arm64/,$(COSY_TESTS:build/%=%) $(PROGRAMS:build/%=%))
	+$(Q)$(MAKE) --no-print-directory KREL=$(ARM64_KREL) module
	$(ARM64_PYTEST) tests/arm64/guest \
		$(addprefix tests/vm/test_,audit.py cosy.py filters.py lua_runtime.py programs.py \
		tracepoints.py)
	$(ARM64_PYTEST) tests/vm/test_attacks.py -k confined

# Seconds during which filters, threads and descriptors change under running scripts.
STORM_TIME ?= 300
.PHONY: test-storm
test-storm: all $(BUILD)/tests/vm/test_watcher_storm
	vm/guest -k $(KREL) -m --timeout $$(($(STORM_TIME) + 120)) -- \
		$(BUILD)/tests/vm/test_watcher_storm $(STORM_TIME)

test-matrix:
	for kernel in $(MATRIX); do $(MAKE) KREL=$$kernel test-vm || exit; done

.PHONY: fail-nth test-allocations
fail-nth: $(FAIL_NTH_MODULE)
test-allocations: fail-nth
	vm/guest -k $(KREL) -m -- $(PYTEST) -q tests/vm/test_failed_allocations.py $(PYTEST_ARGS)

DEBUG_TREE := $(BUILD)/kernels/debug

# Two guests side by side share the tests. Tests of single scripts use one process at a time, which
# leaves CPUs to the other guest.
DEBUG_SHARES := test-debug-scripts test-debug-others
DEBUG_TIME ?= 14400
SCRIPT_TESTS := tests/vm/test_attacks.py tests/vm/test_differential.py

test-debug: debug-kernel
	$(MAKE) KREL=debug guest-programs fail-nth
	$(MAKE) -j2 $(DEBUG_SHARES)

test-debug-scripts: private SHARE = --cpus 1 -- $(PYTEST) $(SCRIPT_TESTS)
test-debug-others: private SHARE = -- $(PYTEST) $(VM_TESTS) tests/unit \
	$(SCRIPT_TESTS:%=--ignore=%)
.PHONY: $(DEBUG_SHARES)
$(DEBUG_SHARES):
	vm/guest -k debug -m --timeout $(DEBUG_TIME) $(SHARE) -v --long $(PYTEST_ARGS)

# A driver that tests need, from the same source.
$(DEBUG_TREE)/drivers/veth.ko: $(DEBUG_TREE)/complete
	$(call say,KBUILD)
	$(Q)mkdir -p $(@D)
	$(Q)cp $(DEBUG_TREE)/headers/drivers/net/veth.c $(@D)
	$(Q)echo 'obj-m := veth.o' >$(@D)/Kbuild
	$(Q)$(MAKE) -s -C $(DEBUG_TREE)/headers M=$(abspath $(@D)) modules

debug-kernel: $(DEBUG_TREE)/drivers/veth.ko
DEBUG_CONFIG := tests/debug-kernel/config tests/debug-kernel/detectors
$(DEBUG_TREE)/complete: tests/debug-kernel/build $(DEBUG_CONFIG)
	tools/deps debug-kernel
	tests/debug-kernel/build debug $(DEBUG_CONFIG)
