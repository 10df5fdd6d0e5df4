/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The FPU in script code. XMM0 to XMM7 and MXCSR are saved when a run begins and restored when it
 * ends; in between the engine uses them. The engine uses no x87, and AVX only in shim/fused.c,
 * which saves the upper halves itself: legacy SSE does not change them.
 *
 * kernel_fpu_begin() would save the whole extended state, and the return to user mode load it,
 * which would be most of the cost of a call.
 *
 * fpregs_lock() protects the registers in script code: no context switch, no softirq, and
 * irq_fpu_usable() is false in interrupts. When a run sleeps, or the kernel uses the FPU, the
 * kernel saves the registers with the engine's values, and sets TIF_NEED_FPU_LOAD; fpu_lock()
 * loads them again. So in script code they are always this task's, and at the end of the run as
 * they were at its beginning.
 *
 * The engine's values are not visible: signal frames, core dumps and debuggers take a task's
 * registers when it returns to user mode or exits, and a run has ended by then; a script cannot
 * fork (syscalls.def). But a debugger can stop the task while a seccomp filter is asked, and read
 * and write registers. So the registers are cleared before anything that may sleep. Whenever they
 * are loaded again during a run, MXCSR is set to the engine's value: an exception that a debugger
 * had unmasked would hit the kernel.
 */
#ifndef SYSCRIPT_FPU_H
#define SYSCRIPT_FPU_H

#include <linux/bottom_half.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/types.h>
#include <asm/fpu/api.h>

#define FPU_MXCSR_DEFAULT	0x1f80	/* all exceptions masked, round to nearest */

/* switch_fpu_return(), which newer kernels export to KVM only. */
DECLARE_STATIC_CALL(fpu_load_registers, void (void));

/* 0; or -ENOENT, after a message, if registers are not restored. */
int __init fpu_init(void);

struct fpu_regs {
	u8 xmm[8][16];
	u32 mxcsr;
};

#define FPU_REG(op, n, from, to)	op " " from(n) ", " to(n) "\n\t"
#define FPU_XMM(n)	"%%xmm" #n
#define FPU_MEM(n)	#n "*16(%[regs])"
#define FPU_ALL(op, from, to)						\
	FPU_REG(op, 0, from, to) FPU_REG(op, 1, from, to)		\
	FPU_REG(op, 2, from, to) FPU_REG(op, 3, from, to)		\
	FPU_REG(op, 4, from, to) FPU_REG(op, 5, from, to)		\
	FPU_REG(op, 6, from, to) FPU_REG(op, 7, from, to)

/* fpregs_unlock(), without the call if no work is pending. */
static inline void fpu_unlock(bool thread)
{
	if (unlikely(thread))
		kernel_fpu_end();
#if !defined(CONFIG_PREEMPT_RT) && !defined(CONFIG_TRACE_IRQFLAGS)
	barrier();
	preempt_count_sub(SOFTIRQ_DISABLE_OFFSET);
	/* The order matters: this task runs softirqs that an interrupt raises from here on. */
	if (likely(!local_softirq_pending() && !need_resched()))
		return;
	fpregs_lock();
#endif
	fpregs_unlock();
}

/*
 * From here to fpu_unlock() the registers are this task's. A kernel @thread has no FPU registers,
 * and the CPU's may hold another task's values: it uses them by kernel_fpu_begin(), and only in
 * script code.
 */
static __always_inline void fpu_lock(bool thread)
{
	fpregs_lock();
	if (unlikely(thread))
		kernel_fpu_begin();
	else if (unlikely(test_thread_flag(TIF_NEED_FPU_LOAD)))
		static_call(fpu_load_registers)();
}

/* As above within a run, between fpu_take() and fpu_restore(). */
static __always_inline void fpu_lock_again(bool thread)
{
	static const u32 mxcsr = FPU_MXCSR_DEFAULT;

	fpregs_lock();
	if (unlikely(thread)) {
		kernel_fpu_begin();
	} else if (unlikely(test_thread_flag(TIF_NEED_FPU_LOAD))) {
		static_call(fpu_load_registers)();
		asm volatile("ldmxcsr %[mxcsr]" : : [mxcsr] "m" (mxcsr));
	}
}

/* Saves the registers; called between fpu_lock() and fpu_unlock(). */
static __always_inline void fpu_take(struct fpu_regs *regs)
{
	static const u32 mxcsr = FPU_MXCSR_DEFAULT;

	asm volatile(FPU_ALL("movups", FPU_XMM, FPU_MEM)
		     "stmxcsr 128(%[regs])\n\t"
		     "ldmxcsr %[mxcsr]"
		     : : [regs] "r" (regs), [mxcsr] "m" (mxcsr) : "memory");
}

/* Restores the registers, between fpu_lock() and fpu_unlock(). */
static __always_inline void fpu_restore(const struct fpu_regs *regs)
{
	asm volatile(FPU_ALL("movups", FPU_MEM, FPU_XMM)
		     "ldmxcsr 128(%[regs])"
		     : : [regs] "r" (regs) : "memory");
}

/* Clears the engine's values from the registers, between fpu_lock() and fpu_unlock(). */
static __always_inline void fpu_clear(void)
{
	asm volatile(FPU_ALL("pxor", FPU_XMM, FPU_XMM) : : : "memory");
}

#endif /* SYSCRIPT_FPU_H */
