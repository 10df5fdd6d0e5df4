/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of all VMs: heap pages, machine code pages, stacks.
 *
 * Heap and machine code lie inside the module.  LuaJIT's pointers have 47
 * bits; the module area is the one part of the kernel's address space that
 * sign-extended 47 bits reach with 4- and with 5-level paging, and it is within
 * a relative jump of the VM.
 *
 * pages_get() and pages_put() may be called in VM mode.
 */
#ifndef SYSCRIPT_LUAJIT_PAGES_H
#define SYSCRIPT_LUAJIT_PAGES_H

#define PAGES_HEAP	16384
#define PAGES_MCODE	2048

#ifndef __ASSEMBLY__

#include <linux/spinlock.h>
#include <linux/types.h>

struct pages {
	raw_spinlock_t lock;
	char *base;
	unsigned long n, used;
	unsigned long *map;		/* one bit a page, set: taken */
	int fill;			/* what freed pages are filled with, or -1 */
};

extern struct pages pages_heap, pages_mcode;

int pages_init(void);
void pages_exit(void);

/* @size bytes in whole pages; @owned, a bitmap of the pool, notes whose. */
void *pages_get(struct pages *pages, unsigned long *owned, unsigned long size);
void pages_put(struct pages *pages, unsigned long *owned, void *p,
	       unsigned long size);
void pages_put_all(struct pages *pages, unsigned long *owned);

/* More than half of it is taken. */
bool pages_scarce(const struct pages *pages);

/* VM_STACK_SIZE bytes with a guard page, or NULL.  May sleep. */
void *stack_get(void);
void stack_put(void *stack);

#endif /* __ASSEMBLY__ */
#endif
