// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "speedup.h"

/* How far on a name may be: directories are passed over, or looked at later. */
#define LISTING_NEAR	32
/* After so many names that were not near, the order is another one. */
#define LISTING_MISSES	8

struct chunk *chunk_new(size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (chunk) {
		atomic_init(&chunk->users, 1);
		chunk->size = size;
		chunk->end = 0;
	}
	return chunk;
}

void chunk_put(struct chunk *chunk)
{
	if (chunk && atomic_fetch_sub(&chunk->users, 1) == 1)
		free(chunk);
}

/* Makes the one at @i the first. */
static void to_front(struct listing *listings, int i)
{
	struct listing listing = listings[i];

	memmove(listings + 1, listings, i * sizeof(*listings));
	listings[0] = listing;
}

void listing_add(struct listing *listings, struct chunk *chunk)
{
	static atomic_ulong number;
	struct listing *oldest = &listings[LISTINGS - 1];

	chunk_put(oldest->chunk);
	atomic_fetch_add(&chunk->users, 1);
	*oldest = (struct listing){ .chunk = chunk, .number = atomic_fetch_add(&number, 1) };
	to_front(listings, LISTINGS - 1);
}

void listing_free(struct listing *listings)
{
	for (int i = 0; i < LISTINGS; i++)
		chunk_put(listings[i].chunk);
}

static const struct dirent64 *entry_at(const struct chunk *chunk, size_t at)
{
	return (const void *)(chunk->entries + at);
}

static bool is_dot(const struct dirent64 *entry)
{
	const char *name = entry->d_name;

	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static bool has_near(struct listing *listing, const char *name)
{
	const struct chunk *chunk = listing->chunk;
	size_t at = listing->cursor;

	if (at >= chunk->end || listing->misses == LISTING_MISSES)
		return false;
	for (int i = 0; i < LISTING_NEAR && at < chunk->end; i++) {
		const struct dirent64 *entry = entry_at(chunk, at);

		if (!strcmp(entry->d_name, name)) {
			listing->cursor = at;
			listing->misses = 0;
			return true;
		}
		at += entry->d_reclen;
	}
	listing->misses++;
	return false;
}

struct listing *listing_seek(struct listing *listings, const char *name)
{
	for (int i = 0; i < LISTINGS && listings[i].chunk; i++) {
		if (has_near(&listings[i], name)) {
			to_front(listings, i);
			return listings;
		}
	}
	return NULL;
}

unsigned int listing_gather(const struct listing *listing, unsigned int most, bool to_dir,
			    size_t *bytes)
{
	const struct chunk *chunk = listing->chunk;
	size_t at = listing->cursor;
	unsigned int n = 0;

	while (n < most && at < chunk->end) {
		const struct dirent64 *entry = entry_at(chunk, at);

		at += entry->d_reclen;
		n++;
		if (to_dir && entry->d_type == DT_DIR && !is_dot(entry))
			break;
	}
	*bytes = at - listing->cursor;
	return n;
}

void listing_go_on(struct listing *listings, unsigned long number, size_t from,
		   const char *name)
{
	for (int i = 0; i < LISTINGS && listings[i].chunk; i++) {
		const struct chunk *chunk = listings[i].chunk;
		const struct dirent64 *entry;

		if (listings[i].number != number)
			continue;
		do {
			entry = entry_at(chunk, from);
			from += entry->d_reclen;
		} while (from < chunk->end && strcmp(entry->d_name, name));
		listings[i].cursor = from;
	}
}
