# SPDX-License-Identifier: GPL-2.0 OR MIT
# syscript(1): $(BUILD)/syscript, with the library linked in, so that it runs
# from where it was built.

# disasm.c shows machine code for x86-64.
CLI_SRC := $(filter-out cli/$(if $(filter x86,$(ARCH)),no_disasm,disasm).c,$(wildcard cli/*.c))
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)

.PHONY: cli
cli: $(BUILD)/syscript $(BUILD)/gen/syscript.d.lua

$(BUILD)/cli/%.o: cli/%.c | $(BUILD)/include/syscript.h $(BUILD)/include/syscript_programs.h \
		$(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -D_GNU_SOURCE -MMD -MP $(LIB_CFLAGS) -I$(BUILD)/gen -iquote core -iquote lib \
		-DNEWEST_TESTED='"$(file <kernel/tested)"' $(CFLAGS) -c -o $@ $<

# The script of repl, as a C string.
$(BUILD)/gen/repl.inc: cli/repl.lua
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< >$@

$(BUILD)/cli/repl.o: $(BUILD)/gen/repl.inc

# The functions of scripts, from the editors' annotations.
$(BUILD)/gen/members.inc: bindings/editor/syscript.d.lua.in
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sed -n 's/^function \([a-z]*\.[a-z_]*\)(.*/MEMBER("\1")/p' $< >$@

$(BUILD)/cli/hints.o: $(BUILD)/gen/constants.inc $(BUILD)/gen/members.inc

$(BUILD)/cli/doctor.o $(BUILD)/cli/probes.o: kernel/tested

# Links the library's objects, because disasm shows its confined engine's code: lib/build.mk.
$(BUILD)/syscript: $(CLI_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB_ENGINE) -lm -lpthread

.PHONY: install-cli
install: install-cli
install-cli: built-for-libdir
	$(call built,$(BUILD)/syscript $(BUILD)/gen/syscript.d.lua)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX)/bin)
	$(Q)install -D -m 0755 $(BUILD)/syscript $(DESTDIR)$(PREFIX)/bin/syscript
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/syscript/scripts/net
	$(Q)install -m 0644 scripts/*.lua $(DESTDIR)$(PREFIX)/share/syscript/scripts
	$(Q)install -m 0644 scripts/net/*.lua $(DESTDIR)$(PREFIX)/share/syscript/scripts/net
	$(Q)install -D -m 0644 $(BUILD)/gen/syscript.d.lua \
		$(DESTDIR)$(PREFIX)/share/syscript/lua/syscript.d.lua
	$(Q)install -D -m 0644 cli/completions/syscript.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/syscript
	$(Q)install -D -m 0644 cli/completions/_syscript \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_syscript
	$(Q)install -D -m 0644 cli/completions/syscript.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/syscript.fish
	$(Q)for page in $(filter-out man/cosy%,$(wildcard man/*.[1-9])); do \
		section=$${page##*.} file=$${page##*/}; \
		dir=$(DESTDIR)$(PREFIX)/share/man/man$$section; \
		install -D -m 0644 $$page $$dir/$$file; \
		for name in $$(sed -n '/^.Sh NAME/,/^.Nd/s/^\.Nm \([a-z_]*\).*/\1/p' $$page); do \
			[ $$dir/$$name.$$section -ef $$dir/$$file ] || \
				ln -sf $$file $$dir/$$name.$$section; \
		done; \
	done

-include $(CLI_OBJ:.o=.d)
