# SPDX-License-Identifier: GPL-2.0
# The planted faults, for the table of which tool finds them: safety/tests/plants. They are built
# for 6.1, of which there is a debug kernel, too.
ifneq ($(filter 6.1.% debug,$(KREL)),)
$(foreach tool,kgcc evmon kefence,$(eval $(call \
	safety_module,plants+$(tool),safety-tests,safety/tests/plants)))
$(eval $(call safety_module,plants,safety-tests,safety/tests/plants))
endif

# All tools, in guests; the debug kernel's only if it is built.
.PHONY: bench-safety-detection
bench-safety-detection: deps safety-tests
	$(if $(wildcard $(DEBUG_TREE)/complete),$(MAKE) KREL=debug $(BUILD)/safety-debug/plants/plants.ko)
	safety/tests/plants/detection.py -k $(KREL) -o $(BUILD)/bench/safety-detection.json

# Published modules, built with each tool and exercised: safety/docs/modules.md.
.PHONY: test-safety-modules
test-safety-modules: deps safety
	safety/tests/published/run.py -k $(KREL) -o $(BUILD)/bench/safety-modules.json
