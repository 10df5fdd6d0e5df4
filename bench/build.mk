# SPDX-License-Identifier: GPL-2.0 OR MIT
# Measuring programs, and the targets that run them in a guest on 6.1.

BENCH_COMMON := $(BUILD)/bench/measure.o $(BUILD)/bench/source.o
BENCH_PROGRAMS := $(BUILD)/bench/micro $(BUILD)/bench/latency $(BUILD)/bench/files \
	$(BUILD)/bench/connections
BENCH_CFLAGS = -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -D_GNU_SOURCE -MMD -MP \
	$(LIB_CFLAGS) -Ibench

$(BUILD)/bench/%.o: bench/%.c | $(BUILD)/include/syscript.h \
		$(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BENCH_PROGRAMS): %: %.o $(BENCH_COMMON) $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB_LIBS)

$(BUILD)/bench/files: $(BUILD)/bench/uring.o

$(BUILD)/bench/udp: $(BUILD)/bench/udp.o $(BUILD)/bench/udp_server.o $(BENCH_COMMON) \
		$(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB_LIBS) -luring

.PHONY: bench-micro bench-micro-icount bench-latency bench-udp
bench-micro: $(BUILD)/bench/micro module
	bench/micro.py -k $(KREL) -o $(BUILD)/bench/micro.json

bench-micro-icount: $(BUILD)/bench/micro module
	bench/micro.py -k $(KREL) --icount -o $(BUILD)/bench/micro-icount.json

bench-latency: $(BUILD)/bench/latency module
	bench/latency.py -k $(KREL) -o $(BUILD)/bench/latency.json

bench-udp: $(BUILD)/bench/udp module
	bench/udp.py -k $(KREL) -o $(BUILD)/bench/udp.json

.PHONY: bench-connections bench-connections-icount
bench-connections: $(BUILD)/bench/connections module
	bench/connections.py -k $(KREL) -o $(BUILD)/bench/connections.json

bench-connections-icount: $(BUILD)/bench/connections module
	bench/connections.py -k $(KREL) --icount -o $(BUILD)/bench/connections-icount.json

.PHONY: bench-files bench-files-icount
bench-files: $(BUILD)/bench/files module
	bench/files.py -k $(KREL) -o $(BUILD)/bench/files.json

bench-files-icount: $(BUILD)/bench/files module
	bench/files.py -k $(KREL) --icount -o $(BUILD)/bench/files-icount.json

-include $(wildcard $(BUILD)/bench/*.d)
