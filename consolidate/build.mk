# SPDX-License-Identifier: GPL-2.0 OR MIT
# consolidate(1): $(BUILD)/consolidate runs it from the tree, with the libraries of
# build/venv.  The program that measures prices is C.

CONSOLIDATE := $(BUILD)/consolidate
CONSOLIDATE_PRICES := $(BUILD)/consolidate-prices

.PHONY: consolidate
consolidate: $(CONSOLIDATE) $(CONSOLIDATE_PRICES) $(BUILD)/syscript

$(CONSOLIDATE): consolidate/build.mk | $(BUILD)/config.mk
	printf '#!/bin/sh\nbuild=$$(dirname "$$(readlink -f "$$0")")\n%s\n' \
		'PYTHONPATH=$$build/.. exec "$$build/venv/bin/python" -m consolidate "$$@"' >$@
	chmod 0755 $@

$(BUILD)/bench/prices.o: consolidate/prices.c | $(BUILD)/include/syscript.h \
		$(BUILD)/include/linux/syscript.h
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(CONSOLIDATE_PRICES): $(BUILD)/bench/prices.o $(BENCH_COMMON) $(BUILD)/libsyscript.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BENCH_COMMON) $(LIB_LIBS)
