# SPDX-License-Identifier: GPL-2.0
# The planted faults, for the table of what finds them: safety/tests/plants.  They are of
# 6.1, for which there is a kernel with other tools, too.
ifneq ($(filter 6.1.% debug,$(KREL)),)
$(foreach tool,kgcc evmon kefence,$(eval $(call \
	safety_module,plants+$(tool),safety-tests,safety/tests/plants)))
$(eval $(call safety_module,plants,safety-tests,safety/tests/plants))
endif

# All tools, in guests; those of the debug kernel only if that is built.
.PHONY: bench-safety-detection
bench-safety-detection: deps safety-tests
	$(if $(wildcard $(DEBUG_TREE)/complete),$(MAKE) KREL=debug $(BUILD)/safety-debug/plants/plants.ko)
	safety/tests/plants/detection.py -k $(KREL) -o $(BUILD)/bench/safety-detection.json

# Modules that others published, built with each tool and exercised: safety/docs/modules.md.
.PHONY: test-safety-modules
test-safety-modules: deps safety
	safety/tests/published/run.py -k $(KREL) -o $(BUILD)/bench/safety-modules.json
