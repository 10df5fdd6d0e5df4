// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements lua_kept.h: a list of scripts, the last used first. */
#include <stdlib.h>
#include <string.h>

#include "lua-runtime/runtime.h"
#include "lua_host.h"
#include "lua_kept.h"
#include "lua_snapshot.h"
#include "run.h"
#include "user/lock.h"

#define KEPT_MAX	8
/* Larger scripts are not kept, because each registration copies them. */
#define TEXT_MAX	(64UL << 10)
#define PAGES_MAX	96
/*
 * A boolean, type or line number may have overwritten the lower half of an address in memory that
 * Lua uses again. It is no address in an arena whose addresses have larger lower halves; another
 * arena cannot be moved.
 */
#define NUMBERS_END	(16U << 20)

/**
 * struct lua_kept - a script
 * @users: the list, and scripts of this text
 * @digest: of the text, for comparing fewer texts
 * @text:  followed by the name
 * @fixed: only for an arena at this address; NULL: for any
 */
struct lua_kept {
	unsigned int users;
	uint64_t digest;
	char *text;
	size_t len;
	unsigned long memory_limit;
	bool another;
	int only;
	unsigned int libraries;
	unsigned long long calls[RUN_CALLS_WORDS];
	struct image_header *image;
	size_t image_len;
	struct origins origins;
	struct lua_snapshot *snapshot;
	const char *fixed;
};

/* LOCK_KEPT guards it, the counts of users, and the searches for addresses. */
static struct lua_kept *list[KEPT_MAX];

static void destroy(struct lua_kept *kept)
{
	lua_snapshot_free(kept->snapshot);
	free(kept->text);
	free(kept->image);
	free(kept->origins.at);
	free(kept);
}

/* Not against collisions, because texts are compared. By words, as texts are long. */
static uint64_t digest_of(const char *text, size_t len)
{
	uint64_t digest = len, word;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		digest = (digest ^ word) * 0x9e3779b97f4a7c15;
	}
	for (; len; len--)
		digest = (digest ^ (unsigned char)*text++) * 0x9e3779b97f4a7c15;
	return digest;
}

static bool is_of(const struct lua_kept *kept, const struct lua_kept_key *key, uint64_t digest)
{
	const struct engine_image *source = key->source;
	const struct run *run = key->run;

	return kept->digest == digest && kept->len == source->len &&
	       kept->memory_limit == run->memory_limit &&
	       kept->another == (source->format == LUA_HOST_OR_ANOTHER) &&
	       kept->only == run->only && kept->libraries == run->libraries &&
	       !memcmp(kept->calls, run->calls, sizeof(kept->calls)) &&
	       !strcmp(kept->text + kept->len, run->name) &&
	       !memcmp(kept->text, source->data, source->len);
}

/* The place of the script with this key, or the last place. */
static unsigned int find(const struct lua_kept_key *key, uint64_t digest)
{
	unsigned int i;

	for (i = 0; i < KEPT_MAX - 1; i++)
		if (!list[i] || is_of(list[i], key, digest))
			break;
	return i;
}

/* Puts @kept before all others in place of the one at @i, which is returned. */
static struct lua_kept *put_first(struct lua_kept *kept, unsigned int i)
{
	struct lua_kept *old = list[i];

	memmove(list + 1, list, i * sizeof(*list));
	list[0] = kept;
	return old;
}

static bool is_usable(struct lua_kept *kept, const char *arena)
{
	if (kept->fixed)
		return kept->fixed == arena;
	return lua_snapshot_moves(kept->snapshot, arena);
}

struct lua_kept *lua_kept_get(const struct lua_kept_key *key, const char *arena)
{
	uint64_t digest = digest_of(key->source->data, key->source->len);
	struct lua_kept *kept;
	unsigned int i;

	lock_take(LOCK_KEPT);
	i = find(key, digest);
	kept = list[i];
	if (kept && is_of(kept, key, digest) && is_usable(kept, arena)) {
		put_first(kept, i);
		kept->users++;
	} else {
		kept = NULL;
	}
	lock_give(LOCK_KEPT);
	return kept;
}

void lua_kept_put(struct lua_kept *kept)
{
	bool last;

	lock_take(LOCK_KEPT);
	last = !--kept->users;
	lock_give(LOCK_KEPT);
	if (last)
		destroy(kept);
}

static struct lua_kept *make(const struct lua_kept_key *key)
{
	const struct engine_image *source = key->source;
	struct lua_kept *kept = calloc(1, sizeof(*kept));
	const struct run *run = key->run;

	if (!kept)
		return NULL;
	kept->text = malloc(source->len + strlen(run->name) + 1);
	if (!kept->text) {
		free(kept);
		return NULL;
	}
	memcpy(kept->text, source->data, source->len);
	strcpy(kept->text + source->len, run->name);
	kept->len = source->len;
	kept->digest = digest_of(source->data, source->len);
	kept->memory_limit = run->memory_limit;
	kept->another = source->format == LUA_HOST_OR_ANOTHER;
	kept->only = run->only;
	kept->libraries = run->libraries;
	memcpy(kept->calls, run->calls, sizeof(kept->calls));
	return kept;
}

/* With references for the list and the caller. */
static void add(const struct lua_kept_key *key, struct lua_kept *kept)
{
	struct lua_kept *old;

	kept->users = 2;
	lock_take(LOCK_KEPT);
	old = put_first(kept, find(key, kept->digest));
	lock_give(LOCK_KEPT);
	if (old)
		lua_kept_put(old);
}

struct lua_kept *lua_kept_add(const struct lua_kept_key *key, const char *arena, size_t size,
			      const struct lua_part *parts, uint64_t depends,
			      struct image_header *image, size_t len, struct origins origins)
{
	struct lua_kept *kept;

	if (depends & ~RUNTIME_ON_ADDRESSES || key->source->len > TEXT_MAX)
		return NULL;
	kept = make(key);
	if (!kept)
		return NULL;
	kept->snapshot = lua_snapshot_keep(arena, size, parts, PAGES_MAX);
	if (!kept->snapshot) {
		destroy(kept);
		return NULL;
	}
	kept->fixed = depends || (uint32_t)(uintptr_t)arena < NUMBERS_END ? arena : NULL;
	kept->image = image;
	kept->image_len = len;
	kept->origins = origins;
	add(key, kept);
	return kept;
}

struct image_header *lua_kept_image(const struct lua_kept *kept, size_t *len,
				    struct origins *origins)
{
	*len = kept->image_len;
	*origins = kept->origins;
	return kept->image;
}

bool lua_kept_copy(const struct lua_kept *kept, char *arena)
{
	return lua_snapshot_copy(kept->snapshot, arena);
}
