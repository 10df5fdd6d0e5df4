# SPDX-License-Identifier: GPL-2.0 OR MIT
# consolidate(1): $(BUILD)/consolidate runs it from the tree, with the libraries of
# build/venv.  The program that measures prices is C.

CONSOLIDATE := $(BUILD)/consolidate
CONSOLIDATE_PRICES := $(BUILD)/consolidate-prices

.PHONY: consolidate
consolidate: $(CONSOLIDATE) $(CONSOLIDATE_PRICES) $(BUILD)/syscript

$(CONSOLIDATE): consolidate/build.mk | $(BUILD)/config.mk
	$(call say,GEN)
	$(Q)printf '#!/bin/sh\nbuild=$$(dirname "$$(readlink -f "$$0")")\n%s\n' \
		'PYTHONPATH=$$build/.. exec "$$build/venv/bin/python" -m consolidate "$$@"' >$@
	$(Q)chmod 0755 $@

CONSOLIDATE_OBJECTS := $(BUILD)/bench/prices.o $(BUILD)/bench/prices_library.o
$(CONSOLIDATE_OBJECTS): $(BUILD)/bench/%.o: consolidate/%.c | $(BUILD)/include/syscript.h \
		$(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(CONSOLIDATE_PRICES): $(CONSOLIDATE_OBJECTS) $(BENCH_COMMON) $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB_LIBS)

# Its Python, what it reads, and the libraries it needs (all without machine code).
CONSOLIDATE_DIR = $(DESTDIR)$(PREFIX)/lib/syscript
CONSOLIDATE_LIBRARIES := networkx graphviz rich markdown_it mdurl pygments
VENV_LIBRARIES = $(wildcard $(BUILD)/venv/lib/python3.*/site-packages)

.PHONY: install-consolidate
install: install-consolidate
install-consolidate: $(CONSOLIDATE_PRICES)
	install -d $(CONSOLIDATE_DIR)/consolidate $(CONSOLIDATE_DIR)/python $(DESTDIR)$(PREFIX)/bin
	install -m 0644 consolidate/*.py consolidate/replay.c.in kernel/syscalls.def \
		$(CONSOLIDATE_DIR)/consolidate
	install -m 0755 $(CONSOLIDATE_PRICES) $(CONSOLIDATE_DIR)/consolidate
	for library in $(CONSOLIDATE_LIBRARIES); do \
		rm -rf $(CONSOLIDATE_DIR)/python/$$library && \
		cp -r $(VENV_LIBRARIES)/$$library $(CONSOLIDATE_DIR)/python || exit; \
	done
	find $(CONSOLIDATE_DIR) -name __pycache__ -prune -exec rm -rf {} +
	printf '#!/bin/sh\n%s\n%s\n' \
		'lib=$$(dirname "$$(readlink -f "$$0")")/../lib/syscript' \
		'PYTHONPATH=$$lib:$$lib/python exec /usr/bin/python3 -B -m consolidate "$$@"' \
		>$(DESTDIR)$(PREFIX)/bin/consolidate
	chmod 0755 $(DESTDIR)$(PREFIX)/bin/consolidate

# A million lines, read, mined and priced: seconds.
.PHONY: bench-consolidate bench-prediction bench-prediction-icount test-traces
bench-consolidate: $(CONSOLIDATE)
	$(BUILD)/venv/bin/python bench/consolidate.py --lines 1000000

# What was predicted beside what was measured, in a guest on 6.1.
bench-prediction: consolidate module
	$(BUILD)/venv/bin/python bench/prediction.py -k $(KREL) -o $(BUILD)/bench/prediction.json

bench-prediction-icount: consolidate module
	$(BUILD)/venv/bin/python bench/prediction.py -k $(KREL) --icount \
		-o $(BUILD)/bench/prediction-icount.json

# Of real programs, recorded here: longer than the unit tests take.
test-traces: consolidate $(BUILD)/libsyscript.so
	$(PYTEST) tests/recorded $(PYTEST_ARGS)

-include $(CONSOLIDATE_OBJECTS:.o=.d)
