# SPDX-License-Identifier: GPL-2.0
# KGCC: the runtime, a module as any tool of the kit, and the plugin, for the
# compiler that each kernel was built with.

$(eval $(call safety_tool,kgcc))

KGCC_OBJ := $(patsubst safety/kgcc/plugin/%.cc,$(SAFETY_OUT)/kgcc-plugin/%.o, \
	$(wildcard safety/kgcc/plugin/*.cc))
KGCC_CXXFLAGS := -std=gnu++17 -O2 -fPIC -fno-rtti -Wall -Wextra -Wno-unused-parameter \
	-Wno-literal-suffix

# The options that find the compiler's headers.
$(SAFETY_OUT)/kgcc-plugin/headers: $(KTREE)/complete
	@mkdir -p $(@D)
	$(Q)vm/kernels.py plugin $(KREL) >$@

$(KGCC_OBJ): $(SAFETY_OUT)/kgcc-plugin/%.o: safety/kgcc/plugin/%.cc $(SAFETY_OUT)/kgcc-plugin/headers
	$(call say,CXX)
	$(Q)$(CXX) $(KGCC_CXXFLAGS) $$(cat $(SAFETY_OUT)/kgcc-plugin/headers) -MMD -MP -c -o $@ $<

$(SAFETY_OUT)/kgcc/kgcc.so: $(KGCC_OBJ)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared -o $@ $^

# Who builds with the tool waits for its module: the plugin comes first.
$(SAFETY_OUT)/kgcc/kgcc.ko: $(SAFETY_OUT)/kgcc/kgcc.so

-include $(KGCC_OBJ:.o=.d)

$(eval $(call safety_test,pointers+kgcc))
# Rules that hold of it; what the compiler removed is counted in a file of each.
kgcc_stats = KGCC_STATS=$(abspath $(SAFETY_OUT))/$(1)+kgcc/checks
$(eval $(call safety_foreign,ecryptfs+kgcc,$(call kgcc_stats,ecryptfs) \
	KGCC_RULES=$(abspath tests/safety/rules/ecryptfs.rules)))
$(eval $(call safety_foreign,ecryptfs+evmon+kgcc,\
	KGCC_OPTIONS=rules-only KGCC_RULES=$(abspath tests/safety/rules/events.rules)))
$(eval $(call safety_foreign,reiserfs+kgcc,$(call kgcc_stats,reiserfs)))
