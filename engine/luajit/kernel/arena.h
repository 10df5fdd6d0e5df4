/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address space for VMs, and the memory in it.
 *
 * LuaJIT's pointers have 47 bits.  What sign-extended 47 bits reach with 4- and
 * with 5-level paging is the top of the address space, where neither vmalloc()
 * nor the direct map lies: modules do, and the 444 GiB "unused hole" of
 * Documentation/arch/x86/x86_64/mm.rst, the same in both.  Its page tables hang
 * off the page that maps the kernel's text, which all memory maps share.  So we
 * put tables of our own into entries of it that are not used, for as long as the
 * module is loaded.
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
 * @granules: how many; 0 for a window that is not open
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
 * All of these sleep.  arena_open() maps nothing yet; arena_close() unmaps what is mapped.  @zero
 * is __GFP_ZERO or 0.  Returns 0, or -ENOMEM with nothing done.
 */
int arena_open(struct arena_window *window, unsigned int granules);
void arena_close(struct arena_window *window);
int arena_map(struct arena_window *window, unsigned int first, unsigned int n,
	      gfp_t zero);
void arena_unmap(struct arena_window *window, unsigned int first, unsigned int n);

/*
 * A page of our own at @index of the window, or (NULL) nothing; this CPU's TLB is
 * told, others' are not.  Does not sleep.  A place always has the same page, so
 * what others remember is at most too permissive.  arena_tables() before it.
 */
int arena_tables(struct arena_window *window);
void arena_alias(struct arena_window *window, unsigned int index, struct page *page,
		 bool writable);

static inline void *arena_address(const struct arena_window *window, unsigned int granule)
{
	return (void *)(window->start + ((unsigned long)granule << ARENA_GRANULE_SHIFT));
}

#endif /* SYSCRIPT_LUAJIT_ARENA_H */
