/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Single pages for memory that programs share, or that outlives a process: an arena maps pages
 * from several of their owners as one range.
 */
#ifndef SYSCRIPT_PAGES_H
#define SYSCRIPT_PAGES_H

struct page;

/* Allocates @n zeroed pages, charged to the memory cgroup: 0 or -ENOMEM. */
int pages_alloc(struct page **pages, unsigned long n);
/* Frees pages, or puts references to them. */
void pages_free(struct page **pages, unsigned long n);

#endif /* SYSCRIPT_PAGES_H */
