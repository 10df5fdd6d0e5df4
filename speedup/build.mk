# SPDX-License-Identifier: GPL-2.0 OR MIT
# What `syscript speed-up` loads before a program's libraries.

SPEEDUP := $(BUILD)/libsyscript-speedup.so
SPEEDUP_SRC := $(wildcard speedup/*.c)
SPEEDUP_OBJ := $(SPEEDUP_SRC:%.c=$(BUILD)/%.o)

cli: $(SPEEDUP)

$(BUILD)/speedup/%.o: speedup/%.c | $(LIB_HEADERS)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -fPIC -fvisibility=hidden \
		-U_FORTIFY_SOURCE -fno-builtin -Wno-missing-prototypes -Wno-nonnull-compare -Wno-deprecated-declarations \
		-D_GNU_SOURCE -MMD -MP $(LIB_CFLAGS) -iquote lib $(CFLAGS) -c -o $@ $<

# With the library in it, of which nothing is seen outside.
$(SPEEDUP): $(SPEEDUP_OBJ) $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,--exclude-libs,ALL -Wl,-z,nodelete \
		-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -o $@ $(SPEEDUP_OBJ) $(LIB_LIBS)

.PHONY: install-speedup
install: install-speedup
install-speedup:
	$(call built,$(SPEEDUP))
	install -D -m 0755 $(SPEEDUP) $(DESTDIR)$(LIBDIR)/syscript/$(notdir $(SPEEDUP))

-include $(SPEEDUP_OBJ:.o=.d)
