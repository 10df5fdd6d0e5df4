# SPDX-License-Identifier: GPL-2.0
# Lua as a compound, for the confined engine: $(BUILD)/lua-guest/lua.image.  The library
# finds it next to itself, here or installed.

GUEST := $(BUILD)/lua-guest
GUEST_PATCHES := $(sort $(wildcard engine/lua-guest/patches/*.patch))
GUEST_SRC := engine/lua-guest/build.mk $(wildcard engine/lua-guest/*.[ch] engine/lua-guest/*/*.[ch]) engine/luajit/util_parts.h engine/confined/image.h \
	engine/confined/image_batch.h kernel/fs/columns.h kernel/net/mmsg.h \
	kernel/fs/readdirplus.h include/uapi/syscript.h include/uapi/syscript_files.h kernel/syscalls.def kernel/syscalls_nr.h
SOFTFLOAT := $(VENDOR)/softfloat-sys/berkeley-softfloat-3/source
SOFTFLOAT_CFLAGS := -iquote engine/lua-guest/softfloat -I$(SOFTFLOAT)/include -I$(SOFTFLOAT)/8086-SSE -I$(SOFTFLOAT)
# Integers wrap; arguments of formats are pointers, too.
GUEST_CFLAGS := -O2 -fno-unroll-loops -mllvm -inline-threshold=90 -fwrapv -Wno-int-conversion -Wno-unused-function

.PHONY: lua-guest
lua-guest: $(GUEST)/lua.image

$(GUEST)/patched: $(GUEST_PATCHES) $(VENDOR_READY)
	$(Q)rm -rf $(GUEST)/src
	@mkdir -p $(GUEST)
	$(Q)cp -r $(VENDOR)/lua-src/lua-5.1.5 $(GUEST)/src
	$(Q)for p in $(GUEST_PATCHES); do \
		patch -d $(GUEST)/src -p1 -s --no-backup-if-mismatch <$$p || exit 1; done
	@touch $@

$(GUEST)/%.inc: engine/luajit/%.lua
	@mkdir -p $(@D)
	$(Q)od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g' >$@

$(GUEST)/guest.o: $(GUEST_SRC) $(GUEST)/struct.inc $(GUEST)/types.inc $(BUILD)/gen/constants.inc $(GUEST)/patched \
		$(BUILD)/cosy/cosy.so $(BUILD)/cosy/cosy-runtime.bc | $(BUILD)/cosy-cc
	$(call say,COSY)
	$(Q)$(BUILD)/cosy-cc $(GUEST_CFLAGS) -I$(GUEST)/src -I$(GUEST) -Iengine/lua-guest -I$(BUILD)/gen \
		$(SOFTFLOAT_CFLAGS) \
		-c -o $@ engine/lua-guest/guest.c

# A release has it with it, so that nobody needs clang for what is the same everywhere.
ifneq ($(wildcard vendor/lua.image),)
$(GUEST)/lua.image: vendor/lua.image
	@mkdir -p $(@D)
	$(Q)cp $< $@
GUEST_HERE := yes
else
$(GUEST)/lua.image: $(GUEST)/guest.o
	$(Q)objcopy -O binary -j cosy.image $< $@
GUEST_HERE = $(shell command -v $(COSY_CLANG) && command -v $(COSY_LLVM_CONFIG))
endif

# Built with the library where it can be; else the library says so when it is asked for.
.PHONY: lua-guest-if-here
lua-guest-if-here: $(if $(GUEST_HERE),$(GUEST)/lua.image)
	$(if $(GUEST_HERE),,@echo "no clang here: the library gets no Lua for the confined engine\
		(tools/deps clang, then make lua-guest)" >&2)

lib all: lua-guest-if-here

# -- tests: those of tests/lua and tests/attack, and PUC's own -------------------------

LUA_TESTS := $(BUILD)/lua-tests
LUA_TESTS_PACKAGE := golang-github-yuin-gopher-lua
# Next to the kernels' packages: `make clean` leaves it.
LUA_TESTS_ARCHIVE := $(BUILD)/apt/$(LUA_TESTS_PACKAGE).orig.tar.xz

$(LUA_TESTS_ARCHIVE): | apps/source.py
	$(call say,FETCH)
	$(Q)apps/source.py $(LUA_TESTS_PACKAGE) $@

$(LUA_TESTS)/complete: $(LUA_TESTS_ARCHIVE)
	$(Q)rm -rf $(@D)
	$(Q)mkdir -p $(@D)
	$(Q)tar -xf $< -C $(@D) --strip-components=2 gopher-lua/_lua5.1-tests
	@touch $@

.PHONY: test-lua-guest
test-lua-guest: all lua-guest $(LUA_TESTS)/complete
	$(PYTEST) --long tests/unit/test_lua_guest.py $(PYTEST_ARGS)
	vm/guest -k $(KREL) -m --timeout $(VM_TIME) -- $(PYTEST) --long tests/vm/test_lua_guest.py tests/vm/test_attacks.py \
		-k 'lua_guest or confined' $(PYTEST_ARGS)

unit-programs guest-programs: lua-guest $(LUA_TESTS)/complete
