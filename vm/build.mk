# SPDX-License-Identifier: GPL-2.0 OR MIT
# Counting a guest's instructions: vm/profile.

PROFILE_CFLAGS = -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -D_GNU_SOURCE

$(BUILD)/vm/counter.so: vm/profile/counter.c vm/profile/mark.h vm/profile/qemu_plugin.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PROFILE_CFLAGS) $(CFLAGS) -shared -fPIC -fvisibility=hidden -o $@ $<

$(BUILD)/vm/whole: vm/profile/whole.c vm/profile/mark.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PROFILE_CFLAGS) $(CFLAGS) -o $@ $<

# The instructions that CMD executes, divided by PER.
CMD ?= $(BUILD)/bench/inner getppid inside_jit $(PER)
PER ?= 10000
PROFILE ?= $(BUILD)/bench/profile.json

.PHONY: profile-icount
profile-icount: $(BUILD)/vm/counter.so $(BUILD)/vm/whole $(BUILD)/bench/inner module
	vm/profile/icount.py run -k $(KREL) --per $(PER) -o $(PROFILE) $(PROFILE_ARGS) -- $(CMD)
