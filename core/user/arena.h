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
 * Restores an arena after mmap(2) over it failed, which on some kernels unmaps what was there.
 * Returns 0; or -ENOMEM with the arena gone, if another thread has mapped memory there.
 * arena_mark() is called before that mmap(2).
 */
void arena_mark(void *arena, unsigned int shift);
int arena_map_again(void *arena, unsigned int shift);

/*
 * Allocates the pages of @n bytes at @p in an arena before they are written: 0, or -ENOMEM if
 * writing to them would kill the process.
 */
int arena_populate(void *p, size_t n);

/*
 * Puts guards around an arena of @size bytes, for code that runs in this process; they stay until
 * each arena_guard() has had its arena_unguard(). Around memory that arena_map() did not map, the
 * addresses must be free. Returns 0, or -errno: -EEXIST if the addresses are taken.
 */
int arena_guard(void *arena, size_t size);
void arena_unguard(void *arena);

#endif /* LIB_USER_ARENA_H */
