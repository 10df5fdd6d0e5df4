// SPDX-License-Identifier: GPL-2.0
/*
 * Implements prog_state.h.
 *
 * The pages of a shared table are the last pages of the arena of each program that names it, so
 * values are used in place as in a table of its own.  A program's memory limit is charged for its
 * whole arena, so each pays for all of the table: nothing has to be charged anew when the program
 * that has made the table goes.  The table's sizes, its locks and the key of its hash are outside
 * of the arenas: a program that overwrites the pages spoils entries, and nothing else.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "pages.h"
#include "prog_state.h"
#include "run.h"
#include "uapi/syscript_table.h"

void prog_states_init(struct prog_states *states)
{
	spin_lock_init(&states->lock);
	INIT_LIST_HEAD(&states->list);
}

/* Of a table. */
static unsigned long table_pages(const struct syscript_state *def)
{
	/* As in struct syscript_table: a word for the kernel, the key, and the value. */
	unsigned long entry = 8 + ALIGN(def->key_size, 8) + ALIGN(def->value_size, 8);

	return DIV_ROUND_UP(def->entries * entry, PAGE_SIZE);
}

u64 prog_state_outside(const struct syscript_state *def)
{
	return sizeof(struct prog_state) + (def->kind == SYSCRIPT_STATE_RING ?
		prog_ring_size(def) : table_pages(def) * sizeof(struct page *));
}

u64 prog_state_size(const struct syscript_state *def)
{
	return prog_state_outside(def) +
	       (def->kind == SYSCRIPT_STATE_RING ? 0 : (u64)table_pages(def) << PAGE_SHIFT);
}

static void free_state(struct prog_state *state)
{
	if (state->ring)
		prog_ring_end(state->ring);
	if (state->pages)
		pages_free(state->pages, state->npages);
	kvfree(state->pages);
	kfree(state);
}

static bool make_table(struct prog_state *state)
{
	unsigned long npages = table_pages(&state->def);

	prog_helpers_init(&state->helpers);
	state->pages = kvmalloc_array(npages, sizeof(*state->pages),
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!state->pages || pages_alloc(state->pages, npages))
		return false;
	state->npages = npages;
	return true;
}

static bool make_ring(struct prog_state *state)
{
	state->ring = prog_ring_make(&state->def);
	return state->ring;
}

static struct prog_state *make_state(struct prog_states *states, const struct syscript_state *def)
{
	struct prog_state *state = kzalloc(sizeof(*state), GFP_KERNEL_ACCOUNT);

	if (!state)
		return NULL;
	state->of = states;
	state->def = *def;
	if (def->kind == SYSCRIPT_STATE_RING ? make_ring(state) : make_table(state))
		return state;
	free_state(state);
	return NULL;
}

static struct prog_state *find_state(struct prog_states *states, const char *name)
{
	struct prog_state *state;

	lockdep_assert_held(&states->lock);
	list_for_each_entry(state, &states->list, node)
		if (!strcmp(state->def.name, name))
			return state;
	return NULL;
}

/* Bytes after the texts' ends do not count. */
static bool same_state(const struct syscript_state *one, const struct syscript_state *other)
{
	return !memcmp(one, other, offsetof(struct syscript_state, name)) &&
	       !strcmp(one->fields, other->fields);
}

/* One more user of the state that exists, or else of @fresh, unless that is NULL; or NULL. */
static struct prog_state *join_state(struct prog_states *states, const struct syscript_state *def,
				     struct prog_state *fresh, char *error)
{
	struct prog_state *state;

	spin_lock(&states->lock);
	state = find_state(states, def->name);
	if (!state && fresh) {
		state = fresh;
		list_add(&state->node, &states->list);
	}
	if (state && !same_state(&state->def, def)) {
		scnprintf(error, RUN_ERROR_LEN,
			  "other programs share the %s '%s' with %u entries, keys of %u and values of %u bytes ('%.64s'), age %u: all must define it alike",
			  state->ring ? "ring" : "table", def->name, state->def.entries, state->def.key_size,
			  state->def.value_size, state->def.fields, state->def.age);
		state = ERR_PTR(-EEXIST);
	} else if (state) {
		state->users++;
	}
	spin_unlock(&states->lock);
	return state;
}

struct prog_state *prog_state_get(struct prog_states *states, const struct syscript_state *def,
				  char *error)
{
	struct prog_state *state = join_state(states, def, NULL, error), *fresh;

	if (state)
		return state;
	fresh = make_state(states, def);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	state = join_state(states, def, fresh, error);
	if (state != fresh)
		free_state(fresh);
	return state;
}

struct prog_ring *prog_state_ring(struct prog_states *states, const char *name,
				  struct syscript_state *def)
{
	struct prog_ring *ring = NULL;
	struct prog_state *state;

	spin_lock(&states->lock);
	state = find_state(states, name);
	if (state && state->ring) {
		ring = prog_ring_get(state->ring);
		*def = state->def;
	}
	spin_unlock(&states->lock);
	return ring;
}

void prog_state_put(struct prog_state *state)
{
	struct prog_states *states = state->of;
	bool last;

	spin_lock(&states->lock);
	last = !--state->users;
	if (last)
		list_del(&state->node);
	spin_unlock(&states->lock);
	if (last)
		free_state(state);
}
