/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A system call in the registers of a task: number, arguments and result, where the entry leaves
 * them. Functions of system calls read x0 to x5 and nothing else; filters and tracepoints read
 * the number and, for the first argument, orig_x0, because the result replaces x0.
 */
#ifndef SYSCRIPT_ARCH_REGS_H
#define SYSCRIPT_ARCH_REGS_H

#include <linux/compiler.h>
#include <asm/ptrace.h>

/* Initialises a struct pt_regs with a call's arguments. */
#define REGS_ARGS(a, b, c, d, e, f)	{ .regs = { (a), (b), (c), (d), (e), (f) } }

/* The argument at index @i, a constant below 6. */
static __always_inline unsigned long regs_arg(const struct pt_regs *regs, unsigned int i)
{
	return regs->regs[i];
}

/* Sets the first @n arguments, a constant, of the struct pt_regs @regs; the others stay. */
#define REGS_SET_FIRST_ARGS(pt_regs, n, a, b, c, d, e, f)	\
	do {						\
		if ((n) > 0)				\
			(pt_regs).regs[0] = (a);	\
		if ((n) > 1)				\
			(pt_regs).regs[1] = (b);	\
		if ((n) > 2)				\
			(pt_regs).regs[2] = (c);	\
		if ((n) > 3)				\
			(pt_regs).regs[3] = (d);	\
		if ((n) > 4)				\
			(pt_regs).regs[4] = (e);	\
		if ((n) > 5)				\
			(pt_regs).regs[5] = (f);	\
	} while (0)

static __always_inline void regs_get_args(const struct pt_regs *regs, unsigned long *args)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		args[i] = regs->regs[i];
}

static __always_inline void regs_set_args(struct pt_regs *regs, const unsigned long *args)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		regs->regs[i] = args[i];
}

/*
 * The first @n arguments in @regs; the others are set to 0, because the process must not see
 * stale contents.
 */
static __always_inline void regs_mask_args(const struct pt_regs *regs, unsigned int n,
					   unsigned long *args)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		args[i] = i < n ? regs->regs[i] : 0;
}

static __always_inline unsigned long regs_number(const struct pt_regs *regs)
{
	return (unsigned int)regs->syscallno;
}

static __always_inline long regs_result(const struct pt_regs *regs)
{
	return regs->regs[0];
}

/* Sets the registers as the system call entry does, before the call is made. */
static __always_inline void regs_set_entry(struct pt_regs *regs, unsigned long nr,
					   const unsigned long *args)
{
	regs->syscallno = nr;
	regs->orig_x0 = args[0];
	regs_set_args(regs, args);
}

/* Sets the registers as they are when the call returns @result. */
static __always_inline void regs_set_call(struct pt_regs *regs, unsigned long nr, long result,
					  const unsigned long *args)
{
	regs_set_entry(regs, nr, args);
	regs->regs[0] = result;
}

/**
 * struct regs_saved - what regs_set_call() sets
 */
struct regs_saved {
	unsigned long orig_x0, args[6];
	int syscallno;
};

static __always_inline void regs_save(struct regs_saved *saved, const struct pt_regs *regs)
{
	saved->syscallno = regs->syscallno;
	saved->orig_x0 = regs->orig_x0;
	regs_get_args(regs, saved->args);
}

static __always_inline void regs_restore(const struct regs_saved *saved, struct pt_regs *regs)
{
	regs->syscallno = saved->syscallno;
	regs->orig_x0 = saved->orig_x0;
	regs_set_args(regs, saved->args);
}

#endif /* SYSCRIPT_ARCH_REGS_H */
