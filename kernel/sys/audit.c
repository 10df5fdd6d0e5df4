// SPDX-License-Identifier: GPL-2.0
/*
 * Implements audit.h: finds audit's unexported functions, and calls them for each call of a
 * script as the kernel does for a call from user mode.  Where one is missing, scripts of audited
 * tasks are refused.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/socket.h>
#include <linux/static_call.h>
#include <linux/thread_info.h>

#include "audit.h"
#include "symbols.h"

#ifdef CONFIG_AUDITSYSCALL

static bool can_record __ro_after_init;

/* -- The kernel's functions, which it does not export --------------------------- */

static int no_alloc(struct task_struct *task)
{
	return -ENOSYS;
}

static void no_free(struct task_struct *task)
{
}

static void no_entry(int nr, unsigned long a, unsigned long b, unsigned long c,
		     unsigned long d)
{
}

static void audits_no_exit(int success, long ret)
{
}

static void no_inode(struct filename *name, const struct dentry *dentry,
		     unsigned int flags)
{
}

static int no_sockaddr(int len, void *addr)
{
	return 0;
}

static_assert(__same_type(no_alloc, audit_alloc));
static_assert(__same_type(no_free, __audit_free));
static_assert(__same_type(no_entry, __audit_syscall_entry));
static_assert(__same_type(audits_no_exit, __audit_syscall_exit));
static_assert(__same_type(no_inode, __audit_inode));
static_assert(__same_type(no_sockaddr, __audit_sockaddr));

DEFINE_STATIC_CALL(audit_alloc, no_alloc);
DEFINE_STATIC_CALL(audit_free, no_free);
DEFINE_STATIC_CALL(audit_entry, no_entry);
DEFINE_STATIC_CALL(audit_exit, audits_no_exit);
DEFINE_STATIC_CALL(audit_inode, no_inode);
DEFINE_STATIC_CALL(audit_sockaddr, no_sockaddr);

static void use_functions(void *functions[6])
{
	static_call_update(audit_alloc, functions[0]);
	static_call_update(audit_free, functions[1]);
	static_call_update(audit_entry, functions[2]);
	static_call_update(audit_exit, functions[3]);
	static_call_update(audit_inode, functions[4]);
	static_call_update(audit_sockaddr, functions[5]);
}

/* -- Contexts -------------------------------------------------------------------- */

static void audits_restore(struct audit_context *own)
{
	audit_set_context(current, own);
	set_task_syscall_work(current, SYSCALL_AUDIT);
}

struct audit_context *audits_open(void)
{
	struct audit_context *own = audit_context();

	audit_set_context(current, NULL);
	if (!static_call(audit_alloc)(current) && audit_context())
		return own;
	audits_restore(own);
	return NULL;
}

void audits_close(struct audit_context *own)
{
	static_call(audit_free)(current);
	audits_restore(own);
}

void audits_enter(unsigned int nr, const long *args)
{
	static_call(audit_entry)(nr, args[0], args[1], args[2], args[3]);
}

void audits_leave(long ret)
{
	static_call(audit_exit)(!IS_ERR_VALUE(ret), ret);
}

/* Returned by audit_dummy_context(): true if there are no rules. */
static void set_dummy(bool dummy)
{
	WRITE_ONCE(*(int *)audit_context(), dummy);
}

/* A new context counts the rules; it logs nothing, because it has no call. */
static bool are_rules(void)
{
	struct audit_context *own = audits_open();
	bool are;

	/* Rules that exclude this task from auditing count, too. */
	if (!own)
		return true;
	static_call(audit_entry)(-1, 0, 0, 0, 0);
	are = !audit_dummy_context();
	set_dummy(true);
	audits_close(own);
	return are;
}

void __audits_look(void)
{
	if (can_record && are_rules())
		set_dummy(false);
}

void __audits_see_file(const struct dentry *dentry)
{
	static_call(audit_inode)(NULL, dentry, 0);
}

void __audits_see_address(const void *addr, unsigned int len)
{
	len = min_t(unsigned int, len, sizeof(struct sockaddr_storage));
	/* Out of memory: the record is written without the address. */
	if (len)
		static_call(audit_sockaddr)(len, (void *)addr);
}

bool audits_can_record(void)
{
	return can_record;
}

void __init audits_init(void)
{
	static const char *const names[] __initconst = {
		"audit_alloc", "__audit_free", "__audit_syscall_entry",
		"__audit_syscall_exit", "__audit_inode", "__audit_sockaddr",
	};
	void *found[ARRAY_SIZE(names)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		found[i] = symbols_find(names[i]);
		if (!found[i]) {
			pr_info("no scripts for processes under audit rules: this kernel has no %s()\n",
				names[i]);
			return;
		}
	}
	use_functions(found);
	can_record = true;
}

void audits_exit(void)
{
	void *none[] = { no_alloc, no_free, no_entry, audits_no_exit, no_inode, no_sockaddr };

	use_functions(none);
}

#else /* CONFIG_AUDITSYSCALL */

bool audits_can_record(void)
{
	return false;
}

struct audit_context *audits_open(void)
{
	return NULL;
}

void audits_close(struct audit_context *own)
{
}

void audits_enter(unsigned int nr, const long *args)
{
}

void audits_leave(long ret)
{
}

void __audits_look(void)
{
}

void __audits_see_file(const struct dentry *dentry)
{
}

void __audits_see_address(const void *addr, unsigned int len)
{
}

void audits_init(void)
{
}

void audits_exit(void)
{
}

#endif

int __audits_check(void)
{
	struct audit_context *own = audits_open();

	if (!own)
		return -EOPNOTSUPP;
	audits_close(own);
	return 0;
}
