# SPDX-License-Identifier: GPL-2.0 OR MIT
# Files made from C headers.

HOSTCC ?= cc

$(BUILD)/gen/constants.inc: tools/gen-constants
	$(call say,GEN)
	$(Q)$< --cc '$(HOSTCC)' -o $@
