# SPDX-License-Identifier: GPL-2.0
# evmon.ko with its monitors.

$(eval $(call safety_tool,evmon))
$(eval $(call safety_foreign,ecryptfs+evmon))
$(eval $(call safety_foreign,reiserfs+evmon))
$(eval $(call safety_test,planted_locks+evmon))
$(eval $(call safety_test,cve_2019_15538+evmon))
# Not built with it.
$(eval $(call safety_test,unprepared))

# -- libkernevents, and what writes its events to a file ------------------------

KERNEVENTS := safety/evmon/lib
KERNEVENTS_CFLAGS = -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -Isafety/evmon \
	$(shell pkg-config --cflags libtracefs) $(CFLAGS)
KERNEVENTS_LIBS = $(shell pkg-config --libs libtracefs)

safety: $(BUILD)/libkernevents.so $(BUILD)/evmon-log

$(BUILD)/libkernevents.so: $(KERNEVENTS)/kernevents.c $(KERNEVENTS)/kernevents.h \
		safety/evmon/events.def safety/evmon/packed.h $(KERNEVENTS)/libkernevents.map \
		| $(BUILD)/deps/safety.ready
	$(call say,CC)
	$(Q)$(CC) $(KERNEVENTS_CFLAGS) -shared -fPIC -Wl,-soname,libkernevents.so.0 \
		-Wl,--version-script=$(KERNEVENTS)/libkernevents.map \
		-o $@ $< $(KERNEVENTS_LIBS)
	$(Q)ln -sf libkernevents.so $(BUILD)/libkernevents.so.0

$(BUILD)/evmon-log: $(KERNEVENTS)/evmon-log.c $(BUILD)/libkernevents.so
	$(call say,CC)
	$(Q)$(CC) $(KERNEVENTS_CFLAGS) -o $@ $< -L$(BUILD) -lkernevents \
		-Wl,-rpath,'$$ORIGIN'
