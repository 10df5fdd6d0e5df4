# SPDX-License-Identifier: GPL-2.0
# The confined engine in processes: for the library, which lists its sources (lib/build.mk),
# for compounds, tests and fuzzers.

CONFINED_OBJ := $(addprefix $(BUILD)/engine/confined/,validate_image.o fuel.o liveness.o jit.o verify_code.o verify_step.o machine.o \
	batch_calls.o batch_frames.o engine.o user/memory.o user/native.o user/platform.o $(addprefix arch/$(ARCH)/,jit_$(ARCH).o verify_$(ARCH).o stubs.o))

$(BUILD)/cosy/libcosy.o: $(CONFINED_OBJ)
$(BUILD)/syscript: $(BUILD)/engine/confined/print.o

-include $(BUILD)/engine/confined/print.d

CONFINED := $(addprefix engine/confined/,validate_image.c fuel.c liveness.c jit.c verify_code.c verify_step.c machine.c \
	interpret.c user/memory.c $(addprefix arch/$(ARCH)/,jit_$(ARCH).c verify_$(ARCH).c stubs.S)) core/user/arena.c
CONFINED_HEADERS := $(wildcard $(addprefix engine/confined/,*.h arch/*.h arch/$(ARCH)/*.h user/*.h)) include/uapi/syscript_image.h \
	core/user/arena.h core/user/lock.h tests/confined/no_locks.h
CONFINED_CFLAGS := -std=gnu11 -O2 -g $(SIGNED_CHAR) -iquote core $(USER_WARNINGS)

$(BUILD)/tests/confined/subject.so: tests/confined/subject.c $(CONFINED) $(CONFINED_HEADERS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFINED_CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c %.S,$^)

# For a processor that is emulated, as a program: tests/confined/remote.py.
$(BUILD)/tests/confined/remote: tests/confined/remote.c tests/confined/subject.c $(CONFINED) $(CONFINED_HEADERS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFINED_CFLAGS) -static -o $@ $< $(CONFINED)

unit-programs guest-programs: $(BUILD)/tests/confined/subject.so

# Plants faults in the code generator, each of which the verifier must refuse; mutations.py has
# the table.
.PHONY: test-verify test-weakened prove
test-verify: $(BUILD)/tests/confined/subject.so
	$(BUILD)/venv/bin/python3 tests/confined/mutants.py

# The part of docs/design/proof.md on single instructions.  make prove PROVE=claims
# ARCH=arm64: of A64's, whose verifier is compiled for this machine.
PROVE ?=
PROVER := $(BUILD)/prove/venv/.ready

$(PROVER): tests/confined/requirements.txt
	python3 -m venv --clear $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@

PROVE_SRC := tests/confined/prove.c tests/confined/native.c engine/confined/verify_step.c
PROVE_DECODER := engine/confined/verify_step.c $(wildcard engine/confined/arch/*/verify_*.c)
$(BUILD)/prove/prove.so: $(PROVE_SRC)
$(BUILD)/prove/prove_arm64.so: tests/confined/prove_arm64.c
$(BUILD)/prove/%.so: tests/confined/prove_step.h $(PROVE_DECODER) $(CONFINED_HEADERS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFINED_CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ \
		$(if $(findstring arm64,$*),tests/confined/prove_arm64.c,$(PROVE_SRC))

PROVE_FOR := prove$(if $(filter arm64,$(FOR)),_arm64)
prove: $(BUILD)/prove/$(PROVE_FOR).so $(PROVER)
	$(PROVER:.ready=bin/python3) tests/confined/$(PROVE_FOR).py $< $(PROVE)

# The part of docs/design/proof.md on the decoder's own code.
.PHONY: prove-c
prove-c:
	$(Q)tools/deps frama-c
	$(Q)frama-c -c11 -eva -eva-slevel 400 -eva-slevel-function main:20000 \
		-eva-precision 3 -machdep gcc_x86_64 -eva-verbose 0 \
		-eva-warn-key alarm=abort tests/confined/eva.c

# Lines of trusted code.
.PHONY: trusted
trusted:
	python3 tests/confined/trusted.py

# Removes each check of the verifier in turn: its tests or the proof must fail.
test-weakened: $(PROVER)
	$(BUILD)/venv/bin/python3 tests/confined/weakened.py $(PROVER:.ready=bin/python3)
