// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements lua_snapshot.h: copies pages, and relocates the addresses in them.
 *
 * Every word whose value lies in the arena is an address. Lua's numbers, texts and tables of
 * functions have no such values: the six bytes of a process's address are neither text nor an
 * integer that is used without knowing the arena. A small number does not leave half of an old
 * address beside it in a word, because the runtime zeroes memory that it allocates until then. No
 * table has keys that are hashed by address.
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
 * @arena:      the arena that was copied, of @size bytes
 * @pages:      offsets of the copied pages in the arena
 * @addresses:  positions of addresses in @copy, as offsets in the arena; NULL: not searched yet
 * @copy:       contents of the copied pages
 */
struct lua_snapshot {
	struct lua_part parts[SNAPSHOT_PARTS];
	uintptr_t arena;
	size_t size, npages, naddresses;
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

void lua_snapshot_free(struct lua_snapshot *snapshot)
{
	if (!snapshot)
		return;
	free(snapshot->pages);
	free(snapshot->addresses);
	free(snapshot->copy);
	free(snapshot);
}

static struct lua_snapshot *make(const char *arena, size_t size, size_t npages)
{
	struct lua_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->arena = (uintptr_t)arena;
	snapshot->size = size;
	snapshot->pages = malloc(npages * sizeof(*snapshot->pages));
	snapshot->copy = malloc(npages * PAGE);
	if (snapshot->pages && snapshot->copy)
		return snapshot;
	lua_snapshot_free(snapshot);
	return NULL;
}

/* Copies @n bytes of the page at offset @at; the rest of the page is the script's, and zeroed. */
static void keep_page(struct lua_snapshot *snapshot, const char *arena, size_t at, size_t n)
{
	char *copy = (char *)snapshot->copy[snapshot->npages];

	snapshot->pages[snapshot->npages++] = at;
	memcpy(copy, arena + at, n);
	memset(copy + n, 0, PAGE - n);
}

/* The script may be writing, so the pages that are used may be others by now. */
static void keep_part(struct lua_snapshot *snapshot, const char *arena, struct lua_part part,
		      size_t room)
{
	for (; snapshot->npages < room && part.from < part.to; part.from += PAGE)
		if (is_used((const uint64_t *)(arena + part.from)))
			keep_page(snapshot, arena, part.from,
				  part.to - part.from < PAGE ? part.to - part.from : PAGE);
}

struct lua_snapshot *lua_snapshot_keep(const char *arena, size_t size,
				       const struct lua_part parts[SNAPSHOT_PARTS],
				       size_t npages_max)
{
	struct lua_snapshot *snapshot;
	size_t npages = 0;
	int i;

	for (i = 0; i < SNAPSHOT_PARTS; i++)
		npages += count_used(arena, parts[i].from, parts[i].to);
	if (npages > npages_max)
		return NULL;
	snapshot = make(arena, size, npages);
	for (i = 0; snapshot && i < SNAPSHOT_PARTS; i++) {
		snapshot->parts[i] = parts[i];
		keep_part(snapshot, arena, parts[i], npages);
	}
	return snapshot;
}

/* -- Other arenas --------------------------------------------------------------------- */

static bool is_address(const struct lua_snapshot *snapshot, uint64_t word)
{
	return word - snapshot->arena < snapshot->size;
}

static void find_addresses(struct lua_snapshot *snapshot)
{
	size_t page, i;

	for (page = 0; page < snapshot->npages; page++)
		for (i = 0; i < WORDS; i++)
			if (is_address(snapshot, snapshot->copy[page][i]))
				snapshot->addresses[snapshot->naddresses++] =
					snapshot->pages[page] + i * sizeof(uint64_t);
}

bool lua_snapshot_moves(struct lua_snapshot *snapshot, const char *arena)
{
	if (snapshot->arena == (uintptr_t)arena || snapshot->addresses)
		return true;
	snapshot->addresses = malloc(snapshot->npages * WORDS * sizeof(*snapshot->addresses));
	if (snapshot->addresses)
		find_addresses(snapshot);
	return snapshot->addresses;
}

static void move_addresses(const struct lua_snapshot *snapshot, char *arena)
{
	const uint32_t *at = snapshot->addresses, *end = at + snapshot->naddresses;
	uint64_t by = (uintptr_t)arena - snapshot->arena;

	#pragma GCC unroll 8
	for (; at < end; at++)
		*(uint64_t *)(arena + *at) += by;
}

bool lua_snapshot_copy(const struct lua_snapshot *snapshot, char *arena)
{
	size_t i;

	for (i = 0; i < SNAPSHOT_PARTS; i++)
		if (snapshot->parts[i].from < snapshot->parts[i].to &&
		    arena_populate(arena + snapshot->parts[i].from,
				   snapshot->parts[i].to - snapshot->parts[i].from))
			return false;
	for (i = 0; i < snapshot->npages; i++)
		memcpy(arena + snapshot->pages[i], snapshot->copy[i], PAGE);
	if (snapshot->arena != (uintptr_t)arena)
		move_addresses(snapshot, arena);
	return true;
}
