# SPDX-License-Identifier: GPL-2.0 OR MIT
# Files made from C headers.

HOSTCC ?= cc

$(BUILD)/gen/constants.inc: tools/gen-constants
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)$< --cc '$(if $(CROSS),$(CC),$(HOSTCC))' -o $@

# Annotations of scripts for editors: docs/editor.md.
ANNOTATIONS := bindings/editor/syscript.d.lua.in core/syscalls.def $(BUILD)/gen/constants.inc
$(BUILD)/gen/syscript.d.lua: tools/gen-annotations $(ANNOTATIONS)
	$(call say,GEN)
	$(Q)$^ >$@
