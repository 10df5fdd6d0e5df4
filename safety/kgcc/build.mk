# SPDX-License-Identifier: GPL-2.0
# KGCC: the runtime, a module like the other tools', and a plugin for the compiler that each kernel
# was built with.

$(eval $(call safety_tool,kgcc))

KGCC_OUT := $(SAFETY_OUT)/kgcc-plugin
KGCC_HEADERS := $(KGCC_OUT)/headers
KGCC_SO := $(SAFETY_OUT)/kgcc/kgcc.so
include safety/kgcc/plugin.mk

# Options that find the headers of the kernel's compiler.
$(KGCC_HEADERS): $(KTREE)/complete
	@mkdir -p $(@D)
	$(Q)vm/kernels.py plugin $(KREL) >$@

# Instrumented modules depend on kgcc.ko, so build the plugin before it.
$(SAFETY_OUT)/kgcc/kgcc.ko: $(KGCC_SO)

$(eval $(call safety_test,pointers+kgcc))
$(eval $(call safety_test,leaky+kgcc))

# Fuzzing: random programs with all checks and with those left after elimination. FUZZ_SEED is the
# first file's; each file has KGCC_PROGRAMS programs.
KGCC_SECONDS ?= 600
KGCC_PROGRAMS ?= 200
.PHONY: fuzz-kgcc
fuzz-kgcc: $(KGCC_SO)
	$(BUILD)/venv/bin/python3 safety/tests/elimination/fuzz.py $(KGCC_SO) \
		--cc $$(sed -n 's,.*/gcc/[^/]*/\([0-9]*\)/.*,gcc-\1,p' $(KGCC_HEADERS)) \
		--programs $(KGCC_PROGRAMS) --files 1000000 --seconds $(KGCC_SECONDS) \
		$(if $(FUZZ_SEED),--seed $(FUZZ_SEED))
# How checks scale with CPUs, with KGCC and without.
$(eval $(call safety_test,scaling))
$(eval $(call safety_test,scaling+kgcc))
# Rules that its workload breaks none of; the checks that the compiler removed are counted in a
# file for each module.
kgcc_stats = KGCC_STATS=$(abspath $(SAFETY_OUT))/$(1)+kgcc/checks
$(eval $(call safety_foreign,ecryptfs+kgcc,$(call kgcc_stats,ecryptfs) \
	KGCC_RULES=$(abspath safety/tests/rules/ecryptfs.rules)))
$(eval $(call safety_foreign,ecryptfs+evmon+kgcc,\
	KGCC_OPTIONS=rules-only KGCC_RULES=$(abspath safety/tests/rules/events.rules)))
$(eval $(call safety_foreign,reiserfs+kgcc,$(call kgcc_stats,reiserfs)))
