/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Audit's records of the calls of scripts.
 *
 * A task has one audit context, which is in use by the call that runs the script. So each of the
 * script's calls gets a context for its duration: the kernel's functions allocate, fill in,
 * match, log and free it, as for a call from user mode.
 */
#ifndef SYSCRIPT_AUDIT_H
#define SYSCRIPT_AUDIT_H

#include <linux/audit.h>
#include <linux/compiler.h>
#include <linux/sched.h>
#include <linux/types.h>

/* If the kernel lacks an audit function, audits_can_record() stays false. */
void audits_init(void);
void audits_exit(void);

bool audits_can_record(void);

/* Do rules ask for records of the current task? */
static __always_inline bool audits_ask(void)
{
	/* The context stays after auditing has been switched off. */
	return unlikely(!audit_dummy_context()) && audit_enabled;
}

/*
 * Refreshes the context of the call that runs a script: rules may have been added since that call
 * began, when there were none.  May sleep.
 */
void __audits_look(void);

static inline void audits_look(void)
{
	if (unlikely(audit_context()) && audit_dummy_context() && audit_enabled)
		__audits_look();
}

/*
 * Gives the current task a new context, and returns the task's old one; NULL if out of memory, or
 * if rules exclude new tasks like it.
 */
struct audit_context *audits_open(void);
/* Record a call in the context, and its result. Both may sleep. */
void audits_enter(unsigned int nr, const long *args);
void audits_leave(long ret);
/* Frees the current context, and restores @own. */
void audits_close(struct audit_context *own);

/* Returns 0, or -EOPNOTSUPP if no context can be made: the script is then not run. */
int __audits_check(void);

static inline int audits_check(void)
{
	return audits_ask() ? __audits_check() : 0;
}

/* A batch reports its files and addresses to audit, as the replaced system calls would. */
void __audits_see_file(const struct dentry *dentry);
void __audits_see_address(const void *addr, unsigned int len);

static __always_inline void audits_see_file(const struct dentry *dentry)
{
	if (unlikely(!audit_dummy_context()))
		__audits_see_file(dentry);
}

static __always_inline void audits_see_address(const void *addr, unsigned int len)
{
	if (unlikely(!audit_dummy_context()))
		__audits_see_address(addr, len);
}

#endif /* SYSCRIPT_AUDIT_H */
