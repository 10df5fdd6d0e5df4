# SPDX-License-Identifier: GPL-2.0
# The module, and the engine for the library: both from engine/luajit.

LUAJIT_MK := $(MAKE) -f engine/luajit/luajit.mk VENDOR=$(VENDOR) GEN=$(BUILD)/gen

# -- user space: $(BUILD)/luajit/user/libluajit-syscript.a ---------------------

LUAJIT_USER := $(BUILD)/luajit/user
LUAJIT_USER_CFLAGS := -g -fPIC -fvisibility=hidden

.PHONY: luajit-user
luajit-user: $(BUILD)/gen/constants.inc | $(VENDOR_READY)
	+@$(LUAJIT_MK) -s PLACE=user OUT=$(LUAJIT_USER) \
		CFLAGS="$(LUAJIT_USER_CFLAGS) $(CFLAGS)" CC="$(CC)" LD="$(LD)"

$(LUAJIT_USER)/stack.o: kernel/arch/x86/stack.S
	$(call say,AS)
	@mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

$(LUAJIT_USER)/luajit.o: luajit-user ;

$(LUAJIT_USER)/libluajit-syscript.a: $(LUAJIT_USER)/luajit.o $(LUAJIT_USER)/stack.o
	$(call say,AR)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# -- the module: $(BUILD)/kernel-RELEASE/syscript.ko ---------------------------
# with tools of the safety kit, SAFETY=kefence: $(BUILD)/kernel-RELEASE+kefence

.PHONY: FORCE
$(KMODULE): FORCE $(BUILD)/gen/constants.inc $(KTREE)/complete | $(VENDOR_READY)
	$(call say,KBUILD)
	@kernel/build-module $(KDIR) $(KOUT) $(VENDOR) $(BUILD)/gen

# sparse finds user pointers used as kernel pointers, and unbalanced locks.  Not in LuaJIT's
# files, which are not kernel code.
.PHONY: lint-module
lint-module: module | $(BUILD)/deps/lint.ready
	$(call say,SPARSE)
	$(Q)SPARSE=1 kernel/build-module $(KDIR) $(KOUT) $(VENDOR) $(BUILD)/gen
