# SPDX-License-Identifier: GPL-2.0 OR MIT
# Example programs: $(BUILD)/examples/NAME.

EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))

.PHONY: examples
examples: $(EXAMPLES)

$(BUILD)/examples/%: examples/%.c $(BUILD)/libsyscript.a
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -D_GNU_SOURCE -MMD -MP $(LIB_CFLAGS) \
		$(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB_LIBS)

-include $(EXAMPLES:=.d)
