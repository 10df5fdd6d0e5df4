// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements lua_snapshot.h: copies pages, and relocates the addresses in them.
 *
 * Every word whose value lies in the arena is an address. Lua's numbers, texts and tables of
 * functions have no such values: the six bytes of a process's address are neither text nor an
 * integer that the libraries use. A small number does not leave half of an old address beside it
 * in a word, because the runtime zeroes memory that it allocates until then. No table has keys
 * that are hashed by address.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lua_snapshot.h"
#include "user/arena.h"

#define PAGE	4096
#define WORDS	(PAGE / sizeof(uint64_t))

/**
 * struct lua_snapshot - pages
 * @parts:      parts with memory in the arena; zero pages in them are not copied
 * @pages:      offsets of the copied pages in the arena
 * @addresses:  positions of addresses, which are stored as offsets, in @copy
 * @copy:       contents of the copied pages
 */
struct lua_snapshot {
	struct lua_part parts[SNAPSHOT_PARTS];
	size_t npages, naddresses;
	uint32_t *pages, *addresses;
	uint64_t (*copy)[WORDS];
};

static bool is_used(const uint64_t *page)
{
	size_t i;

	for (i = 0; i < WORDS && !page[i]; i++)
		;
	return i < WORDS;
}

static size_t count_used(const char *arena, size_t from, size_t to)
{
	size_t n = 0;

	for (; from < to; from += PAGE)
		n += is_used((const uint64_t *)(arena + from));
	return n;
}

void lua_snapshot_free(struct lua_snapshot *opened)
{
	if (!opened)
		return;
	free(opened->pages);
	free(opened->addresses);
	free(opened->copy);
	free(opened);
}

static struct lua_snapshot *make(size_t npages)
{
	struct lua_snapshot *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return NULL;
	opened->pages = malloc(npages * sizeof(*opened->pages));
	opened->addresses = malloc(npages * WORDS * sizeof(*opened->addresses));
	opened->copy = malloc(npages * PAGE);
	if (opened->pages && opened->addresses && opened->copy)
		return opened;
	lua_snapshot_free(opened);
	return NULL;
}

/* Copies @n bytes of the page at offset @at; the rest of the page is the script's, and zeroed. */
static void keep_page(struct lua_snapshot *opened, const char *arena, size_t size, size_t at,
		      size_t n)
{
	uint64_t *copy = opened->copy[opened->npages];
	size_t i;

	opened->pages[opened->npages++] = at;
	memcpy(copy, arena + at, n);
	memset((char *)copy + n, 0, PAGE - n);
	for (i = 0; i < WORDS; i++) {
		if (copy[i] - (uintptr_t)arena >= size)
			continue;
		copy[i] -= (uintptr_t)arena;
		opened->addresses[opened->naddresses++] = at + i * sizeof(*copy);
	}
}

static void keep_part(struct lua_snapshot *opened, const char *arena, size_t size,
		      struct lua_part part, size_t room)
{
	for (; opened->npages < room && part.from < part.to; part.from += PAGE)
		if (is_used((const uint64_t *)(arena + part.from)))
			keep_page(opened, arena, size, part.from,
				  part.to - part.from < PAGE ? part.to - part.from : PAGE);
}

struct lua_snapshot *lua_snapshot_keep(const char *arena, size_t size,
				   const struct lua_part parts[SNAPSHOT_PARTS])
{
	struct lua_snapshot *opened;
	size_t npages = 0;
	int i;

	for (i = 0; i < SNAPSHOT_PARTS; i++)
		npages += count_used(arena, parts[i].from, parts[i].to);
	opened = make(npages);
	for (i = 0; opened && i < SNAPSHOT_PARTS; i++) {
		opened->parts[i] = parts[i];
		keep_part(opened, arena, size, parts[i], npages);
	}
	return opened;
}

bool lua_snapshot_copy(const struct lua_snapshot *opened, char *arena)
{
	const uint32_t *at = opened->addresses, *end = at + opened->naddresses;
	size_t i;

	for (i = 0; i < SNAPSHOT_PARTS; i++)
		if (opened->parts[i].from < opened->parts[i].to &&
		    arena_populate(arena + opened->parts[i].from,
				   opened->parts[i].to - opened->parts[i].from))
			return false;
	for (i = 0; i < opened->npages; i++)
		memcpy(arena + opened->pages[i], opened->copy[i], PAGE);
	#pragma GCC unroll 8
	for (; at < end; at++)
		*(uint64_t *)(arena + *at) += (uintptr_t)arena;
	return true;
}
