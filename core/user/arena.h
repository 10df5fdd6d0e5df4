/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Arenas of images (syscript_image.h) in this process, and their guards.
 */
#ifndef LIB_USER_ARENA_H
#define LIB_USER_ARENA_H

#include <stddef.h>

/*
 * Maps an arena of 2^@shift bytes, with addresses reserved around it for guards.  Returns
 * its address, or NULL.
 */
void *arena_map(unsigned int shift);
void arena_unmap(void *arena, unsigned int shift);

/*
 * Where mmap(2) over a new arena has failed, which on some kernels leaves nothing there: 0; or
 * -ENOMEM, and no arena, where another thread's memory has come.  arena_mark() is called
 * before that mmap(2).
 */
void arena_mark(void *arena);
int arena_map_again(void *arena, unsigned int shift);

/*
 * Memory for @n bytes at @p in an arena, all at once, before they are written: 0, or -ENOMEM
 * where to write there would end the process.
 */
int arena_populate(void *p, size_t n);

/*
 * Code that runs in this process wants guards around its arena of @size bytes; they are
 * there until each arena_guard() has had its arena_unguard().  Around memory that is not
 * arena_map()'s they need free addresses.  Returns 0, or -errno: -EEXIST where something
 * else lies there.
 */
int arena_guard(void *arena, size_t size);
void arena_unguard(void *arena);

#endif /* LIB_USER_ARENA_H */
