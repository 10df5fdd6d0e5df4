# SPDX-License-Identifier: GPL-2.0
# cosy-cc and what it needs: $(BUILD)/cosy-cc, $(BUILD)/cosy/.

COSY := $(BUILD)/cosy
COSY_CLANG := clang-19
COSY_LLVM_CONFIG := llvm-config-19
# For compounds of another architecture; its headers lack old system calls.
COSY_TARGET := $(if $(filter arm64,$(ARCH)),--target=aarch64-linux-gnu)
COSY_PLUGIN_SRC := $(wildcard cosy/plugin/*.cpp)
COSY_PLUGIN_OBJ := $(COSY_PLUGIN_SRC:%.cpp=$(BUILD)/%.o)
COSY_RUNTIME_SRC := $(wildcard cosy/runtime/*.c)
COSY_RUNTIME_OBJ := $(COSY_RUNTIME_SRC:%.c=$(BUILD)/%.bc)
COSY_TOOLS := $(wildcard cosy/*.py)
COSY_HOST_OBJ := $(addprefix $(BUILD)/cosy/,host.o heap.o engines.o)
# The library's objects: the interface to the kernel, and the user backend without LuaJIT.
COSY_LIB_OBJ := $(addprefix $(BUILD)/,lib/compound.o lib/device.o core/user/lock.o core/user/ticket.o \
	$(patsubst %,core/user/%.o,script turn arena fork fd limits engine run syscalls time clock \
		usermem accept attributes files frames mmsg readdirplus) \
	core/program.o core/request.o core/net/frame.o core/net/frames_slots.o core/net/mmsg_import.o \
	$(if $(filter x86,$(ARCH)),luajit/user/stack.o,core/user/arch/$(ARCH)/stack.o \
		core/user/arch/$(ARCH)/old_calls.o))

.PHONY: cosy
cosy: $(BUILD)/cosy-cc

$(BUILD)/cosy-cc: cosy/cosy-cc $(COSY)/cosy.so $(COSY)/cosy-runtime.bc \
		$(COSY)/include/cosy.h $(COSY_TOOLS:cosy/%=$(COSY)/%) $(BUILD)/libcosy.a
	$(Q)cp $< $@

unit-programs: cosy

# The plugin is for the compiler that also compiles programs.
$(BUILD)/deps/clang: tools/deps
	$(Q)tools/deps clang
	$(Q)touch $@

# Expanded when used: llvm-config may be missing before.
COSY_CXXFLAGS = -std=c++17 -O1 -fno-rtti -fno-exceptions -fPIC -fvisibility=hidden \
	-Wall -Wextra -Wno-unused-parameter $$($(COSY_LLVM_CONFIG) --cppflags) -MMD -MP

$(COSY)/plugin/llvm.pch: cosy/plugin/llvm.hpp cosy/build.mk $(BUILD)/deps/clang
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(COSY_CLANG) $(COSY_CXXFLAGS) -x c++-header -fpch-instantiate-templates -o $@ $<

$(BUILD)/cosy/plugin/%.o: cosy/plugin/%.cpp $(COSY)/plugin/llvm.pch
	$(call say,CXX)
	$(Q)$(COSY_CLANG) $(COSY_CXXFLAGS) -include-pch $(COSY)/plugin/llvm.pch -c -o $@ $<

ifdef CROSS
# The plugin finds the runtime beside the name that it was loaded by.
$(COSY)/cosy.so: $(wildcard cosy/plugin/*)
	@mkdir -p $(@D)
	+$(Q)$(MAKE) --no-print-directory ARCH=$(HOST_ARCH) build/cosy/cosy.so
	$(Q)ln -sf $(abspath build/cosy/cosy.so) $@ && touch -h $@
else
$(COSY)/cosy.so: $(COSY_PLUGIN_OBJ)
	$(call say,LD)
	$(Q)$(COSY_CLANG) -shared -o $@ $^ $$($(COSY_LLVM_CONFIG) --ldflags --libs) -lstdc++
endif

# Not optimised here: it is optimised together with the segments that use it.
$(BUILD)/cosy/runtime/calls.bc: core/syscalls.def core/syscalls_nr.h
$(BUILD)/cosy/runtime/string.bc: private COSY_RUNTIME_FLAGS := -fno-builtin
$(BUILD)/cosy/runtime/%.bc: cosy/runtime/%.c cosy/runtime/runtime.h $(BUILD)/deps/clang
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(COSY_CLANG) $(COSY_TARGET) -O2 -Xclang -disable-llvm-passes -emit-llvm -Wall \
		-Wno-incompatible-library-redeclaration $(COSY_RUNTIME_FLAGS) -c -o $@ $<

$(COSY)/cosy-runtime.bc: $(COSY_RUNTIME_OBJ)
	$(call say,LD)
	$(Q)llvm-link-19 -o $@ $^

$(COSY)/include/cosy.h: cosy/cosy.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(COSY)/%.py: cosy/%.py
	@mkdir -p $(@D)
	$(Q)cp $< $@

# Expanded when used: lib/build.mk comes later. The library is a static one.
COSY_HOST_CFLAGS = -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -fPIC -ftls-model=initial-exec -MMD -MP \
	-I$(BUILD)/include -iquote core -iquote lib

$(BUILD)/cosy/%.o: cosy/%.c | $(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COSY_HOST_CFLAGS) -c -o $@ $<

$(BUILD)/engine/confined/%.o: engine/confined/%.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COSY_HOST_CFLAGS) -c -o $@ $<

$(BUILD)/engine/confined/%.o: engine/confined/%.S
	$(call say,AS)
	@mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

# One object, so that only the public names can clash with programs. With the engine: see
# engine/confined/build.mk.
$(COSY)/libcosy.o: $(COSY_HOST_OBJ) $(COSY_LIB_OBJ)
	$(call say,LD)
	$(Q)$(LD) -r -o $@ $^
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='cosy_*' $@

$(BUILD)/libcosy.a: $(COSY)/libcosy.o
	$(call say,AR)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $<

-include $(COSY)/plugin/llvm.d $(COSY_PLUGIN_OBJ:.o=.d) $(COSY_HOST_OBJ:.o=.d)

# The location of $(PREFIX): cosy-cc finds the rest relative to itself. `make install` installs it
# if `make cosy` has built it.
.PHONY: install-cosy
install: $(if $(wildcard $(BUILD)/libcosy.a),install-cosy)
install-cosy: $(if $(wildcard $(BUILD)/libcosy.a),,cosy)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX)/bin/cosy-cc)
	$(Q)install -D -m 0755 cosy/cosy-cc $(DESTDIR)$(PREFIX)/bin/cosy-cc
	$(Q)install -D -m 0755 $(COSY)/cosy.so $(DESTDIR)$(PREFIX)/lib/cosy/cosy.so
	$(Q)install -m 0644 $(COSY)/cosy-runtime.bc $(DESTDIR)$(PREFIX)/lib/cosy/cosy-runtime.bc
	$(Q)install -m 0644 $(COSY_TOOLS) $(DESTDIR)$(PREFIX)/lib/cosy
	$(Q)install -D -m 0644 cosy/cosy.h $(DESTDIR)$(PREFIX)/lib/cosy/include/cosy.h
	$(Q)install -D -m 0644 cosy/cosy.h $(DESTDIR)$(INCLUDEDIR)/cosy.h
	$(Q)install -D -m 0644 $(BUILD)/libcosy.a $(DESTDIR)$(PREFIX)/lib/libcosy.a
	$(Q)install -D -m 0644 man/cosy-cc.1 $(DESTDIR)$(PREFIX)/share/man/man1/cosy-cc.1
	$(Q)install -D -m 0644 man/cosy.7 $(DESTDIR)$(PREFIX)/share/man/man7/cosy.7
