/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls on another stack, in the instruction sequences that objtool knows from the kernel's
 * call_on_stack(), so that stack traces continue into the caller.
 */
#ifndef SYSCRIPT_ARCH_HOME_H
#define SYSCRIPT_ARCH_HOME_H

#include <linux/compiler.h>
#include <asm/asm.h>
#include <asm/linkage.h>

/* Engines may run on stacks of their own. */
#define ARCH_SWITCHES_STACKS	1
/* arch_return_from() works in place of do_exit(). */
#define ARCH_RETURNS_FROM_EXIT	1

/* In stack.S, with their contracts. */
long stack_on(long (*fn)(void *), void *arg, void *top, void **home);
long stack_off(long (*fn)(void *), void *arg, void *home);
void stack_abandon(long ret, void *home);

/*
 * Calls @entry, a constant, with @regs on the stack that ends at @home.  Not a function: the
 * compiler would merge its calls into one, reached by jumps.
 */
#define ARCH_CALL_ON(home, entry, regs)						\
({										\
	register void *_top asm("r11") = (home) - sizeof(long);			\
	long _ret;								\
										\
	asm_inline volatile("movq %%rsp, (%[top])\n\t"				\
			    "movq %[top], %%rsp\n\t"				\
			    "call %P[call]\n\t"					\
			    "popq %%rsp"					\
			    : "=a" (_ret), [top] "+r" (_top), ASM_CALL_CONSTRAINT \
			    : "D" (regs), [call] "i" (entry)			\
			    : "cc", "rcx", "rdx", "rsi", "r8", "r9", "r10", "memory"); \
	_ret;									\
})

/* Keeps a result in the register of the call, because the compiler would move it away and back. */
#define ARCH_KEEP_RESULT(ret)	asm("" : "+a" (ret))

/*
 * Calls @fn, a constant, with a pointer that it may ignore.  Stores in *@home the stack pointer
 * with which arch_return_from() can return to this call from any depth.
 */
static __always_inline long arch_call_from(unsigned long *home,
					   long (*fn)(const struct pt_regs *unused))
{
	long ret;

	asm_inline volatile("pushq %%rbp\n\t"
			    "movq %%rsp, (%[home])\n\t"
			    "call %P[fn]\n\t"
			    "popq %%rbp"
			    : "=a" (ret), [home] "+D" (home), ASM_CALL_CONSTRAINT
			    : [fn] "i" (fn)
			    : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12",
			      "r13", "r14", "r15", "cc", "memory");
	return ret;
}

/* In a function that is STACK_FRAME_NON_STANDARD(): makes arch_call_from() return @ret. */
static __always_inline void arch_return_from(unsigned long home, long ret)
{
	asm_inline volatile("leaq -8(%[home]), %%rsp\n\t"
			    ASM_RET
			    : : "a" (ret), [home] "r" (home) : "memory");
	unreachable();
}

#endif /* SYSCRIPT_ARCH_HOME_H */
