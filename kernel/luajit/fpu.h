/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The FPU in VM mode: SSE registers are put aside at the entry and put back at
 * the exit, so whatever they hold - the user's state, or nothing that counts
 * because TIF_NEED_FPU_LOAD is set - is there unharmed afterwards.
 *
 * kernel_fpu_begin() would save all of the extended state, and the way back to
 * user space would load it: most of the cost of a call.  The VM uses nothing
 * but MXCSR and XMM0 to XMM7 (luajit.mk and the register allocator see to
 * that).  It has no x87, and no AVX: legacy SSE leaves the upper halves alone.
 *
 * fpregs_lock() keeps others off the registers meanwhile: no context switch,
 * no softirq, and irq_fpu_usable() is false in interrupts.
 */
#ifndef SYSCRIPT_LUAJIT_FPU_H
#define SYSCRIPT_LUAJIT_FPU_H

#include <linux/bottom_half.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <asm/fpu/api.h>

#define FPU_MXCSR_DEFAULT	0x1f80	/* all masked, round to nearest */

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

/* fpregs_unlock(), without the call where there is nothing to do for it. */
static inline void fpu_unlock(void)
{
#if !defined(CONFIG_PREEMPT_RT) && !defined(CONFIG_TRACE_IRQFLAGS)
	if (likely(!local_softirq_pending() && !need_resched())) {
		barrier();
		preempt_count_sub(SOFTIRQ_DISABLE_OFFSET);
		return;
	}
#endif
	fpregs_unlock();
}

static inline void fpu_begin(struct fpu_regs *regs)
{
	static const u32 mxcsr = FPU_MXCSR_DEFAULT;

	fpregs_lock();
	asm volatile(FPU_ALL("movups", FPU_XMM, FPU_MEM)
		     "stmxcsr 128(%[regs])\n\t"
		     "ldmxcsr %[mxcsr]"
		     : : [regs] "r" (regs), [mxcsr] "m" (mxcsr) : "memory");
}

static inline void fpu_end(const struct fpu_regs *regs)
{
	asm volatile(FPU_ALL("movups", FPU_MEM, FPU_XMM)
		     "ldmxcsr 128(%[regs])"
		     : : [regs] "r" (regs) : "memory");
	fpu_unlock();
}

#endif
