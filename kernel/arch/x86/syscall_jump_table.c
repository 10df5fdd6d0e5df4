// SPDX-License-Identifier: GPL-2.0
/*
 * Implements syscall_jump_table.h: when the module is loaded, writes a jump to each system call's
 * function into text that syscall_jumps.S reserves, with addresses from the kernel's system call
 * table. The table is not exported, so it is found by name and checked.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <asm/sync_core.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "syscall_jump_table.h"
#include "symbols.h"
#include "syscalls_nr.h"

#define JMP_SIZE	5
#define ENDBR_SIZE	4

/* The pages that the jumps span, whatever their alignment. */
#define PAGES_MAX	(DIV_ROUND_UP(SYSCALL_ENTRY_COUNT * SYSCALL_ENTRY_SIZE, PAGE_SIZE) + 1)

extern char entries_first[];

long syscall_entry_call(unsigned int index, const struct pt_regs *regs)
{
	switch (index) {
#define SYSCALL(name, kinds, flags)	\
	case SYSCALL_ENTRY_##name: return syscall_entry_##name(regs);
#include "syscalls.def"
	}
	return -EINVAL;
}

/* The kernel's table, or NULL if the entry of getppid(2) is not the symbol's address. */
static const sys_call_ptr_t *__init find_table(void)
{
	const sys_call_ptr_t *table = symbols_find("sys_call_table");
	unsigned long getppid = (unsigned long)symbols_find("__x64_sys_getppid");
	unsigned long entry = table ? (unsigned long)table[__NR_getppid] : 0;

	return getppid && (entry == getppid || entry == getppid - ENDBR_SIZE) ? table : NULL;
}

/* The jumps' text is not writable, so they are written through a temporary second mapping. */
static char *__init jumps_map_writable(void)
{
	unsigned long first = (unsigned long)entries_first & PAGE_MASK;
	unsigned int size = offset_in_page(entries_first) +
			    SYSCALL_ENTRY_COUNT * SYSCALL_ENTRY_SIZE;
	unsigned int i, count = DIV_ROUND_UP(size, PAGE_SIZE);
	struct page *pages[PAGES_MAX];
	char *alias;

	for (i = 0; i < count; i++)
		pages[i] = vmalloc_to_page((void *)first + i * PAGE_SIZE);
	alias = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	return alias ? alias + offset_in_page(entries_first) : NULL;
}

static void __init write_jump(char *alias, unsigned int index, sys_call_ptr_t to)
{
	char *at = entries_first + index * SYSCALL_ENTRY_SIZE;
	s32 distance = (char *)to - (at + JMP_SIZE);

	memcpy(alias + index * SYSCALL_ENTRY_SIZE + JMP_SIZE - sizeof(distance), &distance,
	       sizeof(distance));
}

static void __init jumps_sync(void *unused)
{
	sync_core();
}

static int __init write_jumps(const sys_call_ptr_t *table)
{
	char *alias = jumps_map_writable();
	unsigned int i;

	if (!alias)
		return -ENOMEM;
	for (i = 0; i < SYSCALL_ENTRY_COUNT; i++)
		if (syscall_entry_numbers[i] < NR_syscalls)
			write_jump(alias, i, table[syscall_entry_numbers[i]]);
	vunmap((void *)((unsigned long)alias & PAGE_MASK));
	on_each_cpu(jumps_sync, NULL, 1);
	return 0;
}

int __init arch_syscalls_init(void)
{
	const sys_call_ptr_t *table = find_table();

	return table ? write_jumps(table) : -ENOENT;
}
