# SPDX-License-Identifier: GPL-2.0 OR MIT
# libsyscript: $(BUILD)/libsyscript.so, $(BUILD)/libsyscript.a, and the headers
# as programs see them in $(BUILD)/include.

LIB_VERSION := $(shell sed -n 's/^\#define SYSCRIPT_VERSION_[A-Z]*[^0-9]*//p' lib/syscript.h | paste -sd.)
LIB_SOVERSION := 0

# The parts of the core and of the engines that the module has, too, and the parts for
# processes only.
LIB_SRC := $(wildcard lib/*.c lib/lua/*.c lib/lua/aot/*.c lib/batch/*.c lib/programs/*.c core/user/*.c core/user/arch/$(ARCH)/*.c) \
	core/program.c core/request.c core/net/frame.c core/net/frames_slots.c core/net/mmsg_import.c \
	$(addprefix engine/confined/,validate_image.c fuel.c machine.c batch_calls.c batch_frames.c engine.c user/platform.c \
		liveness.c jit.c verify_code.c verify_step.c user/memory.c user/native.c \
		arch/$(ARCH)/jit_$(ARCH).c arch/$(ARCH)/verify_$(ARCH).c)
LIB_ASM_OBJ := $(BUILD)/engine/confined/arch/$(ARCH)/stubs.o
# LuaJIT is for x86-64.
ifeq ($(ARCH),x86)
LIB_SRC += $(wildcard engine/luajit/user/*.c) engine/luajit/engine.c
LIB_ENGINE := $(BUILD)/luajit/user/libluajit-syscript.a
$(BUILD)/lib/engines.o $(BUILD)/analyzed/lib/engines: private LIB_BUILD_CFLAGS += -DLIB_HAS_LUAJIT
else
LIB_ASM_OBJ += $(BUILD)/core/user/arch/$(ARCH)/stack.o
LIB_ENGINE :=
endif
LIB_C_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB_OBJ := $(LIB_C_OBJ) $(LIB_ASM_OBJ)
UAPI := $(wildcard include/uapi/*.h)
LIB_HEADERS := $(BUILD)/include/syscript.h $(BUILD)/include/syscript_files.h \
	$(BUILD)/include/syscript_sockets.h $(BUILD)/include/syscript_queue.h \
	$(BUILD)/include/syscript_programs.h \
	$(UAPI:include/uapi/%=$(BUILD)/include/linux/%)

# Flags for programs of this tree that are compiled and linked with the library.
LIB_CFLAGS := -I$(BUILD)/include
LIB_LIBS := $(BUILD)/libsyscript.a -lm -lpthread

# Plain char is signed on x86-64, and here.
SIGNED_CHAR := $(if $(filter arm64,$(ARCH)),-fsigned-char)
USER_CFLAGS ?= -O2 -g $(SIGNED_CHAR)
USER_WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes
LIB_BUILD_CFLAGS := -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -fPIC \
	-D_GNU_SOURCE -MMD -MP $(LIB_CFLAGS) -iquote core -iquote lib -iquote lib/batch -I$(BUILD)/gen

LUA_COLD := $(BUILD)/lib/lua_cold.o $(BUILD)/analyzed/lib/lua_cold
$(LUA_COLD): private LIB_BUILD_CFLAGS += -I$(BUILD)/lua-runtime
$(BUILD)/lib/lua_names.o $(BUILD)/analyzed/lib/lua_names: $(BUILD)/gen/constants.inc
$(LUA_COLD): $(BUILD)/gen/constants.inc $(BUILD)/lua-runtime/struct.inc $(BUILD)/lua-runtime/types.inc

# The library reads lua.image only from LIBDIR, so another LIBDIR recompiles this.
$(BUILD)/lib/lua_image.o: private LIB_BUILD_CFLAGS += -DLIBDIR='"$(LIBDIR)"'
$(BUILD)/lib/lua_image.o: $(BUILD)/gen/libdir
$(BUILD)/gen/libdir: libdir-is-given
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(LIBDIR)' | cmp -s - $@ || echo '$(LIBDIR)' >$@
.PHONY: libdir-is-given

.PHONY: lib
lib: $(BUILD)/libsyscript.so $(BUILD)/libsyscript.a

$(BUILD)/include/syscript.h: lib/syscript.h
$(BUILD)/include/syscript_files.h: lib/syscript_files.h
$(BUILD)/include/syscript_sockets.h: lib/syscript_sockets.h
$(BUILD)/include/syscript_queue.h: lib/syscript_queue.h
$(BUILD)/include/syscript_programs.h: lib/syscript_programs.h
$(UAPI:include/uapi/%=$(BUILD)/include/linux/%): $(BUILD)/include/linux/%: include/uapi/%
$(LIB_HEADERS):
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(LIB_C_OBJ): $(BUILD)/%.o: %.c | $(LIB_HEADERS) $(BUILD)/gen/runtime_version.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_BUILD_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/core/user/arch/%.o: core/user/arch/%.S
	$(call say,AS)
	@mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

# The texts of the scripts that the library contains, as C strings.
LIB_SCRIPTS := $(shell sed -n 's/^BUILTIN(\(.*\))$$/\1/p' lib/batch/builtin.def)
$(BUILD)/gen/builtin.inc: lib/batch/builtin.def $(LIB_SCRIPTS:%=scripts/%.lua)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)for name in $(LIB_SCRIPTS); do \
		echo "BUILTIN($$name)"; \
		sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' scripts/$$name.lua; \
		echo ,; \
	done >$@

$(BUILD)/lib/batch/builtin.o: $(BUILD)/gen/builtin.inc

# The text that comes after a queue's script, as a C string.
$(BUILD)/gen/queue.inc: lib/batch/queue.lua
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< >$@

$(BUILD)/lib/batch/queue.o: $(BUILD)/gen/queue.inc

# One object, so that only the public names can clash with a program's.
$(BUILD)/lib/libsyscript.o: $(LIB_OBJ) $(LIB_ENGINE) lib/libsyscript.map
	$(call say,LD)
	$(Q)$(LD) -r -o $@ $(LIB_OBJ) $(LIB_ENGINE:%=--whole-archive % --no-whole-archive)
	$(Q)sed -n 's/^\t\t\([a-z_]*\);$$/\1/p' lib/libsyscript.map >$(BUILD)/lib/exports
	$(Q)$(OBJCOPY) --keep-global-symbols=$(BUILD)/lib/exports $@

$(BUILD)/syscript: $(LIB_OBJ) $(LIB_ENGINE)

$(BUILD)/libsyscript.a: $(BUILD)/lib/libsyscript.o
	$(call say,AR)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $<

$(BUILD)/libsyscript.so.$(LIB_SOVERSION): $(LIB_OBJ) $(LIB_ENGINE) lib/libsyscript.map
	$(call say,LD)
	$(Q)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-soname,$(@F) -Wl,--version-script=lib/libsyscript.map \
		-Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -o $@ \
		$(LIB_OBJ) $(LIB_ENGINE:%=-Wl,--whole-archive % -Wl,--no-whole-archive) -lm -lpthread

$(BUILD)/libsyscript.so: $(BUILD)/libsyscript.so.$(LIB_SOVERSION)
	$(Q)ln -sf $(<F) $@

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
LIBDIR_BUILT = $(file <$(BUILD)/gen/libdir)
# Rebuilds what was built for another LIBDIR.
.PHONY: built-for-libdir
built-for-libdir:
	$(if $(filter-out $(LIBDIR),$(LIBDIR_BUILT)),+$(Q)$(MAKE) -s lib cli LIBDIR=$(LIBDIR))

.PHONY: install-lib
install: install-lib
install-lib: built-for-libdir
	$(call built,$(BUILD)/libsyscript.a $(BUILD)/libsyscript.so)
	$(call say,INSTALL,$(DESTDIR)$(LIBDIR))
	$(Q)install -D -m 0644 lib/syscript.h $(DESTDIR)$(INCLUDEDIR)/syscript.h
	$(Q)install -d $(DESTDIR)$(INCLUDEDIR)/linux
	$(Q)install -m 0644 $(UAPI) $(DESTDIR)$(INCLUDEDIR)/linux
	$(Q)install -m 0644 lib/syscript_files.h lib/syscript_sockets.h lib/syscript_queue.h lib/syscript_programs.h \
		$(DESTDIR)$(INCLUDEDIR)
	$(Q)install -D -m 0755 $(BUILD)/libsyscript.so.$(LIB_SOVERSION) \
		$(DESTDIR)$(LIBDIR)/libsyscript.so.$(LIB_SOVERSION)
	$(Q)ln -sf libsyscript.so.$(LIB_SOVERSION) $(DESTDIR)$(LIBDIR)/libsyscript.so
	$(Q)install -m 0644 $(BUILD)/libsyscript.a $(DESTDIR)$(LIBDIR)/libsyscript.a
	$(Q)[ ! -e $(LUA_RUNTIME)/lua.image ] || \
		install -D -m 0644 $(LUA_RUNTIME)/lua.image $(DESTDIR)$(LIBDIR)/syscript/lua.image
	$(Q)install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(LIB_VERSION)|' \
		$(if $(SYSTEM_PREFIX),,-e 's|-L$${libdir}|& -Wl$(comma)-rpath$(comma)$${libdir}|') \
		lib/libsyscript.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/libsyscript.pc
	$(Q)chmod 0644 $(DESTDIR)$(LIBDIR)/pkgconfig/libsyscript.pc

# gcc -fanalyzer on the library, except LuaJIT's engine, which uses longjmp().  gcc 12 reports
# memory that is returned through one of its members as lost, and copied structures as
# uninitialised.
ANALYZED := $(patsubst %.c,$(BUILD)/analyzed/%,$(filter-out engine/luajit/%,$(LIB_SRC)))
.PHONY: lint-analyzer
lint-analyzer: $(ANALYZED)

$(ANALYZED): $(BUILD)/analyzed/%: %.c | $(LIB_HEADERS) $(BUILD)/gen/runtime_version.h $(BUILD)/gen/builtin.inc $(BUILD)/gen/queue.inc
	$(call say,ANALYZE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_BUILD_CFLAGS) -MF $@.d -MT $@ -DLIBDIR='"$(LIBDIR)"' -fanalyzer -Wno-analyzer-malloc-leak \
		-Wno-analyzer-use-of-uninitialized-value -Werror -S -o $@ $<

-include $(LIB_C_OBJ:.o=.d) $(ANALYZED:=.d)
