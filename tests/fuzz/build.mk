# SPDX-License-Identifier: GPL-2.0
# Hostile input, time-boxed: make fuzz FUZZ_SECONDS=600 FUZZ_SEED=1
FUZZ_SECONDS ?= 60
FUZZ_SEED ?=

FUZZ_ARGS = --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

.PHONY: fuzz-abi fuzz-lua fuzz-memory fuzz-jit fuzz-engines
fuzz: fuzz-abi fuzz-lua fuzz-memory fuzz-jit fuzz-engines

# Malformed structures and racing threads, as an ordinary user in a guest.
fuzz-abi: all $(BUILD)/tests/fuzz/abi
	vm/guest -k $(KREL) -m -u --timeout $$(($(FUZZ_SECONDS) + 300)) -- \
		$(BUILD)/tests/fuzz/abi $(FUZZ_ARGS)

# Sources at the engine, in the user backend under sanitizers.
fuzz-lua: $(BUILD)/asan/syscript
	$(BUILD)/venv/bin/python3 tests/fuzz/lua_fuzz.py --command $< --keep $(BUILD)/fuzz $(FUZZ_ARGS)

# The same with allocations that fail.
fuzz-memory: $(BUILD)/asan/replay
	$(BUILD)/venv/bin/python3 tests/fuzz/memory_fuzz.py --command $< --keep $(BUILD)/fuzz $(FUZZ_ARGS)

# Compiled against interpreted code.
fuzz-jit: $(BUILD)/asan/replay
	$(BUILD)/venv/bin/python3 tests/fuzz/jit_fuzz.py --command $< --keep $(BUILD)/fuzz $(FUZZ_ARGS)

# LuaJIT against Lua on the confined engine, interpreted and compiled.
fuzz-engines: all lua-runtime
	$(BUILD)/venv/bin/python3 tests/fuzz/engine_fuzz.py --keep $(BUILD)/fuzz $(FUZZ_ARGS)

# The same until so many programs are compared, or ten differ; goes on where it was stopped.
FUZZ_PROGRAMS ?= 1000000

.PHONY: fuzz-engines-long
fuzz-engines-long: all lua-runtime
	@mkdir -p $(BUILD)/fuzz
	$(BUILD)/venv/bin/python3 tests/fuzz/engine_fuzz.py --keep $(BUILD)/fuzz --seconds 1e9 \
		--programs $(FUZZ_PROGRAMS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED)) \
		--state $(BUILD)/fuzz/engines$(addprefix -,$(FUZZ_SEED)).json

# The command with sanitizers. The engine is built without stack sanitizers, because a script's
# error skips frames, and without UBSan, because LuaJIT relies on machine behaviour.
ASAN := $(BUILD)/asan
ASAN_CFLAGS := -g -DSYSCRIPT_FUZZ -fsanitize=address -fno-omit-frame-pointer --param asan-stack=0

$(ASAN)/syscript: FORCE $(BUILD)/gen/constants.inc $(BUILD)/gen/repl.inc
	@mkdir -p $(ASAN)
	@for part in vendor gen kernels deps config.mk; do ln -sfn ../$$part $(ASAN)/$$part; done
	+$(MAKE) BUILD=$(ASAN) CFLAGS='$(ASAN_CFLAGS)' LDFLAGS=-fsanitize=undefined \
		USER_CFLAGS='-O1 -fsanitize=undefined -fno-sanitize-recover=undefined' $@

# Runs one script many times in a process.
$(ASAN)/replay: tests/fuzz/replay.c $(ASAN)/syscript
	$(CC) -std=gnu11 -O1 -D_GNU_SOURCE -I$(BUILD)/include $(ASAN_CFLAGS) -fsanitize=undefined \
		-o $@ $< $(ASAN)/libsyscript.a -lm -lpthread

-include $(BUILD)/tests/fuzz/abi.d

# Images for the confined engine: make fuzz-confined FUZZ_JOBS=2. The kept corpus has one input for
# each behaviour; jobs share new inputs, and each has its own seed, counting from FUZZ_SEED. After
# FUZZ_SECONDS each job runs FUZZ_RUNS mutations of the corpus without coverage feedback, which is
# fast.
FUZZ_JOBS ?= 1
FUZZ_RUNS ?= 1000000
CONFINED_FUZZ := $(BUILD)/tests/fuzz/confined
CONFINED_CORPUS := tests/fuzz/confined.corpus

# $(1): a job's command, with {} for its number. Its output is printed when it has ended.
fuzz_jobs = cd $(BUILD)/fuzz && seq 0 $$(($(FUZZ_JOBS) - 1)) | xargs -P $(FUZZ_JOBS) -I{} sh -c \
	'$(1) >fuzz-{}.log 2>&1; status=$$?; tail -n 20 fuzz-{}.log; exit $$status'

.PHONY: fuzz-confined
fuzz-confined: $(CONFINED_FUZZ) $(CONFINED_FUZZ)-many $(CONFINED_FUZZ)-asan $(CONFINED_FUZZ)-msan
	@mkdir -p $(BUILD)/fuzz/confined
	$(call fuzz_jobs,$(abspath $<) confined $(abspath $(CONFINED_CORPUS)) -max_len=2048 \
		-max_total_time=$(FUZZ_SECONDS) $(if $(FUZZ_SEED),-seed=$$(($(FUZZ_SEED) + {}))))
	$(call fuzz_jobs,$(abspath $<)-many $(FUZZ_RUNS) $$(($(or $(FUZZ_SEED),$$(date +%s)) + {})) \
		confined $(abspath $(CONFINED_CORPUS)))
	$(CONFINED_FUZZ)-asan -runs=0 $(BUILD)/fuzz/confined $(CONFINED_CORPUS)
	$(CONFINED_FUZZ)-msan -runs=0 $(BUILD)/fuzz/confined $(CONFINED_CORPUS)

# Tracing comparisons would take half of the time; inputs become valid without it.
$(CONFINED_FUZZ): private SANITIZERS := fuzzer -fno-sanitize-coverage=trace-cmp
$(CONFINED_FUZZ)-asan: private SANITIZERS := fuzzer,address,undefined -fno-sanitize-recover=undefined -fstrict-flex-arrays=3
$(CONFINED_FUZZ)-msan: private SANITIZERS := fuzzer,memory
$(CONFINED_FUZZ) $(CONFINED_FUZZ)-asan $(CONFINED_FUZZ)-msan: tests/fuzz/confined.c $(CONFINED) $(CONFINED_HEADERS)
	tools/deps clang
	@mkdir -p $(@D)
	clang-19 $(CONFINED_CFLAGS) -fsanitize=$(SANITIZERS) -o $@ $(filter %.c %.S,$^)

$(CONFINED_FUZZ)-many: tests/fuzz/confined.c tests/fuzz/many.c $(CONFINED) $(CONFINED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CONFINED_CFLAGS) -flto=auto -o $@ $(filter %.c %.S,$^)
