# SPDX-License-Identifier: GPL-2.0
# Included by a module's Kbuild under SAFETY=kgcc; kgcc(8) has the settings.

kgcc_option = -fplugin-arg-kgcc-$(1)

kgcc_plugin := $(SAFETY_BUILT)/kgcc/kgcc.so
# kbuild runs in another directory: relative names are relative to the module's.
kgcc_rules := $(if $(KGCC_RULES),$(if $(filter /%,$(KGCC_RULES)),,$(src)/)$(KGCC_RULES))

# Paths that leak resources are found at compile time, without any code.
kgcc_paths := $(if $(filter 1,$(KGCC_PATHS)),$(safety_dir)/kgcc/kernel.rules)

# A changed plugin or rule file changes the command line, so that kbuild recompiles.
ccflags-y += -fplugin=$(kgcc_plugin) \
	-DKGCC_PLUGIN=$(firstword $(shell cat $(kgcc_plugin) $(kgcc_rules) $(kgcc_paths) | cksum))
# With SAFETY=evmon,kgcc, events of rules go to evmon.
ccflags-y += $(if $(filter evmon,$(safety_tools)),$(call kgcc_option,events))
ccflags-y += $(foreach rules,$(kgcc_rules) $(kgcc_paths),$(call kgcc_option,rules=$(rules)))
ccflags-y += $(if $(KGCC_STATS),$(call kgcc_option,stats=$(KGCC_STATS)))
ccflags-y += $(foreach option,$(KGCC_OPTIONS),$(call kgcc_option,$(option)))
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/kgcc/Module.symvers
