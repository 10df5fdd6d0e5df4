# SPDX-License-Identifier: GPL-2.0
# The planted faults, for the table of what finds them: tests/safety/plants.

$(foreach tool,kgcc evmon kefence,$(eval $(call \
	safety_module,plants+$(tool),safety-tests,tests/safety/plants)))
$(eval $(call safety_module,plants,safety-tests,tests/safety/plants))
