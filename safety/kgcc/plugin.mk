# SPDX-License-Identifier: GPL-2.0
# KGCC's plugin for one compiler: included, or run by itself, as DKMS does:
#
#	make -f safety/kgcc/plugin.mk KGCC_OUT=... KGCC_HEADERS=...
#
# KGCC_OUT is the output directory, KGCC_HEADERS a file with the options that find the compiler's
# headers.

KGCC_PLUGIN_DIR := $(dir $(lastword $(MAKEFILE_LIST)))plugin
KGCC_SO ?= $(KGCC_OUT)/kgcc.so
KGCC_OBJ := $(patsubst $(KGCC_PLUGIN_DIR)/%.cc,$(KGCC_OUT)/%.o, \
	$(wildcard $(KGCC_PLUGIN_DIR)/*.cc))
KGCC_CXXFLAGS := -std=gnu++17 -O2 -fPIC -fno-rtti -Wall -Wextra -Wno-unused-parameter \
	-Wno-literal-suffix

$(KGCC_SO): $(KGCC_OBJ)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared -o $@ $^

$(KGCC_OBJ): $(KGCC_OUT)/%.o: $(KGCC_PLUGIN_DIR)/%.cc $(KGCC_HEADERS)
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(KGCC_CXXFLAGS) $$(cat $(KGCC_HEADERS)) -MMD -MP -c -o $@ $<

-include $(KGCC_OBJ:.o=.d)
