# SPDX-License-Identifier: GPL-2.0 OR MIT
# make demo: UDP traffic, drained by a script and by system calls, in a guest.

DEMO := $(BUILD)/demo/drain
DEMO_OBJ := $(BUILD)/demo/drain.o $(BUILD)/demo/traffic.o
# As an ordinary user of the module's group, with settings that make ratios fair.
DEMO_GUEST := vm/guest -k $(KREL) -m -u --fair --timeout 300

$(BUILD)/demo/%.o: demo/%.c | $(BUILD)/include/syscript.h $(BUILD)/include/linux/syscript.h
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(DEMO): $(DEMO_OBJ) $(BENCH_COMMON) $(BUILD)/libsyscript.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(DEMO_OBJ) $(BENCH_COMMON) $(LIB_LIBS)

demo: $(DEMO) $(BUILD)/syscript module
	@echo "demo: booting Linux $(KREL) in a guest, with syscript.ko (about half a minute)"
	@$(DEMO_GUEST) -- sh -c '$(BUILD)/syscript doctor && exec $(DEMO) scripts/recv_batch.lua'

-include $(DEMO_OBJ:.o=.d)
