# SPDX-License-Identifier: GPL-2.0 OR MIT
# consolidate(1): $(BUILD)/consolidate runs it from the tree, with the libraries of build/venv if
# tests have created that. A C program measures the cost model.

CONSOLIDATE := $(BUILD)/consolidate
CALIBRATE := $(BUILD)/consolidate-calibrate
CALL_NUMBERS := $(BUILD)/gen/syscall-numbers
VERSION_FILE := $(BUILD)/gen/version

.PHONY: consolidate consolidate-calibrate
consolidate-calibrate: $(CALIBRATE) $(CALL_NUMBERS) $(VERSION_FILE)
consolidate: $(CONSOLIDATE) $(CALIBRATE) $(CALL_NUMBERS) $(VERSION_FILE) $(BUILD)/syscript

$(CONSOLIDATE): consolidate/build.mk | $(BUILD)/deps/consolidate.ready
	$(call say,GEN)
	$(Q)printf '#!/bin/sh\nbuild=$$(dirname "$$(readlink -f "$$0")")\n%s\n%s\n' \
		'python=$$build/venv/bin/python; [ -x "$$python" ] || python=/usr/bin/python3' \
		'PYTHONPATH=$$build/.. exec "$$python" -m consolidate "$$@"' >$@
	$(Q)chmod 0755 $@

# Audit records identify calls by number.
$(CALL_NUMBERS): core/syscalls_nr.h consolidate/build.mk
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)$(CC) -E -dM -include $< -x c /dev/null | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/\2 \1/p' | sort -n >$@

$(VERSION_FILE): lib/syscript.h consolidate/build.mk
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)echo $(LIB_VERSION) >$@

CALIBRATE_OBJECTS := $(BUILD)/cost/calibrate.o $(BUILD)/cost/calibrate_library.o
$(CALIBRATE_OBJECTS): $(BUILD)/cost/%.o: consolidate/cost/%.c | $(BUILD)/include/syscript.h \
		$(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(CALIBRATE): $(CALIBRATE_OBJECTS) $(BENCH_COMMON) $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB_LIBS)

# Its Python code and data and, where the distribution's python3-rich is not installed, that library
# with its dependencies (all without machine code).
CONSOLIDATE_DIR = $(DESTDIR)$(PREFIX)/lib/syscript
CONSOLIDATE_LIBRARIES := rich markdown_it mdurl pygments
CONSOLIDATE_FILES = $(filter-out consolidate/tests/% consolidate/bench/%,$(wildcard consolidate/*.py \
	$(foreach type,py lua in html json c h,consolidate/*/*.$(type)) measure/*.[ch]))
VENV_LIBRARIES = $(wildcard $(BUILD)/venv/lib/python3.*/site-packages)

.PHONY: install-consolidate
ifneq ($(wildcard $(CALIBRATE)),)
install: install-consolidate
endif
install-consolidate:
	$(call built,$(CALIBRATE) $(CALL_NUMBERS) $(VERSION_FILE))
	$(call say,INSTALL,$(DESTDIR)$(PREFIX)/bin/consolidate)
	$(Q)install -d $(CONSOLIDATE_DIR)/python $(DESTDIR)$(PREFIX)/bin
	$(Q)rm -rf $(CONSOLIDATE_DIR)/consolidate
	$(Q)for file in $(CONSOLIDATE_FILES); do \
		install -D -m 0644 $$file $(CONSOLIDATE_DIR)/$$file || exit; \
	done
	$(Q)install -m 0644 core/syscalls.def $(CONSOLIDATE_DIR)/consolidate
	$(Q)install -m 0644 $(CALL_NUMBERS) $(VERSION_FILE) $(CONSOLIDATE_DIR)/consolidate
	$(Q)install -m 0755 $(CALIBRATE) $(CONSOLIDATE_DIR)/consolidate
	$(Q)for library in $(CONSOLIDATE_LIBRARIES); do \
		/usr/bin/python3 -c "import $$library" 2>/dev/null && continue; \
		rm -rf $(CONSOLIDATE_DIR)/python/$$library && \
		cp -r $(VENV_LIBRARIES)/$$library $(CONSOLIDATE_DIR)/python || exit; \
	done
	$(Q)find $(CONSOLIDATE_DIR) -name __pycache__ -prune -exec rm -rf {} +
	$(Q)printf '#!/bin/sh\n%s\n%s\n' \
		'lib=$$(dirname "$$(readlink -f "$$0")")/../lib/syscript' \
		'PYTHONPATH=$$lib:$$lib/python exec /usr/bin/python3 -B -m consolidate "$$@"' \
		>$(DESTDIR)$(PREFIX)/bin/consolidate
	$(Q)chmod 0755 $(DESTDIR)$(PREFIX)/bin/consolidate
	$(Q)install -D -m 0644 consolidate/man/consolidate.1 $(DESTDIR)$(PREFIX)/share/man/man1/consolidate.1

# Seconds to read and mine a million lines.
.PHONY: bench-consolidate bench-prediction bench-prediction-icount
bench-consolidate: $(CONSOLIDATE)
	$(BUILD)/venv/bin/python consolidate/bench/long_trace.py --lines 1000000

# Predicted and measured savings, in a guest on 6.1.
bench-prediction: consolidate module
	$(BUILD)/venv/bin/python consolidate/bench/prediction.py -k $(KREL) -o $(BUILD)/bench/prediction.json

bench-prediction-icount: consolidate module
	$(BUILD)/venv/bin/python consolidate/bench/prediction.py -k $(KREL) --icount \
		-o $(BUILD)/bench/prediction-icount.json

# The instructions in the shipped cost model, counted in a guest.
.PHONY: count-costs
COUNT_COSTS = $(abspath $(CALIBRATE)) kernel 3 && echo && $(abspath $(CALIBRATE)) user 3
count-costs: consolidate module
	vm/guest -k $(KREL) -m --icount --timeout 1800 -- sh -ec '$(COUNT_COSTS)' >$(BUILD)/counted.json
	PYTHONPATH=. $(BUILD)/venv/bin/python -m consolidate.cost.default_costs <$(BUILD)/counted.json \
		>$(BUILD)/instructions.json
	mv $(BUILD)/instructions.json consolidate/cost/instructions.json

# -- tests: the first, and consolidate/tests/vm, are part of `make test` --------------------
.PHONY: test-consolidate test-traces test-trace-tools test-live test-live-guest test-browser
test-consolidate: consolidate
	$(PYTEST) consolidate/tests/unit $(PYTEST_ARGS)

# With real programs, recorded here: longer than unit tests take.
test-traces: consolidate $(BUILD)/libsyscript.so | $(BUILD)/deps/traces.ready
	$(PYTEST) consolidate/tests/recorded --ignore consolidate/tests/recorded/test_live.py $(PYTEST_ARGS)

# Traces by the tools of three Debian releases: writes the tables of docs/traces.md.
test-trace-tools: consolidate
	$(BUILD)/venv/bin/python consolidate/tests/trace_tools.py -k $(KREL) $(TRACE_TOOLS_ARGS)

# Scripts in the place of installed programs, with the scripts in the kernel.
test-live: consolidate $(BUILD)/libsyscript.so | $(BUILD)/deps/traces.ready
	$(PYTEST) consolidate/tests/recorded/test_live.py $(PYTEST_ARGS)

test-live-guest: consolidate $(BUILD)/libsyscript.so module
	vm/guest -m -k $(KREL) --timeout 900 -- env SYSCRIPT_BACKEND=kernel \
		$(PYTEST) --long consolidate/tests/unit/test_consolidate_live.py $(PYTEST_ARGS)

# The page of `consolidate report --html` in headless Chromium.
test-browser: consolidate | $(BUILD)/deps/browser.ready
	$(PYTEST) consolidate/tests/browser $(PYTEST_ARGS)

-include $(CALIBRATE_OBJECTS:.o=.d) $(BENCH_COMMON:.o=.d)
