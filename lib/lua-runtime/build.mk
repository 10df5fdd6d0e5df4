# SPDX-License-Identifier: GPL-2.0
# Lua as a compound, for the confined engine: $(BUILD)/lua-runtime/lua.image.  The installed
# library uses the installed image; programs that rules run are told of this one.

LUA_RUNTIME := $(BUILD)/lua-runtime
export SYSCRIPT_LUA_IMAGE ?= $(abspath $(LUA_RUNTIME))/lua.image
LUA_RUNTIME_PATCHES := $(sort $(wildcard lib/lua-runtime/patches/*.patch))
LUA_RUNTIME_SRC := lib/lua-runtime/build.mk $(wildcard lib/lua-runtime/*.[ch] lib/lua-runtime/*/*.[ch]) engine/luajit/util_parts.h include/uapi/syscript_image.h \
	include/uapi/syscript_image_batch.h core/fs/columns.h core/bytes.h core/net/accept.h core/net/mmsg.h core/net/frame.c \
	core/net/frame.h core/net/frames.h core/net/frames_text.h \
	core/fs/readdirplus.h include/uapi/syscript.h include/uapi/syscript_files.h core/syscalls.def core/syscalls_nr.h $(wildcard core/arch/*/syscalls_nr.h)
SOFTFLOAT := $(VENDOR)/softfloat-sys/berkeley-softfloat-3/source
SOFTFLOAT_CFLAGS := -iquote lib/lua-runtime/softfloat -I$(SOFTFLOAT)/include -I$(SOFTFLOAT)/8086-SSE -I$(SOFTFLOAT)
# Integers wrap around; arguments of formats may be pointers.
LUA_RUNTIME_CFLAGS := -O2 -fno-unroll-loops -mllvm -inline-threshold=90 -fwrapv -Wno-int-conversion -Wno-unused-function

# What the library and the image have to agree on, and a digest of it in both.
RUNTIME_INTERFACE := lib/lua-runtime/runtime.h lib/lua-runtime/layout.h core/output.h engine/luajit/struct.lua engine/luajit/types.lua
RUNTIME_VERSION := $(BUILD)/gen/runtime_version.h
$(RUNTIME_VERSION): $(RUNTIME_INTERFACE) lib/lua-runtime/build.mk
	@mkdir -p $(@D)
	$(Q)printf '#define RUNTIME_VERSION\t0x%.8s\n' "$$(cat $(RUNTIME_INTERFACE) | sha256sum)" >$@

.PHONY: lua-runtime
lua-runtime: $(LUA_RUNTIME)/lua.image

$(LUA_RUNTIME)/patched: $(LUA_RUNTIME_PATCHES) $(VENDOR_READY)
	$(Q)rm -rf $(LUA_RUNTIME)/src
	@mkdir -p $(LUA_RUNTIME)
	$(Q)cp -r $(VENDOR)/lua-src/lua-5.1.5 $(LUA_RUNTIME)/src
	$(Q)for p in $(LUA_RUNTIME_PATCHES); do \
		patch -d $(LUA_RUNTIME)/src -p1 -s --no-backup-if-mismatch <$$p || exit 1; done
	@touch $@

$(LUA_RUNTIME)/%.inc: engine/luajit/%.lua
	@mkdir -p $(@D)
	$(Q)sed '/-- $(if $(filter arm64,$(ARCH)),x86-64,arm64)$$/d' $< | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g' >$@

$(LUA_RUNTIME)/runtime.o: $(LUA_RUNTIME_SRC) $(LUA_RUNTIME)/struct.inc $(LUA_RUNTIME)/types.inc $(BUILD)/gen/constants.inc $(RUNTIME_VERSION) $(LUA_RUNTIME)/patched \
		$(BUILD)/cosy/cosy.so $(BUILD)/cosy/cosy-runtime.bc | $(BUILD)/cosy-cc
	$(call say,COSY)
	$(Q)$(BUILD)/cosy-cc $(COSY_TARGET) $(SIGNED_CHAR) $(LUA_RUNTIME_CFLAGS) -I$(LUA_RUNTIME)/src -I$(LUA_RUNTIME) -Ilib/lua-runtime -I$(BUILD)/gen \
		$(SOFTFLOAT_CFLAGS) \
		-c -o $@ lib/lua-runtime/runtime.c

# A release contains the image for x86-64, which is the same on all machines, so that building needs
# no clang.
ifneq ($(and $(filter x86,$(ARCH)),$(wildcard vendor/lua.image)),)
$(LUA_RUNTIME)/lua.image: vendor/lua.image
	@mkdir -p $(@D)
	$(Q)cp $< $@
LUA_RUNTIME_HERE := yes
else
$(LUA_RUNTIME)/lua.image: $(LUA_RUNTIME)/runtime.o lib/lua-runtime/digests.py
	$(Q)$(OBJCOPY) -O binary -j cosy.image $< $@.new
	$(Q)lib/lua-runtime/digests.py $@.new && mv $@.new $@
LUA_RUNTIME_HERE = $(shell command -v $(COSY_CLANG) && command -v $(COSY_LLVM_CONFIG))
endif

# Built with the library if clang is available; otherwise the library reports its absence on use.
.PHONY: lua-runtime-if-here
lua-runtime-if-here: $(if $(LUA_RUNTIME_HERE),$(LUA_RUNTIME)/lua.image)
	$(if $(LUA_RUNTIME_HERE),,@echo "no clang here: the library gets no Lua for the confined engine\
		(tools/deps clang, then make lua-runtime)" >&2)

lib all: lua-runtime-if-here
# Without LuaJIT, the command needs it, too.
ifneq ($(ARCH),x86)
cli: lua-runtime-if-here
endif

# -- tests: those of tests/lua and tests/attack, and PUC's own -------------------------

LUA_TESTS := $(BUILD)/lua-tests
LUA_TESTS_PACKAGE := golang-github-yuin-gopher-lua
# Next to the kernels' packages: `make clean` leaves it.
LUA_TESTS_ARCHIVE := $(BUILD)/apt/$(LUA_TESTS_PACKAGE).orig.tar.xz

$(LUA_TESTS_ARCHIVE): | tools/debian-source
	$(call say,FETCH)
	$(Q)tools/debian-source $(LUA_TESTS_PACKAGE) $@

$(LUA_TESTS)/complete: $(LUA_TESTS_ARCHIVE)
	$(Q)rm -rf $(@D)
	$(Q)mkdir -p $(@D)
	$(Q)tar -xf $< -C $(@D) --strip-components=2 gopher-lua/_lua5.1-tests
	@touch $@

.PHONY: test-lua-runtime
test-lua-runtime: all lua-runtime $(LUA_TESTS)/complete
	$(PYTEST) --long tests/unit/test_lua_runtime.py $(PYTEST_ARGS)
	vm/guest -k $(KREL) -m --timeout $(VM_TIME) -- $(PYTEST) --long tests/vm/test_lua_runtime.py tests/vm/test_attacks.py \
		-k 'lua_runtime or confined' $(PYTEST_ARGS)

unit-programs guest-programs: lua-runtime $(LUA_TESTS)/complete
