# SPDX-License-Identifier: GPL-2.0
# The confined engine in processes: for compounds, its tests, and to be fuzzed.

CONFINED_OBJ := $(addprefix $(BUILD)/engine/confined/,check.o fuel.o jit_x86.o verify.o verify_step.o \
	verify_x86.o machine.o user/place.o user/vm.o stubs.o)

$(BUILD)/cosy/libcosy.o $(BUILD)/syscript $(BUILD)/bench/guest: $(CONFINED_OBJ)
$(BUILD)/syscript $(BUILD)/bench/guest: $(BUILD)/engine/confined/print.o $(BUILD)/cosy/load.o

-include $(CONFINED_OBJ:.o=.d) $(BUILD)/engine/confined/print.d

CONFINED := $(addprefix engine/confined/,check.c fuel.c jit_x86.c verify.c verify_step.c \
	verify_x86.c machine.c interpret.c user/place.c stubs.S)
CONFINED_HEADERS := $(wildcard engine/confined/*.h engine/confined/user/*.h)
CONFINED_CFLAGS := -std=gnu11 -O2 -g $(USER_WARNINGS)

$(BUILD)/tests/confined/subject.so: tests/confined/subject.c $(CONFINED) $(CONFINED_HEADERS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFINED_CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c %.S,$^)

unit-programs guest-programs: $(BUILD)/tests/confined/subject.so
