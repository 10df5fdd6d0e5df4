// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <string.h>
#include <sys/mman.h>

#include "speedup.h"

/* How far on a name may be: directories are passed over, or looked at later. */
#define LISTING_NEAR	64
/* After so many names that were not near, the order is another one. */
#define LISTING_MISSES	8
/* Files fetched at once, at first, and when it is tried again after it did not help. */
#define LISTING_APPETITE	32
#define LISTING_AGAIN		8
/* A listing that is tried again, one of so many. */
#define LISTING_REST		32

/* What to begin with, from what has become of others. */
static __thread unsigned int appetite = LISTING_APPETITE, rested;

static unsigned int first_appetite(void)
{
	if (appetite >= LISTING_AGAIN)
		return appetite;
	return ++rested % LISTING_REST ? 0 : LISTING_AGAIN;
}

struct listing *listing_find(struct listing *listings, dev_t dev, ino_t ino)
{
	static __thread unsigned long stamp;

	for (int i = 0; i < LISTINGS; i++) {
		if (listings[i].names && listings[i].ino == ino && listings[i].dev == dev) {
			listings[i].stamp = ++stamp;
			return &listings[i];
		}
	}
	return NULL;
}

struct listing *listing_get(struct listing *listings, dev_t dev, ino_t ino)
{
	struct listing *oldest = listings;
	struct listing *listing = listing_find(listings, dev, ino);

	if (listing)
		return listing;
	for (int i = 1; i < LISTINGS; i++) {
		if (listings[i].stamp < oldest->stamp)
			oldest = &listings[i];
	}
	if (!oldest->names) {
		void *names = mmap(NULL, LISTING_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (names == MAP_FAILED)
			return NULL;
		oldest->names = names;
	}
	oldest->dev = dev;
	oldest->ino = ino;
	oldest->used = 0;
	oldest->cursor = 0;
	oldest->misses = 0;
	oldest->appetite = first_appetite();
	return listing_find(listings, dev, ino);
}

void listing_add(struct listing *listing, const char *name)
{
	size_t size = strlen(name) + 1;

	if (listing->used + size > LISTING_SIZE)
		return;
	memcpy(listing->names + listing->used, name, size);
	listing->used += size;
}

const char *listing_seek(struct listing *listing, const char *name)
{
	size_t size = strlen(name) + 1, at = listing->cursor;

	if (listing->misses >= LISTING_MISSES)
		return NULL;
	for (int i = 0; i < LISTING_NEAR && at < listing->used; i++) {
		size_t len = strlen(listing->names + at) + 1;

		if (len == size && !memcmp(listing->names + at, name, size)) {
			listing->cursor = at + len;
			listing->misses = 0;
			return listing->names + at;
		}
		at += len;
	}
	listing->misses++;
	return NULL;
}

void listing_learn(struct listing *listing, unsigned int n, unsigned int used,
		   unsigned int most)
{
	if (used * 2 < n) {
		listing->appetite = n / 2;
		appetite /= 2;
	} else {
		if (used == n)
			listing->appetite = n * 2 < most ? n * 2 : most;
		appetite = LISTING_APPETITE;
	}
}
