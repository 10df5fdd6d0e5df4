/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a module calls a program on x86-64: for <linux/syscript_program.h>, which includes this.
 * The call is inlined where the hook is, so it is a few instructions and saves nothing twice.
 */
#ifndef _LINUX_SYSCRIPT_SEAT_X86_H
#define _LINUX_SYSCRIPT_SEAT_X86_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/asm.h>

struct syscript_seat;

/*
 * Calls syscript_seat_run(), which gets the seat in rsi, as in rdi callers have their hook.
 * It returns the result, with the seat free again, and keeps no register: who calls saves
 * what has to be saved, once.  Only where rbp is a frame's it is kept.
 */
static __always_inline s64 syscript_seat_run_here(struct syscript_seat *seat)
{
	s64 result;

#ifdef CONFIG_FRAME_POINTER
	asm volatile("push %%rbp\n\tcall syscript_seat_run\n\tpop %%rbp"
		     : "=a" (result), "+S" (seat), ASM_CALL_CONSTRAINT
		     : : "rbx", "rcx", "rdx", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			 "r14", "r15", "cc", "memory");
#else
	asm volatile("call syscript_seat_run"
		     : "=a" (result), "+S" (seat)
		     : : "rbx", "rcx", "rdx", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			 "r14", "r15", "rbp", "cc", "memory");
#endif
	return result;
}

/* True where it has come to 0. */
static __always_inline bool syscript_count_down(u32 *counter)
{
	bool zero;

	asm volatile("decl %0" : "+m" (*counter), "=@ccz" (zero));
	return zero;
}

#endif /* _LINUX_SYSCRIPT_SEAT_X86_H */
