/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's macros for stubs.S: symbols, objtool's annotations and mitigations. */
#include <linux/cfi_types.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/nospec-branch.h>

/* Called only directly, though exported: newer kernels put no endbr64 here. */
#define START(name)	STACK_FRAME_NON_STANDARD name; SYM_FUNC_START(name); ANNOTATE_NOENDBR
/* May be called by address. */
#define START_ANY(name)	STACK_FRAME_NON_STANDARD name; SYM_TYPED_FUNC_START(name)
#define FUNCTION_END(name)	SYM_FUNC_END(name)
/* Reached by direct calls and jumps only. */
#define STUB(name)	STACK_FRAME_NON_STANDARD name; \
			SYM_START(name, SYM_L_GLOBAL, SYM_A_NONE) ANNOTATE_NOENDBR
#define STUB_END(name)	SYM_FUNC_END(name)
#define RETURN		RET
#define CALL_RAX	CALL_NOSPEC rax
#define INTRA_CALL	ANNOTATE_INTRA_FUNCTION_CALL

/*
 * A retpoline: a return whose prediction leads to a harmless loop. This is the only indirect jump
 * that an image's author can execute at will, and not even the author can train its prediction.
 */
.macro JUMP_BEYOND
	ANNOTATE_INTRA_FUNCTION_CALL
	call 772f
771:	pause
	lfence
	jmp 771b
772:	add $8, %rsp
	push MACHINE_AT_BEYOND(%r9)
	RET
.endm

/*
 * Clears the branch history as the kernel does at its entry and after users' BPF programs: by a
 * loop on processors that need one, else by a fence.
 */
.macro BARRIER function=confined_clear_history
	ALTERNATIVE_2 "", "call \function", X86_FEATURE_CLEAR_BHB_LOOP, \
			  ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xf8", X86_FEATURE_CLEAR_BHB_HW
.endm
#define BARRIER_RAX	BARRIER confined_clear_history_rax
