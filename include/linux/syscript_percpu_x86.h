/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a module calls a program on x86-64; included by <linux/syscript_program.h>. The call is
 * inlined into the hook's code, so it is a few instructions, and no register is saved twice.
 */
#ifndef _LINUX_SYSCRIPT_PERCPU_X86_H
#define _LINUX_SYSCRIPT_PERCPU_X86_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/asm.h>

struct syscript_percpu_ctx;

/* In stubs.S; not to be called as a C function. */
void syscript_ctx_run(void);

/*
 * Calls syscript_ctx_run() with the context in rsi, because callers usually have their hook in rdi.
 * It returns the result and frees the context. It preserves no register, so the caller saves each
 * live register once; rbp only if it is a frame pointer.
 */
static __always_inline s64 syscript_ctx_run_here(struct syscript_percpu_ctx *ctx)
{
	s64 result;

#ifdef CONFIG_FRAME_POINTER
	asm volatile("push %%rbp\n\tcall syscript_ctx_run\n\tpop %%rbp"
		     : "=a" (result), "+S" (ctx), ASM_CALL_CONSTRAINT
		     : : "rbx", "rcx", "rdx", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			 "r14", "r15", "cc", "memory");
#else
	asm volatile("call syscript_ctx_run"
		     : "=a" (result), "+S" (ctx)
		     : : "rbx", "rcx", "rdx", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			 "r14", "r15", "rbp", "cc", "memory");
#endif
	return result;
}

/* Decrements @counter: true if it has become 0. */
static __always_inline bool syscript_count_down(u32 *counter)
{
	bool zero;

	asm volatile("decl %0" : "+m" (*counter), "=@ccz" (zero));
	return zero;
}

#endif /* _LINUX_SYSCRIPT_PERCPU_X86_H */
