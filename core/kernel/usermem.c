// SPDX-License-Identifier: GPL-2.0
/*
 * Implements usermem.h for the module.  Usually the page is present, and script code need not be
 * left: the copy is made with page faults disabled, and repeated outside of script code if it
 * faults.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/uaccess.h>

#include "arch_uaccess.h"
#include "compat.h"
#include "run_priv.h"
#include "usermem.h"

/* Longer copies are made outside of script code, where other tasks can run. */
#define AT_ONCE	(64 << 10)

struct copy {
	void *to;
	const void *from;
	unsigned long n;
};

static long copy_in(void *arg)
{
	struct copy *copy = arg;

	return copy_from_user(copy->to, (const void __user *)copy->from, copy->n) ?
		-EFAULT : 0;
}

static long copy_out(void *arg)
{
	struct copy *copy = arg;

	return copy_to_user((void __user *)copy->to, copy->from, copy->n) ? -EFAULT : 0;
}

int usermem_copy_in(struct run *run, void *to, unsigned long from, unsigned long n)
{
	struct copy copy = { to, (const void *)from, n };
	unsigned long left;

	if (unlikely(!access_ok((void __user *)from, n)))
		return -EFAULT;
	if (unlikely(n > AT_ONCE))
		return run_outside(run, copy_in, &copy);
	arch_access_barrier();
	pagefault_disable();
	left = __copy_from_user_inatomic(to, (void __user *)from, n);
	pagefault_enable();
	return likely(!left) ? 0 : run_outside(run, copy_in, &copy);
}
EXPORT_SYMBOL_NS_GPL(usermem_copy_in, COMPAT_NS(SYSCRIPT));

int usermem_copy_out(struct run *run, unsigned long to, const void *from,
		     unsigned long n)
{
	struct copy copy = { (void *)to, from, n };
	unsigned long left;

	if (unlikely(!access_ok((void __user *)to, n)))
		return -EFAULT;
	if (unlikely(n > AT_ONCE))
		return run_outside(run, copy_out, &copy);
	pagefault_disable();
	left = __copy_to_user_inatomic((void __user *)to, from, n);
	pagefault_enable();
	return likely(!left) ? 0 : run_outside(run, copy_out, &copy);
}
EXPORT_SYMBOL_NS_GPL(usermem_copy_out, COMPAT_NS(SYSCRIPT));

/*
 * Accesses a scalar in place, because the calls of a copy take longer than the copy.  If it
 * faults, the copy reports why.
 */
int usermem_load(struct run *run, unsigned long long *v, unsigned long from,
		 unsigned int size)
{
	void __user *p = (void __user *)from;

	if (unlikely(!user_read_access_begin(p, size)))
		return -EFAULT;
	pagefault_disable();
	switch (size) {
	case 1: unsafe_get_user(*(u8 *)v, (u8 __user *)p, fault); break;
	case 2: unsafe_get_user(*(u16 *)v, (u16 __user *)p, fault); break;
	case 4: unsafe_get_user(*(u32 *)v, (u32 __user *)p, fault); break;
	case 8: unsafe_get_user(*(u64 *)v, (u64 __user *)p, fault); break;
	}
	pagefault_enable();
	user_read_access_end();
	return 0;
fault:
	pagefault_enable();
	user_read_access_end();
	return usermem_copy_in(run, v, from, size);
}
EXPORT_SYMBOL_NS_GPL(usermem_load, COMPAT_NS(SYSCRIPT));

int usermem_store(struct run *run, unsigned long to, const unsigned long long *v,
		  unsigned int size)
{
	void __user *p = (void __user *)to;

	if (unlikely(!user_write_access_begin(p, size)))
		return -EFAULT;
	pagefault_disable();
	switch (size) {
	case 1: unsafe_put_user(*(u8 *)v, (u8 __user *)p, fault); break;
	case 2: unsafe_put_user(*(u16 *)v, (u16 __user *)p, fault); break;
	case 4: unsafe_put_user(*(u32 *)v, (u32 __user *)p, fault); break;
	case 8: unsafe_put_user(*(u64 *)v, (u64 __user *)p, fault); break;
	}
	pagefault_enable();
	user_write_access_end();
	return 0;
fault:
	pagefault_enable();
	user_write_access_end();
	return usermem_copy_out(run, to, v, size);
}
EXPORT_SYMBOL_NS_GPL(usermem_store, COMPAT_NS(SYSCRIPT));

/*
 * Copies a few bytes by words, in place, as filldir() stores names. The last word may overlap the
 * one before it.
 */
#define FEW	256

static bool are_few(unsigned long n)
{
	return n >= sizeof(u64) && n <= FEW;
}

int usermem_get(struct run *run, void *to, unsigned long from, unsigned long n)
{
	const u64 __user *p = (const u64 __user *)from;
	const u64 __user *last = (const u64 __user *)(from + n - sizeof(u64));
	u64 *q = to;

	if (!are_few(n))
		return usermem_copy_in(run, to, from, n);
	if (unlikely(!user_read_access_begin(p, n)))
		return -EFAULT;
	pagefault_disable();
	for (; p + 1 < last; p += 2, q += 2) {
		unsafe_get_user(q[0], p, fault);
		unsafe_get_user(q[1], p + 1, fault);
	}
	if (p < last)
		unsafe_get_user(*q, p, fault);
	unsafe_get_user(*(u64 *)(to + n - sizeof(u64)), last, fault);
	pagefault_enable();
	user_read_access_end();
	return 0;
fault:
	pagefault_enable();
	user_read_access_end();
	return usermem_copy_in(run, to, from, n);
}
EXPORT_SYMBOL_NS_GPL(usermem_get, COMPAT_NS(SYSCRIPT));

int usermem_put(struct run *run, unsigned long to, unsigned long long head, const void *from,
		unsigned long n)
{
	u64 __user *p = (u64 __user *)to;
	u64 __user *last = (u64 __user *)(to + n);	/* word of the bytes after the head */
	const u64 *q = from;

	if (!are_few(n) || unlikely(!user_write_access_begin(p, n + sizeof(head))))
		goto slow;
	pagefault_disable();
	unsafe_put_user(head, p, fault);
	for (p++; p + 1 < last; p += 2, q += 2) {
		unsafe_put_user(q[0], p, fault);
		unsafe_put_user(q[1], p + 1, fault);
	}
	if (p < last)
		unsafe_put_user(*q, p, fault);
	unsafe_put_user(*(const u64 *)(from + n - sizeof(u64)), last, fault);
	pagefault_enable();
	user_write_access_end();
	return 0;
fault:
	pagefault_enable();
	user_write_access_end();
slow:
	return usermem_store(run, to, &head, sizeof(head)) ?:
	       usermem_copy_out(run, to + sizeof(head), from, n);
}
EXPORT_SYMBOL_NS_GPL(usermem_put, COMPAT_NS(SYSCRIPT));
