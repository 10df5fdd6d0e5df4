# SPDX-License-Identifier: GPL-2.0
# Hostile input, time-boxed: make fuzz FUZZ_SECONDS=600 FUZZ_SEED=1
FUZZ_SECONDS ?= 60
FUZZ_SEED ?=

FUZZ_ARGS = --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

.PHONY: fuzz-abi fuzz-lua
fuzz: fuzz-abi fuzz-lua

# Structures and threads at the module, as an ordinary user in a guest.
fuzz-abi: all $(BUILD)/tests/fuzz/abi
	vm/guest -k $(KREL) -m -u --timeout $$(($(FUZZ_SECONDS) + 300)) -- \
		$(BUILD)/tests/fuzz/abi $(FUZZ_ARGS)

# Sources at the engine, in the user backend under sanitizers.
fuzz-lua: $(BUILD)/asan/syscript
	$(BUILD)/venv/bin/python3 tests/fuzz/lua_fuzz.py --command $< --keep $(BUILD)/fuzz $(FUZZ_ARGS)

# The command with sanitizers.  Not those of the stack in the engine: errors of
# scripts pass frames by.  And not UBSan there: LuaJIT is written for the machine.
ASAN := $(BUILD)/asan
ASAN_CFLAGS := -g -fsanitize=address -fno-omit-frame-pointer --param asan-stack=0

$(ASAN)/syscript: FORCE $(BUILD)/gen/constants.inc
	@mkdir -p $(ASAN)
	@for part in vendor gen kernels config.mk; do ln -sfn ../$$part $(ASAN)/$$part; done
	+$(MAKE) BUILD=$(ASAN) CFLAGS='$(ASAN_CFLAGS)' LDFLAGS=-fsanitize=undefined \
		USER_CFLAGS='-O1 -fsanitize=undefined -fno-sanitize-recover=undefined' $@

-include $(BUILD)/tests/fuzz/abi.d
