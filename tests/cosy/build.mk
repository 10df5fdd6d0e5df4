# SPDX-License-Identifier: GPL-2.0
# Programs with compounds, built here because compiling is slow in guests.

COSY_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/cosy/programs/*.c tests/cosy/guest/*.c))

$(COSY_TESTS): $(BUILD)/tests/%: tests/%.c $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/cosy-cc $(COSY_TARGET) -O2 -w -o $@ $<

COSY_FILES := $(wildcard tests/cosy/files/*.c)

$(BUILD)/tests/cosy/programs/files: $(COSY_FILES) tests/cosy/files/variables.h $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/cosy-cc $(COSY_TARGET) -O2 -w -o $@ $(COSY_FILES)

COSY_TESTS += $(BUILD)/tests/cosy/programs/files
guest-programs: $(COSY_TESTS)

# Random C programs: make test-csmith CSMITH_COUNT=10000 CSMITH_SEED=1 CSMITH_JOBS=2
CSMITH_COUNT ?= 10000
CSMITH_SEED ?= 1
CSMITH_JOBS ?= 1

.PHONY: test-csmith
test-csmith: cosy $(BUILD)/deps/csmith.ready
	$(BUILD)/venv/bin/python3 tests/cosy/csmith.py --count $(CSMITH_COUNT) \
		--seed $(CSMITH_SEED) --jobs $(CSMITH_JOBS)
