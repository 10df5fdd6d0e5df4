// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The script's access to the process's memory.  A wild address has to give
 * -EFAULT, and the library may not take the program's SIGSEGV for that: the
 * kernel is asked once per page and run, with calls that touch the page and do
 * nothing else.  What system calls of the script unmap is forgotten; a thread
 * that unmaps what a running script uses gets the fault that C code would get.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>

#include "sys.h"
#include "user.h"

/* An unknown "how" is refused after the set has been read. */
static bool page_readable(unsigned long addr)
{
	return sys_call(rt_sigprocmask, -1, addr & ~7UL, 0, 8) == -EINVAL;
}

/*
 * Or-s a 0 to the word: an atomic access, harmless to other threads.  Should the
 * word be -2048 and a futex, one waiter wakes up, as waiters have to expect.
 */
static bool page_writable(unsigned long addr)
{
	static unsigned int nobody;
	unsigned int op = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, -2048);

	return sys_call(futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, 0, addr & ~3UL, op) >= 0;
}

static bool page_ok(struct script *script, unsigned long addr, bool write)
{
	unsigned long page = addr / PAGE_SIZE + 1;	/* a forgotten entry has 0 */
	struct copy_page *known = &script->pages[page % COPY_PAGES];

	if (known->page == page && (known->writable || !write))
		return true;
	if (write ? !page_writable(addr) : !page_readable(addr))
		return false;
	known->page = page;
	known->writable = write;
	return true;
}

static bool range_ok(struct script *script, unsigned long addr, unsigned long n, bool write)
{
	unsigned long last = addr + n - 1;

	if (last < addr)
		return false;
	for (unsigned long page = addr / PAGE_SIZE; page <= last / PAGE_SIZE; page++) {
		if (!page_ok(script, page * PAGE_SIZE, write))
			return false;
	}
	return true;
}

/* Not memcpy(): what the script touches is none of a sanitizer's business. */
static void copy(void *to, const void *from, unsigned long n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

void user_copy_forget(struct script *script)
{
	memset(script->pages, 0, sizeof(script->pages));
}

int port_copy_in(struct vm *vm, void *to, unsigned long from, unsigned long n)
{
	if (!n)
		return 0;
	if (!range_ok(script_of(vm), from, n, false))
		return -EFAULT;
	copy(to, (const void *)from, n);
	return 0;
}

int port_copy_out(struct vm *vm, unsigned long to, const void *from, unsigned long n)
{
	if (!n)
		return 0;
	if (!range_ok(script_of(vm), to, n, true))
		return -EFAULT;
	copy((void *)to, from, n);
	return 0;
}

int port_load(struct vm *vm, unsigned long long *v, unsigned long from, unsigned int size)
{
	return port_copy_in(vm, v, from, size);
}

int port_store(struct vm *vm, unsigned long to, const unsigned long long *v, unsigned int size)
{
	return port_copy_out(vm, to, v, size);
}
