// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See arena.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "../../include/uapi/syscript_image.h"
#include "user/lock.h"
#include "user/sys.h"
#include "arena.h"

#define HUGE_SHIFT	21	/* log2 of a huge page's size */

/**
 * struct known - an arena that was mapped here, or has guards
 * @reserved: arena_map() has reserved the guards' addresses
 * @guards:   number of arena_guard() calls without their arena_unguard()
 */
struct known {
	struct known *next;
	char *arena;
	size_t size;
	bool reserved;
	unsigned int guards;
};

static struct known *all;

static struct known **find(const char *arena)
{
	struct known **link = &all;

	while (*link && (*link)->arena != arena)
		link = &(*link)->next;
	return link;
}

static struct known *add(char *arena, size_t size, bool reserved)
{
	struct known *known = malloc(sizeof(*known));

	if (known) {
		*known = (struct known){ all, arena, size, reserved, 0 };
		all = known;
	}
	return known;
}

static void forget(struct known **link)
{
	struct known *known = *link;

	*link = known->next;
	free(known);
}

/* Maps memory at @at and nowhere else: before Linux 4.17, and in qemu-user, the flag is a hint. */
static int map_at(char *at, size_t size, int access)
{
	char *p = mmap(at, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
		       MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (p == at)
		return 0;
	munmap(p, size);
	return -EEXIST;
}

/* Guards are writable, so a stray write beside the arena hits unused memory. */
static int map_guard(const struct known *known, char *from)
{
	const int access = PROT_READ | PROT_WRITE;

	if (known->reserved)
		return mprotect(from, IMAGE_GUARD, access) ? -errno : 0;
	return map_at(from, IMAGE_GUARD, access);
}

static int map_guards(const struct known *known)
{
	char *before = known->arena - IMAGE_GUARD;
	int err = map_guard(known, before);

	if (err)
		return err;
	err = map_guard(known, known->arena + known->size);
	if (err && !known->reserved)
		munmap(before, IMAGE_GUARD);
	return err;
}

static int guard(char *arena, size_t size)
{
	struct known **link = find(arena), *known = *link ?: add(arena, size, false);
	int err = 0;

	if (!known)
		return -ENOMEM;
	/*
	 * A program may use only the first part of an arena, but the guards begin at the arena's
	 * end.
	 */
	if (size > known->size || (size < known->size && !known->reserved))
		return -EEXIST;
	if (!known->guards)
		err = map_guards(known);
	if (!err)
		known->guards++;
	else if (!known->reserved)
		forget(find(arena));
	return err;
}

int arena_guard(void *arena, size_t size)
{
	int err;

	lock_take(LOCK_ARENAS);
	err = guard(arena, size);
	lock_give(LOCK_ARENAS);
	return err;
}

static void unmap_guards(const struct known *known)
{
	munmap(known->arena - IMAGE_GUARD, IMAGE_GUARD);
	munmap(known->arena + known->size, IMAGE_GUARD);
}

void arena_unguard(void *arena)
{
	struct known **link;

	lock_take(LOCK_ARENAS);
	link = find(arena);
	/* An arena that was unmapped before its last program has no guards any more. */
	if (*link && !--(*link)->guards && !(*link)->reserved) {
		unmap_guards(*link);
		forget(link);
	}
	lock_give(LOCK_ARENAS);
}

/* Since Linux 5.14. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

int arena_populate(void *p, size_t n)
{
	uintptr_t from = (uintptr_t)p & -4096UL, end = ((uintptr_t)p + n + 4095) & -4096UL;

	if (!n || !madvise((void *)from, end - from, MADV_POPULATE_WRITE))
		return 0;
	/* An older kernel or a filter refuses it: the pages will come as they are used. */
	return errno == ENOMEM || errno == EFAULT || errno == EHWPOISON ? -ENOMEM : 0;
}

/* Reserves more than an arena of @size bytes with guards, and frees what is beside them. */
static char *reserve_aligned(size_t size)
{
	size_t many = 2 * size + 2 * IMAGE_GUARD;
	char *from = mmap(NULL, many, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0), *arena;

	if (from == MAP_FAILED)
		return NULL;
	arena = (char *)(((unsigned long)from + IMAGE_GUARD + size - 1) & ~(size - 1));
	if (arena - IMAGE_GUARD > from)
		munmap(from, arena - IMAGE_GUARD - from);
	if (from + many > arena + size + IMAGE_GUARD)
		munmap(arena + size + IMAGE_GUARD,
		       from + many - (arena + size + IMAGE_GUARD));
	return arena;
}

/* The last arena that was unmapped: another of its size fits there exactly. */
static struct known unmapped;

static char *reserve_again(size_t size)
{
	char *arena = NULL;

	lock_take(LOCK_ARENAS);
	if (unmapped.size == size) {
		arena = unmapped.arena;
		unmapped.size = 0;
	}
	lock_give(LOCK_ARENAS);
	if (arena && map_at(arena - IMAGE_GUARD, size + 2 * IMAGE_GUARD, PROT_NONE))
		arena = NULL;
	return arena;
}

void *arena_map(unsigned int shift)
{
	size_t size = 1UL << shift;
	char *arena = reserve_again(size) ?: reserve_aligned(size);
	bool is_known;

	if (!arena)
		return NULL;
	lock_take(LOCK_ARENAS);
	is_known = add(arena, size, true);
	lock_give(LOCK_ARENAS);
	if (!is_known || mprotect(arena, size, PROT_READ | PROT_WRITE)) {
		arena_unmap(arena, shift);
		return NULL;
	}
	/* A huge page would be charged, and stay, as a whole where a part of it is pinned. */
	if (shift < HUGE_SHIFT)
		madvise(arena, size, MADV_NOHUGEPAGE);
	return arena;
}

static void forget_arena(void *arena)
{
	struct known **link;

	lock_take(LOCK_ARENAS);
	link = find(arena);
	if (*link) {
		/* Where the program had placed it, it may want to map again. */
		if ((*link)->reserved)
			unmapped = **link;
		forget(link);
	}
	lock_give(LOCK_ARENAS);
}

/* A number that other memory does not have: it reads as 0, or cannot be read. */
static uint32_t mark_of(const void *arena)
{
	return (uintptr_t)arena >> 12 | 1;
}

void arena_mark(void *arena, unsigned int shift)
{
	/* The mark must not take a huge page, which is zeroed as a whole. */
	if (shift >= HUGE_SHIFT)
		madvise(arena, 1UL << shift, MADV_NOHUGEPAGE);
	*(uint32_t *)arena = mark_of(arena);
}

/* Reads the mark by a system call, which fails instead of faulting. */
static bool is_marked(void *arena)
{
	const struct timespec now = { 0, 0 };

	return sys_call(futex, arena, FUTEX_WAIT_PRIVATE, mark_of(arena), &now) == -ETIMEDOUT;
}

int arena_map_again(void *arena, unsigned int shift)
{
	size_t size = 1UL << shift;

	if (!map_at(arena, size, PROT_READ | PROT_WRITE)) {
		if (shift < HUGE_SHIFT)
			madvise(arena, size, MADV_NOHUGEPAGE);
		return 0;
	}
	if (is_marked(arena)) {
		*(uint32_t *)arena = 0;
		return 0;
	}
	forget_arena(arena);
	munmap((char *)arena - IMAGE_GUARD, IMAGE_GUARD);
	munmap((char *)arena + size, IMAGE_GUARD);
	return -ENOMEM;
}

void arena_unmap(void *arena, unsigned int shift)
{
	forget_arena(arena);
	munmap((char *)arena - IMAGE_GUARD, (1UL << shift) + 2 * IMAGE_GUARD);
}
