# SPDX-License-Identifier: GPL-2.0 OR MIT
# LuaJIT, patched, with the VM layer of vm.h: $(OUT)/luajit.o.
#
#   make -f luajit.mk OUT=DIR VENDOR=DIR GEN=DIR PLACE=user|kernel CFLAGS=...
#
# VENDOR holds the crates, GEN the generated constants.inc.  CFLAGS: flags for code at
# PLACE (position independence, retpolines, ...).  OBJTOOL: the command, if any, that
# completes an object of kernel code.

HERE := $(dir $(lastword $(MAKEFILE_LIST)))
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

LUAJIT := $(VENDOR)/luajit-src/luajit2
MATH := $(VENDOR)/core-math-sys/vendor/src/binary64
SHARED := $(HERE)../../core
KERNEL := $(HERE)../../kernel
PATCHES := $(sort $(wildcard $(HERE)patches/*.patch))
SRC := $(OUT)/luajit/src
HOSTCC ?= cc

CORE := lj_assert lj_gc lj_err lj_char lj_bc lj_obj lj_buf lj_str lj_tab lj_func \
	lj_udata lj_meta lj_debug lj_prng lj_state lj_dispatch lj_vmmath lj_strscan \
	lj_strfmt lj_strfmt_num lj_api lj_lex lj_parse lj_bcread lj_bcwrite lj_load lj_ir \
	lj_opt_mem lj_opt_fold lj_opt_narrow lj_opt_dce lj_opt_loop lj_opt_split \
	lj_opt_sink lj_mcode lj_snap lj_record lj_ffrecord lj_asm lj_trace lj_lib \
	lj_alloc lj_ctype lj_cdata lj_cconv lj_carith lj_crecord lib_aux lib_base lib_math lib_bit lib_string lib_table lib_jit
# Libraries of ours, in the order in which buildvm numbers their functions.
OUR_LIBS := lib_int64 lib_syscall lib_util lib_net lib_frames lib_fs
OURS := vm clone $(OUR_LIBS)
MATHS := sin cos tan asin acos atan atan2 sinh cosh tanh exp log log2 log10 pow

# buildvm numbers the library functions of these.
LIBS := $(addprefix $(SRC)/,lib_base.c lib_math.c lib_bit.c lib_string.c lib_table.c) \
	$(OUR_LIBS:%=$(HERE)%.c)
GENERATED := $(addprefix $(SRC)/,lj_bcdef.h lj_ffdef.h lj_libdef.h lj_recdef.h lj_folddef.h)

DEFINES := -DLUAJIT_OS=LUAJIT_OS_OTHER -DLUAJIT_DISABLE_BUFFER \
	-DLUAJIT_DISABLE_PROFILE -DLUAJIT_DISABLE_VMEVENT -DLUAJIT_DISABLE_JITUTIL \
	-DLUAJIT_NO_UNWIND -DLUAJIT_UNWIND_INTERNAL -DLUAJIT_ENABLE_CHECKHOOK
DASMFLAGS := -D ENDIAN_LE -D P64 -D JIT -D FPU -D FFI -D INT64 -D NO_UNWIND

SHIM := math fused
ifeq ($(PLACE),user)
OURS += lint
endif
ifeq ($(PLACE),kernel)
DEFINES += -DLUAJIT_KERNEL
# fpu.h saves only XMM0 to XMM7.
override CFLAGS += $(foreach n,8 9 10 11 12 13 14 15,-ffixed-xmm$(n))
DASMFLAGS += -D KERNEL
SHIM += string
MCODE := $(OUT)/mcode_room.o
endif

# With IBT indirect branches must land on an endbr64.  LuaJIT's code must not branch indirectly
# to functions of the kernel side: objtool sees no such use, and the kernel overwrites the
# endbr64 of unused functions.  QEMU does not emulate IBT: test_branch_targets.py reads the code.
ifneq ($(filter -fcf-protection=branch,$(CFLAGS)),)
DEFINES += -DLJ_ABI_BRANCH_TRACK=1
DASMFLAGS += -D BRANCH_TRACK
endif

# The VM's indirect branches and returns use thunks where the compiler's do.
ifneq ($(filter -mindirect-branch=thunk-extern,$(CFLAGS)),)
DASMFLAGS += -D RETPOLINE
endif
ifneq ($(filter -mfunction-return=thunk-extern,$(CFLAGS)),)
DASMFLAGS += -D RETHUNK
endif

# An error path that reads an uninitialised object finds zeros, not stale data of the stack.
# Compilers before GCC 12 and clang 16 lack the option.
AUTO_INIT := $(shell echo | $(CC) -Werror -ftrivial-auto-var-init=zero -fsyntax-only -xc - \
	2>/dev/null && echo -ftrivial-auto-var-init=zero)

ALL_CFLAGS := -O2 -Wall -Wno-unused-function -Wno-unused-value -fno-strict-aliasing \
	-fomit-frame-pointer $(AUTO_INIT) $(DEFINES) -iquote $(SHARED) -iquote $(KERNEL) -I$(SRC) -I$(HERE) -I$(OUT) -I$(GEN) $(CFLAGS)
MATH_CFLAGS := -O2 -fno-math-errno -w -ffp-contract=off -fno-builtin $(CFLAGS)
# With builtins fma() becomes an instruction.
FUSED_CFLAGS := -fbuiltin -mavx -mfma -msse4.1

OBJECTS := $(CORE:%=$(OUT)/%.o) $(OURS:%=$(OUT)/%.o) \
	$(MATHS:%=$(OUT)/plain_%.o) $(MATHS:%=$(OUT)/fused_%.o) $(SHIM:%=$(OUT)/shim_%.o)

$(OUT)/luajit.o: $(OUT)/code.o $(MCODE)
	$(LD) -r -o $@ $^

# lj_vm.o first: it ends in an empty function, and objtool wants none last.
$(OUT)/code.o: $(OUT)/lj_vm.o $(OBJECTS)
	$(LD) -r -o $@ $^
	$(if $(OBJTOOL),$(OBJTOOL) $@)

# Changes when a setting of the rules below changes.
SETTINGS := $(CC) $(LD) $(AUTO_INIT) $(DEFINES) $(DASMFLAGS) $(CFLAGS) $(OBJTOOL)
.PHONY: FORCE
$(OUT)/settings: FORCE
	mkdir -p $(OUT)
	echo '$(SETTINGS)' | cmp -s - $@ || echo '$(SETTINGS)' >$@

$(OUT)/patched: $(OUT)/settings $(PATCHES) $(LUAJIT)/src/lj_obj.h
	printf '  %-8s%s\n' LUAJIT $(OUT)
	rm -rf $(OUT)/luajit
	mkdir -p $(OUT)
	cp -r $(LUAJIT) $(OUT)/luajit
	cp $(VENDOR)/luajit-src/luajit_relver.txt $(SRC)/
	for p in $(abspath $(PATCHES)); do \
		patch -d $(OUT)/luajit -p1 -s --no-backup-if-mismatch <$$p || exit 1; done
	touch $@

$(SRC)/host/minilua: $(OUT)/patched
	$(HOSTCC) -O1 -o $@ $(SRC)/host/minilua.c -lm

$(SRC)/luajit.h: $(SRC)/host/minilua
	cd $(SRC) && ./host/minilua host/genversion.lua

$(SRC)/host/buildvm_arch.h: $(SRC)/host/minilua
	cd $(SRC) && ./host/minilua ../dynasm/dynasm.lua $(DASMFLAGS) -o host/buildvm_arch.h vm_x64.dasc

# The offsets of structures go into its output, so it needs the headers, too.
$(SRC)/host/buildvm: $(SRC)/host/buildvm_arch.h $(SRC)/luajit.h $(HERE)vm.h
	$(HOSTCC) -O1 $(DEFINES) -I$(SRC) -I$(OUT)/luajit/dynasm -I$(HERE) -iquote $(SHARED) -iquote $(KERNEL) -o $@ \
		$(wildcard $(SRC)/host/buildvm*.c) \
		$(if $(wildcard $(SRC)/host/buildvm.c),,$(addprefix $(SRC)/host/,buildvm.c buildvm_asm.c buildvm_peobj.c buildvm_lib.c buildvm_fold.c))

$(SRC)/lj_vm.S: $(SRC)/host/buildvm
	$< -m elfasm -o $@

$(SRC)/lj_bcdef.h $(SRC)/lj_ffdef.h $(SRC)/lj_libdef.h $(SRC)/lj_recdef.h: \
		$(SRC)/lj_%.h: $(SRC)/host/buildvm $(OUR_LIBS:%=$(HERE)%.c)
	$< -m $* -o $@ $(LIBS)

$(SRC)/lj_folddef.h: $(SRC)/host/buildvm
	$< -m folddef -o $@ $(SRC)/lj_opt_fold.c

# Lua source as the elements of a C array.
LUA_PARTS := $(OUT)/struct.inc $(OUT)/types.inc
$(LUA_PARTS): $(OUT)/%.inc: $(HERE)%.lua $(OUT)/settings
	sed '/-- arm64$$/d' $< | od -An -v -tu1 | sed 's/  *\([0-9]\)/\1/; s/  */,/g; s/$$/,/' >$@

HEADERS := $(GENERATED) $(LUA_PARTS) $(wildcard $(HERE)*.h) $(SHARED)/syscalls.def $(wildcard $(SHARED)/*.h $(SHARED)/fs/*.h $(SHARED)/net/*.h $(KERNEL)/*.h) \
	$(GEN)/constants.inc $(wildcard $(HERE)../../include/uapi/*.h)

$(CORE:%=$(OUT)/%.o): $(OUT)/%.o: $(HEADERS)
	$(CC) $(ALL_CFLAGS) $(CFLAGS_$*) -c -o $@ $(SRC)/$*.c

$(OURS:%=$(OUT)/%.o): $(OUT)/%.o: $(HERE)%.c $(HEADERS)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# vm_interrupt() runs in interrupts, which save no vector registers.
ifeq ($(PLACE),kernel)
CFLAGS_lj_dispatch := -mgeneral-regs-only
endif

$(OUT)/lj_vm.o: $(SRC)/lj_vm.S
	$(CC) $(CFLAGS) -c -o $@ $<

$(MATHS:%=$(OUT)/plain_%.o): $(OUT)/plain_%.o: $(HERE)shim/freestanding.h $(MATH) $(OUT)/settings
	$(CC) $(MATH_CFLAGS) -include $(HERE)shim/freestanding.h -Dcr_$*=$*_plain -c -o $@ $(MATH)/$*/$*.c

$(MATHS:%=$(OUT)/fused_%.o): $(OUT)/fused_%.o: $(HERE)shim/freestanding.h $(MATH) $(OUT)/settings
	$(CC) $(MATH_CFLAGS) $(FUSED_CFLAGS) -include $(HERE)shim/freestanding.h -Dcr_$*=$*_fused -c -o $@ $(MATH)/$*/$*.c

$(OUT)/mcode_room.o: $(HERE)kernel/mcode_room.S $(HERE)kernel/mcode.h $(OUT)/settings
	$(CC) $(CFLAGS) -D__ASSEMBLY__ -c -o $@ $<

$(SHIM:%=$(OUT)/shim_%.o): $(OUT)/shim_%.o: $(HERE)shim/%.c $(OUT)/settings
	$(CC) $(MATH_CFLAGS) $(filter -DLUAJIT_KERNEL,$(DEFINES)) -c -o $@ $<
