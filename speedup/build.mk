# SPDX-License-Identifier: GPL-2.0 OR MIT
# What `syscript speed-up` loads before a program's libraries.

SPEEDUP := $(BUILD)/libsyscript-speedup.so
# Of the library only the way into the kernel: what is loaded has to be small.
SPEEDUP_SRC := $(wildcard speedup/*.c) lib/device.c
SPEEDUP_OBJ := $(SPEEDUP_SRC:%.c=$(BUILD)/speedup/%.o)

all cli: $(SPEEDUP)

$(SPEEDUP_OBJ): $(BUILD)/speedup/%.o: %.c | $(LIB_HEADERS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -fPIC -fvisibility=hidden \
		-U_FORTIFY_SOURCE -fno-builtin -Wno-missing-prototypes -Wno-nonnull-compare -Wno-deprecated-declarations \
		-D_GNU_SOURCE -MMD -MP $(LIB_CFLAGS) -iquote lib $(CFLAGS) -c -o $@ $<

$(SPEEDUP): $(SPEEDUP_OBJ)
	$(call say,LD)
	$(Q)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-z,nodelete \
		-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -o $@ $(SPEEDUP_OBJ)

.PHONY: install-speedup
install: install-speedup
install-speedup:
	$(call built,$(SPEEDUP))
	install -D -m 0755 $(SPEEDUP) $(DESTDIR)$(LIBDIR)/syscript/$(notdir $(SPEEDUP))

-include $(SPEEDUP_OBJ:.o=.d)
