# SPDX-License-Identifier: GPL-2.0
# The test targets, and the programs they run.

PYTEST := $(BUILD)/venv/bin/pytest
# The command line's -k, -x and so on: make test-vm PYTEST_ARGS='-k kill'
PYTEST_ARGS ?=
# Seconds that a guest may take for its share of the tests, where eight want each CPU.
VM_TIME ?= 7200

TEST_SRC := $(wildcard tests/vm/*.c tests/unit/*.c)
TEST_PROGRAMS := $(TEST_SRC:%.c=$(BUILD)/%)

$(BUILD)/tests/%: tests/%.c $(BUILD)/libsyscript.a
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -Iinclude $(LIB_CFLAGS) -MMD -MP \
		-o $@ $< $(LIB_LIBS)

-include $(TEST_PROGRAMS:=.d)

# What unit tests run: other makefiles add theirs.
.PHONY: unit-programs
unit-programs: all consolidate $(TEST_PROGRAMS)

# An engine that is a module of its own, see tests/engine/echo.c.
ECHO_MODULE := $(KOUT)/echo/echo.ko
$(ECHO_MODULE): tests/engine/echo.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# Faults of the clock, see tests/clock/faults.c.
FAULTS_MODULE := $(KOUT)/faults/faults.ko
$(FAULTS_MODULE): tests/clock/faults.c tests/engine/build $(KMODULE)
	$(call say,KBUILD)
	$(Q)tests/engine/build $(KDIR) $(KOUT) $<

# What guests compare with: of a process, where it takes no time.
CORPUS_KNOWN := $(BUILD)/tests/corpus.json
$(CORPUS_KNOWN): tests/corpus.py tests/runner.py $(wildcard tests/lua/*.lua) $(BUILD)/syscript
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/venv/bin/python -B $< $@

# What guest tests run: other makefiles add theirs.
.PHONY: guest-programs
guest-programs: $(CORPUS_KNOWN) all $(TEST_PROGRAMS) $(ECHO_MODULE) $(FAULTS_MODULE)

# Parts of the tests run side by side: two guests share theirs, so do two runs of unit
# tests (tests/shares.py).  What a part has to say comes in one piece, when it has ended;
# and one that fails keeps no other from its end.  Three at a time, as guests wait now and
# then.  Programs of the library are run in guests as well, to test its kernel backend.
PART_JOBS ?= 3
VM_PARTS := part-guest-1 part-guest-2 part-boots-$(KREL)
UNIT_PARTS := part-boots part-unit-1 part-unit-2
# LONG=--long: not what is in the gate only.
LONG ?=
# -k may leave nothing to a part.
part = $(1) $(LONG) $(PYTEST_ARGS) || [ $$? = 5 ]

define run-parts
	+$(Q)shares=$$(mktemp -d $(BUILD)/shares.XXXXXX) && mkdir $$shares/guest $$shares/unit && \
		{ $(MAKE) -k -j$(PART_JOBS) -Otarget --no-print-directory SHARES=$$shares $(1); \
		status=$$?; rm -r $$shares; exit $$status; }
endef

.PHONY: $(VM_PARTS) $(UNIT_PARTS) test-long
part-guest-1 part-guest-2:
	$(call part,vm/guest -k $(KREL) -m --timeout $(VM_TIME) -- \
		$(PYTEST) tests/vm tests/unit --share $(SHARES)/guest)

part-unit-1 part-unit-2:
	$(call part,$(PYTEST) tests/unit tests/meta -m 'not boot' --share $(SHARES)/unit)

part-boots-$(KREL):
	$(call part,KREL=$(KREL) $(PYTEST) tests/vm -m boot)

part-boots:
	$(call part,$(PYTEST) tests/meta -m boot)

test: unit-programs guest-programs
	$(call run-parts,$(VM_PARTS) $(UNIT_PARTS))

# Before a release, and by hand.
test-long:
	$(MAKE) test LONG=--long

test-unit: unit-programs
	$(call run-parts,$(UNIT_PARTS))

test-vm: guest-programs
	$(call run-parts,$(VM_PARTS))

# Attacks that take minutes each: frames on the wire, accounts on other accounts.  Those
# that have no end of their own end after so many seconds, or frames (0: any number).
ATTACK_TIME ?= 60
FRAMES ?= 0
.PHONY: test-attack
test-attack: guest-programs
	vm/guest -k $(KREL) -m --timeout $$(($(VM_TIME) + $(ATTACK_TIME))) -- \
		$(PYTEST) tests/hostile --attack-time $(ATTACK_TIME) --frames $(FRAMES) $(PYTEST_ARGS)

# Tools that people trace with, installed for it.
.PHONY: test-sensors
test-sensors: all
	tools/deps sensors
	vm/guest -k $(KREL) -m --memory 2G -- $(PYTEST) tests/sensors $(PYTEST_ARGS)

# docs/deploy.md, done: a Debian with systemd, servers and containers, in a guest.
.PHONY: test-deploy
DEPLOY := $(BUILD)/deploy/root
test-deploy: all $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload
	tools/deps deploy
	tests/deploy/root $(abspath $(DEPLOY))
	vm/guest -k $(KREL) -m --memory 3G -- $(PYTEST) tests/deploy $(PYTEST_ARGS)

# Seconds of filters, threads and descriptors that come and go under scripts.
STORM_TIME ?= 300
.PHONY: test-storm
test-storm: all $(BUILD)/tests/vm/test_watcher_storm
	vm/guest -k $(KREL) -m --timeout $$(($(STORM_TIME) + 120)) -- \
		$(BUILD)/tests/vm/test_watcher_storm $(STORM_TIME)

test-matrix:
	for kernel in $(MATRIX); do $(MAKE) KREL=$$kernel test-vm || exit; done

DEBUG_TREE := $(BUILD)/kernels/debug

# Two guests side by side share the tests.  Those of single scripts are one
# process at a time and leave CPUs to the others.
DEBUG_SHARES := test-debug-scripts test-debug-others
DEBUG_TIME ?= 14400
SCRIPT_TESTS := tests/vm/test_attacks.py tests/vm/test_differential.py

test-debug: debug-kernel
	$(MAKE) KREL=debug guest-programs
	$(MAKE) -j2 $(DEBUG_SHARES)

test-debug-scripts: private SHARE = --cpus 1 -- $(PYTEST) $(SCRIPT_TESTS)
test-debug-others: private SHARE = -- $(PYTEST) tests/vm tests/unit \
	$(SCRIPT_TESTS:%=--ignore=%)
.PHONY: $(DEBUG_SHARES)
$(DEBUG_SHARES):
	vm/guest -k debug -m --timeout $(DEBUG_TIME) $(SHARE) -v --long $(PYTEST_ARGS)

# A driver that tests need, of the same source.
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
