/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A system call in the registers of a task: number, arguments and result, where the entry for
 * 64-bit calls leaves them.  Functions of system calls read their arguments and nothing else;
 * filters, tracepoints and tracers read the number and the result, too.
 */
#ifndef SYSCRIPT_ARCH_REGS_H
#define SYSCRIPT_ARCH_REGS_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <asm/ptrace.h>

/* Initialises a struct pt_regs with a call's arguments. */
#define REGS_ARGS(a, b, c, d, e, f)	\
	{ .di = (a), .si = (b), .dx = (c), .r10 = (d), .r8 = (e), .r9 = (f) }

/* The argument at index @i, a constant below 6. */
static __always_inline unsigned long regs_arg(const struct pt_regs *regs, unsigned int i)
{
	switch (i) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	case 3: return regs->r10;
	case 4: return regs->r8;
	default: return regs->r9;
	}
}

/*
 * Sets the first @n arguments, a constant, of the struct pt_regs @regs; the others stay.  A
 * macro, because the pointer argument of a function would take a register in each thunk.
 */
#define REGS_SET_FIRST_ARGS(regs, n, a, b, c, d, e, f)	\
	do {						\
		if ((n) > 0)				\
			(regs).di = (a);		\
		if ((n) > 1)				\
			(regs).si = (b);		\
		if ((n) > 2)				\
			(regs).dx = (c);		\
		if ((n) > 3)				\
			(regs).r10 = (d);		\
		if ((n) > 4)				\
			(regs).r8 = (e);		\
		if ((n) > 5)				\
			(regs).r9 = (f);		\
	} while (0)

static __always_inline void regs_get_args(const struct pt_regs *regs, unsigned long *args)
{
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

static __always_inline void regs_set_args(struct pt_regs *regs, const unsigned long *args)
{
	regs->di = args[0];
	regs->si = args[1];
	regs->dx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

/*
 * The first @n arguments in @regs; the others are set to 0, because the process must not see
 * stale contents.
 */
static __always_inline void regs_mask_args(const struct pt_regs *regs, unsigned int n,
					   unsigned long *args)
{
	args[0] = n > 0 ? regs->di : 0;
	args[1] = n > 1 ? regs->si : 0;
	args[2] = n > 2 ? regs->dx : 0;
	args[3] = n > 3 ? regs->r10 : 0;
	args[4] = n > 4 ? regs->r8 : 0;
	args[5] = n > 5 ? regs->r9 : 0;
}

static __always_inline unsigned long regs_number(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

static __always_inline long regs_result(const struct pt_regs *regs)
{
	return regs->ax;
}

/* Sets the registers as they are when the call returns @result. */
static __always_inline void regs_set_call(struct pt_regs *regs, unsigned long nr, long result,
					  const unsigned long *args)
{
	regs->orig_ax = nr;
	regs->ax = result;
	regs_set_args(regs, args);
}

/* Sets the registers as the system call entry does, before the call is made. */
static __always_inline void regs_set_entry(struct pt_regs *regs, unsigned long nr,
					   const unsigned long *args)
{
	regs_set_call(regs, nr, -ENOSYS, args);
}

/**
 * struct regs_saved - what regs_set_call() sets
 */
struct regs_saved {
	unsigned long orig_ax, ax, args[6];
};

static __always_inline void regs_save(struct regs_saved *saved, const struct pt_regs *regs)
{
	saved->orig_ax = regs->orig_ax;
	saved->ax = regs->ax;
	regs_get_args(regs, saved->args);
}

static __always_inline void regs_restore(const struct regs_saved *saved, struct pt_regs *regs)
{
	regs->orig_ax = saved->orig_ax;
	regs->ax = saved->ax;
	regs_set_args(regs, saved->args);
}

#endif /* SYSCRIPT_ARCH_REGS_H */
