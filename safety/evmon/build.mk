# SPDX-License-Identifier: GPL-2.0
# evmon.ko with its monitors.

$(eval $(call safety_tool,evmon))
$(eval $(call safety_foreign,ecryptfs+evmon))
$(eval $(call safety_foreign,reiserfs+evmon))
$(eval $(call safety_test,planted_locks+evmon))
$(eval $(call safety_test,cve_2019_15538+evmon))
# A module that is not built with evmon.
$(eval $(call safety_test,unprepared))

# -- libkernevents, and what writes its events to a file ------------------------

safety: $(BUILD)/libkernevents.so $(BUILD)/evmon-log

$(BUILD)/libkernevents.so $(BUILD)/evmon-log &: $(wildcard safety/evmon/lib/*.[ch]) \
		safety/evmon/events.def safety/evmon/packed.h safety/evmon/lib/libkernevents.map \
		| $(BUILD)/deps/safety.ready
	$(call say,CC)
	$(Q)$(MAKE) -s -C safety library LIBRARY_OUT=$(abspath $(BUILD)) CFLAGS='$(CFLAGS)'
