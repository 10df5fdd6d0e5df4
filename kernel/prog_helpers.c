// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that programs share (prog_helpers.h).  Programs call these functions with bottom halves
 * off, on any CPU at once: each set of a table has a spinlock, and a call costs fuel for the cache
 * misses and locks that it takes.
 */
#include <linux/jiffies.h>
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/string.h>

#include "core/table.c"
#include "hook.h"
#include "prog_helpers.h"
#include "prog_state.h"

static_assert(PROG_HELPERS_LOCKS == TABLE_LOCKS);

/* Fuel besides the call's own: for cache misses, and for locks. */
#define COST_FIND	64
#define COST_CHANGE	256

static __always_inline void prog_helpers_charge(const struct syscript_event *event, u32 fuel)
{
	*event->ctx->fuel -= fuel;
}

/* Most keys are numbers of Lua, 8 bytes long: hashed without a loop. */
static __always_inline u32 hash_of(const struct table *table, const hsiphash_key_t *key)
{
	if (table->key_size <= 8 && !(table->key[0] >> 32))
		return hsiphash_1u32(table->key[0], key);
	if (table->key_size <= 8)
		return hsiphash_2u32(table->key[0], table->key[0] >> 32, key);
	return hsiphash(table->key, table->key_size, key);
}

/* Precise to a tick: reading a finer clock would need a division, a large part of a lookup. */
static u64 now_ms(void)
{
	return HZ <= MSEC_PER_SEC && !(MSEC_PER_SEC % HZ) ?
	       (u64)jiffies * (MSEC_PER_SEC / HZ) :
	       (u64)jiffies * TICK_NSEC / NSEC_PER_MSEC;
}

/* Locks the set of the table and key that @args name.  NULL if there is no such table. */
static __always_inline spinlock_t *open_table(struct syscript_event *event, const s64 *args,
					      struct table *table)
{
	const struct syscript_percpu_ctx *ctx = event->ctx;
	struct prog_helpers *services = &ctx->program->services;
	u32 hash;

	prog_helpers_charge(event, COST_FIND);
	if (table_open(table, ctx->base, ctx->mask, args[0], args[1]))
		return NULL;
	hash = hash_of(table, &services->key);
	return &services->locks[table_hash(table, hash, now_ms())];
}

/* The shared state of this kind that @n numbers, which is bounded for speculation, or NULL. */
static __always_inline struct prog_state *numbered_state(const struct hook_program *program,
							 u64 *n, u32 kind)
{
	struct prog_state *state;

	if (*n >= program->nstates)
		return NULL;
	*n = array_index_nospec(*n, SYSCRIPT_STATES_MAX);
	state = program->states[*n];
	return state->def.kind == kind ? state : NULL;
}

/* As open_table(), for a shared table: @args has its number. */
static __always_inline spinlock_t *open_shared(struct syscript_event *event, const s64 *args,
					       struct table *table)
{
	const struct syscript_percpu_ctx *ctx = event->ctx;
	struct prog_state *state;
	u64 n = args[0];

	prog_helpers_charge(event, COST_FIND);
	state = numbered_state(ctx->program, &n, SYSCRIPT_STATE_TABLE);
	if (!state)
		return NULL;
	table->base = ctx->base;
	table->mask = ctx->mask;
	table->sets = ctx->program->sets[n];
	table->nsets = state->def.entries / WAYS;
	table->value_size = state->def.value_size;
	table->age = state->def.age;
	table->evicted = &state->evicted;
	table_set_key(table, state->def.key_size, args[1]);
	return &state->helpers.locks[table_hash(table, hash_of(table, &state->helpers.key),
						now_ms())];
}

static __always_inline s64 add_entry(struct syscript_event *event, struct table *table,
				     spinlock_t *lock)
{
	u64 value;

	if (!lock)
		return 0;
	value = table_find(table);
	if (value)
		return value;
	prog_helpers_charge(event, COST_CHANGE + table->value_size);
	spin_lock(lock);
	value = table_add(table);
	spin_unlock(lock);
	return value;
}

static __always_inline s64 delete_entry(struct syscript_event *event, struct table *table,
					spinlock_t *lock)
{
	s64 had;

	if (!lock)
		return 0;
	prog_helpers_charge(event, COST_CHANGE);
	spin_lock(lock);
	had = table_delete(table);
	spin_unlock(lock);
	return had;
}

static s64 prog_helpers_find_entry(struct syscript_event *event, const s64 *args)
{
	struct table table __uninitialized;

	return open_table(event, args, &table) ? table_find(&table) : 0;
}

static s64 prog_helpers_add(struct syscript_event *event, const s64 *args)
{
	struct table table __uninitialized;

	return add_entry(event, &table, open_table(event, args, &table));
}

static s64 prog_helpers_delete(struct syscript_event *event, const s64 *args)
{
	struct table table __uninitialized;

	return delete_entry(event, &table, open_table(event, args, &table));
}

static s64 prog_helpers_shared_find(struct syscript_event *event, const s64 *args)
{
	struct table table __uninitialized;

	return open_shared(event, args, &table) ? table_find(&table) : 0;
}

static s64 prog_helpers_shared_add(struct syscript_event *event, const s64 *args)
{
	struct table table __uninitialized;

	return add_entry(event, &table, open_shared(event, args, &table));
}

static s64 prog_helpers_shared_delete(struct syscript_event *event, const s64 *args)
{
	struct table table __uninitialized;

	return delete_entry(event, &table, open_shared(event, args, &table));
}

static s64 prog_helpers_ring_put(struct syscript_event *event, const s64 *args)
{
	const struct syscript_percpu_ctx *ctx = event->ctx;
	u64 values[SYSCRIPT_RING_VALUES_MAX], n = args[0];
	struct prog_state *state;

	prog_helpers_charge(event, COST_CHANGE);
	state = numbered_state(ctx->program, &n, SYSCRIPT_STATE_RING);
	if (!state)
		return -1;
	/* May reach into the guard page. */
	memcpy(values, ctx->base + (args[1] & ctx->mask), sizeof(values));
	return prog_ring_write(state->ring, values) ? 0 : -1;
}

static const struct syscript_function functions[] = {
	{ "table_find", prog_helpers_find_entry },
	{ "table_add", prog_helpers_add },
	{ "table_delete", prog_helpers_delete },
	{ "shared_find", prog_helpers_shared_find },
	{ "shared_add", prog_helpers_shared_add },
	{ "shared_delete", prog_helpers_shared_delete },
	{ "ring_put", prog_helpers_ring_put },
	{ }
};

hook_function *prog_helpers_find(const char *name)
{
	const struct syscript_function *function;

	for (function = functions; function->name; function++)
		if (!strcmp(function->name, name))
			return function->fn;
	return NULL;
}

void prog_helpers_init(struct prog_helpers *services)
{
	unsigned int i;

	get_random_bytes(&services->key, sizeof(services->key));
	for (i = 0; i < PROG_HELPERS_LOCKS; i++)
		spin_lock_init(&services->locks[i]);
}
