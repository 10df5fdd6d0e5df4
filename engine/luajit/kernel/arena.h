/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address space for VMs, and the memory in it.
 *
 * LuaJIT's pointers have 47 bits. Sign-extended, they reach the top of the address space, with 4-
 * and with 5-level paging. vmalloc() and the direct map lie elsewhere; modules lie there, and the
 * 444 GiB "unused hole" of Documentation/arch/x86/x86_64/mm.rst. The hole's page tables hang off
 * the page that maps the kernel's text, which all memory maps share. So the module puts its own
 * tables into unused entries of that page while it is loaded.
 *
 * Each VM has a window there, at a random place, with unmapped address space on
 * both sides.  Its memory is mapped in granules as it is needed, zeroed, and
 * charged to the memory cgroup of the caller.
 */
#ifndef SYSCRIPT_LUAJIT_ARENA_H
#define SYSCRIPT_LUAJIT_ARENA_H

#include <linux/mm_types.h>
#include <linux/types.h>

#define ARENA_GRANULE_SHIFT	16
#define ARENA_GRANULE		(1UL << ARENA_GRANULE_SHIFT)

/**
 * struct arena_window - a VM's share of the address space
 * @start:    of its first granule
 * @granules: number of granules; 0 if the window is not open
 * @stale:    the flush before which unmapped granules may still be in a TLB
 */
struct arena_window {
	unsigned long start;
	unsigned int granules;
	u64 stale;
};

int arena_init(void);
void arena_exit(void);

/*
 * These functions sleep. arena_open() maps nothing yet; arena_close() unmaps all granules.  @zero
 * is __GFP_ZERO or 0.  Returns 0, or -ENOMEM with nothing done.
 */
int arena_open(struct arena_window *window, unsigned int granules);
void arena_close(struct arena_window *window);
int arena_map(struct arena_window *window, unsigned int first, unsigned int n,
	      gfp_t zero);
void arena_unmap(struct arena_window *window, unsigned int first, unsigned int n);

/*
 * Maps a page of the caller's at @index of the window, or unmaps it (NULL), and flushes only this
 * CPU's TLB. Does not sleep. An index always has the same page, so stale entries of other CPUs
 * are at most too permissive. arena_tables() must be called first.
 */
int arena_tables(struct arena_window *window);
void arena_alias(struct arena_window *window, unsigned int index, struct page *page,
		 bool writable);

static inline void *arena_address(const struct arena_window *window, unsigned int granule)
{
	return (void *)(window->start + ((unsigned long)granule << ARENA_GRANULE_SHIFT));
}

#endif /* SYSCRIPT_LUAJIT_ARENA_H */
