// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The script's access to the process's memory.  A wild address must give -EFAULT, but the library
 * may not handle SIGSEGV, which is the program's.  So the kernel is asked once per page and run,
 * by calls that touch the page and do nothing else.  Pages that the script's system calls unmap
 * are asked for again; if a thread unmaps memory that a running script uses, the process faults,
 * as in C code.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>

#include "sys.h"
#include "user.h"
#include "usermem.h"

/* rt_sigprocmask(2) reads the set before it refuses an unknown "how". */
static bool page_readable(unsigned long addr)
{
	return sys_call(rt_sigprocmask, -1, addr & ~7UL, 0, 8) == -EINVAL;
}

/*
 * ORs 0 to the word: an atomic access, harmless to other threads. If the word is a futex with the
 * value -2048, one waiter wakes up, which waiters must expect.
 */
static bool page_writable(unsigned long addr)
{
	static unsigned int no_waiter;
	unsigned int op = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, -2048);

	return sys_call(futex, &no_waiter, FUTEX_WAKE_OP_PRIVATE, 0, 0, addr & ~3UL, op) >= 0;
}

static bool page_ok(struct run_priv *own, unsigned long addr, bool write)
{
	unsigned long page = addr / PAGE_SIZE + 1;	/* 0: an unused entry */
	struct copy_page *known = &own->pages[page % COPY_PAGES];

	if (known->page == page && (known->writable || !write))
		return true;
	if (write ? !page_writable(addr) : !page_readable(addr))
		return false;
	known->page = page;
	known->writable = write;
	return true;
}

static bool range_ok(struct run *run, unsigned long addr, unsigned long n, bool write)
{
	unsigned long last = addr + n - 1;

	if (last < addr)
		return false;
	for (unsigned long page = addr / PAGE_SIZE; page <= last / PAGE_SIZE; page++) {
		if (!page_ok(run_priv(run), page * PAGE_SIZE, write))
			return false;
	}
	return true;
}

bool usermem_is_readable(unsigned long addr, unsigned long n)
{
	unsigned long last = addr + n - 1;

	if (last < addr)
		return false;
	for (unsigned long page = addr / PAGE_SIZE; page <= last / PAGE_SIZE; page++) {
		if (!page_readable(page * PAGE_SIZE))
			return false;
	}
	return true;
}

void usermem_forget(struct run *run)
{
	memset(run_priv(run)->pages, 0, sizeof(run_priv(run)->pages));
}

int usermem_copy_in(struct run *run, void *to, unsigned long from, unsigned long n)
{
	if (!n)
		return 0;
	if (!range_ok(run, from, n, false))
		return -EFAULT;
	arch_copy(to, (const void *)from, n);
	return 0;
}

int usermem_copy_out(struct run *run, unsigned long to, const void *from, unsigned long n)
{
	if (!n)
		return 0;
	if (!range_ok(run, to, n, true))
		return -EFAULT;
	arch_copy((void *)to, from, n);
	return 0;
}

int usermem_get(struct run *run, void *to, unsigned long from, unsigned long n)
{
	return usermem_copy_in(run, to, from, n);
}

int usermem_put(struct run *run, unsigned long to, unsigned long long head, const void *from,
		unsigned long n)
{
	return usermem_copy_out(run, to, &head, sizeof(head)) ?:
	       usermem_copy_out(run, to + sizeof(head), from, n);
}

int usermem_load(struct run *run, unsigned long long *v, unsigned long from,
		 unsigned int size)
{
	return usermem_copy_in(run, v, from, size);
}

int usermem_store(struct run *run, unsigned long to, const unsigned long long *v,
		  unsigned int size)
{
	return usermem_copy_out(run, to, v, size);
}
