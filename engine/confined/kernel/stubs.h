/* SPDX-License-Identifier: GPL-2.0 */
/* What stubs.S needs of the kernel. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/nospec-branch.h>

#define START(name)	STACK_FRAME_NON_STANDARD name; SYM_FUNC_START(name)
#define FUNCTION_END(name)	SYM_FUNC_END(name)
/* Reached by direct calls and jumps only. */
#define STUB(name)	STACK_FRAME_NON_STANDARD name; \
			SYM_START(name, SYM_L_GLOBAL, SYM_A_NONE) ANNOTATE_NOENDBR
#define STUB_END(name)	SYM_FUNC_END(name)
#define RETURN		RET
#define CALL_RAX	CALL_NOSPEC rax
#define INTRA_CALL	ANNOTATE_INTRA_FUNCTION_CALL

/*
 * As the kernel does when it is entered, and where it runs code of users: by its
 * own loop where the processor needs one, or the fence where that will do.
 */
.macro BARRIER
	ALTERNATIVE "", "call confined_clear_history", X86_FEATURE_CLEAR_BHB_LOOP
	ALTERNATIVE "", ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xf8", X86_FEATURE_CLEAR_BHB_HW
.endm
