# SPDX-License-Identifier: GPL-2.0 OR MIT
# $(BUILD)/bench/udpload/udpload, a load generator for memcached over UDP, and a reflector, which
# answers its tests.

UDPLOAD := $(BUILD)/bench/udpload/udpload
REFLECTOR := $(BUILD)/bench/udpload/reflector
UDPLOAD_SRC := $(filter-out %/reflector.c,$(wildcard bench/udpload/*.c))
UDPLOAD_OBJ := $(UDPLOAD_SRC:%.c=$(BUILD)/%.o) $(BUILD)/bench/udpload/hdr_histogram.o
REFLECTOR_OBJ := $(BUILD)/bench/udpload/reflector.o $(BUILD)/bench/udpload/dataset.o
HDR := $(VENDOR)/hdrhistogram-c/HdrHistogram_c/src

$(BUILD)/bench/udpload/hdr_histogram.o: $(HDR)/hdr_histogram.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(USER_CFLAGS) $(CFLAGS) -c -o $@ $<

$(sort $(UDPLOAD_OBJ) $(REFLECTOR_OBJ)): private BENCH_CFLAGS += -isystem $(HDR)

$(UDPLOAD): $(UDPLOAD_OBJ) $(BUILD)/measure/measure.o
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(REFLECTOR): $(REFLECTOR_OBJ) $(BUILD)/measure/measure.o
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

unit-programs: $(UDPLOAD) $(REFLECTOR)

-include $(wildcard $(BUILD)/bench/udpload/*.d)
