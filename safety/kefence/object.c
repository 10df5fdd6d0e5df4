// SPDX-License-Identifier: GPL-2.0
/*
 * Objects in slots.
 *
 * slot->state names the owner of a slot: SLOT_FREE its class's queue, or the code that just
 * dequeued it; SLOT_LIVE the module; SLOT_PENDING RCU. A free must win the transition from
 * SLOT_LIVE; a loser is a double free.
 */
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/cpufeature.h>

#include "cache.h"
#include "client.h"
#include "compat.h"
#include "object.h"
#include "pool.h"
#include "site.h"
#include "violation.h"

/* Fills the bytes around an object within its pages; checked when it is freed. */
#define CANARY		0xa9b5c1d3e7f7ebdfULL
#define CANARY_LEN	64UL

/* -- where it lies ------------------------------------------------------------ */

/*
 * Exact, if its type's alignment allows: see kefence.h. If split-lock detection is on, an
 * unknown type must be aligned.
 */
static unsigned int object_align(const struct request *request,
				 const struct client *client)
{
	unsigned int align = READ_ONCE(client->settings.align);

	if (align == 1)
		return 1;
	if (request->cache)
		return max(request->cache->align, align ?: 1);
	if (align)
		return align;
	if (request->gfp & KEFENCE_GFP_STRUCT && !request->constant)
		return sizeof(long);
	if (!request->constant && boot_cpu_has(X86_FEATURE_SPLIT_LOCK_DETECT))
		return sizeof(long);
	return 1;
}

static unsigned long object_place(const struct slot *slot, size_t size,
				  unsigned int align, enum side side)
{
	unsigned long end = pool_slot_end(slot);

	if (side == SIDE_RANDOM)
		side = get_random_u8() & 1 ? SIDE_END : SIDE_START;
	if (side == SIDE_START)
		return end - PAGE_ALIGN(size);
	return round_down(end - size, align);
}

/* Bytes before the object in its first page. */
static unsigned long slack_before(const struct slot *slot)
{
	return min(slot->object & ~PAGE_MASK, CANARY_LEN);
}

static unsigned long slack_after(const struct slot *slot)
{
	return min(pool_slot_end(slot) - (slot->object + slot->size), CANARY_LEN);
}

static u8 canary_byte(unsigned long addr)
{
	return CANARY >> (addr % sizeof(u64) * 8);
}

static void canary_set(unsigned long addr, unsigned long end)
{
	for (; addr < end && addr % sizeof(u64); addr++)
		*(u8 *)addr = canary_byte(addr);
	for (; addr + sizeof(u64) <= end; addr += sizeof(u64))
		*(u64 *)addr = CANARY;
	for (; addr < end; addr++)
		*(u8 *)addr = canary_byte(addr);
}

/* The first address that changed, or @end. */
static unsigned long canary_check(unsigned long addr, unsigned long end)
{
	while (addr < end) {
		if (addr % sizeof(u64) == 0 && addr + sizeof(u64) <= end &&
		    *(u64 *)addr == CANARY) {
			addr += sizeof(u64);
			continue;
		}
		if (*(u8 *)addr != canary_byte(addr))
			break;
		addr++;
	}
	return addr;
}

static void canaries_set(const struct slot *slot)
{
	unsigned long end = slot->object + slot->size;

	canary_set(slot->object - slack_before(slot), slot->object);
	canary_set(end, end + slack_after(slot));
}

static void canaries_check(struct slot *slot, struct site *site)
{
	unsigned long end = slot->object + slot->size;
	unsigned long last, bad;

	bad = canary_check(slot->object - slack_before(slot), slot->object);
	if (bad < slot->object)
		violation_of_canary(slot, bad, site);
	last = end + slack_after(slot);
	bad = canary_check(end, last);
	if (bad < last)
		violation_of_canary(slot, bad, site);
}

/* -- birth -------------------------------------------------------------------- */

static void event_set(struct slot_event *event, struct site *site)
{
	event->site = site;
	event->ip = site->ip;
	event->stack = site_stack(site);
	event->pid = task_pid_nr(current);
	event->jiffies = jiffies;
}

void object_close(struct slot *slot)
{
	/* An overrun may have opened the page after the slot, which holds no object. */
	unsigned long addr, end = pool_slot_end(slot) + PAGE_SIZE;

	/* The page, when opened next, must show zeros. */
	for (addr = pool_slot_start(slot); addr < end; addr += PAGE_SIZE)
		if (pool_is_open(slot, addr, true))
			clear_page((void *)addr);
	pool_protect(slot, pool_slot_start(slot), end);
	slot->opened = false;
}

static void *object_born(struct slot *slot, const struct request *request,
			 struct client *client, struct site *site)
{
	if (unlikely(slot->opened))
		object_close(slot);
	slot->runaway = NULL;
	slot->leaked = false;
	slot->size = request->size;
	slot->client = client;
	slot->cache = request->cache;
	slot->object = object_place(slot, slot->size, object_align(request, client),
				    READ_ONCE(client->settings.side));
	pool_unprotect(slot, slot->object, slot->object + slot->size, true);
	canaries_set(slot);
	if (request->cache && request->cache->ctor)
		request->cache->ctor((void *)slot->object);
	else if (want_init_on_alloc(request->gfp))
		memset((void *)slot->object, 0, slot->size);
	event_set(&slot->born, site);
	/* From here on it can be freed, and faults belong to this object. */
	smp_store_release(&slot->state, SLOT_LIVE);
	return (void *)slot->object;
}

/* -- whether it is to be guarded ---------------------------------------------- */

/* The busier a place, the smaller its share: 1 in 2 after 128, 1 in 4 after 256. */
static bool site_has_turn(struct site *site)
{
	unsigned long allocs = atomic_long_read(&site->allocs);
	unsigned long share = roundup_pow_of_two((allocs >> 6) + 1);

	return !(allocs & (min(share, 1024UL) - 1));
}

/* The eighths of the client's budget that are free. */
static unsigned int client_left(const struct client *client)
{
	unsigned long budget = READ_ONCE(client->settings.budget);
	long left = budget - atomic_long_read(&client->pages);

	if (!budget)
		return POOL_LEFT_ALL;
	return left > 0 ? left * POOL_LEFT_ALL / budget : 0;
}

/*
 * In the last quarter of the slots a busy place gets only its share. The last eighth is for places
 * without a guarded object: so new places get slots however long the objects of others live.
 */
static bool site_is_served(struct site *site, unsigned int left)
{
	if (left >= POOL_LEFT_ALL / 4)
		return true;
	if (left >= POOL_LEFT_ALL / 8)
		return site_has_turn(site);
	return !atomic_long_read(&site->live);
}

static bool object_wanted(const struct request *request,
			  const struct client *client, struct site *site)
{
	const struct settings *settings = &client->settings;
	unsigned long budget = READ_ONCE(settings->budget);

	if (request->size > READ_ONCE(settings->size_max) ||
	    request->size < READ_ONCE(settings->size_min) || !request->size)
		return false;
	if (!READ_ONCE(*(request->cache ? &request->cache->wanted : &settings->kmalloc)))
		return false;
	if (request->gfp & (__GFP_DMA | __GFP_DMA32))
		return false;
	if (budget && atomic_long_read(&client->pages) >= budget)
		return false;
	return READ_ONCE(settings->policy) == POLICY_ALL ||
	       site_is_served(site, min(pool_left(request->size), client_left(client)));
}

static void object_count(const struct slot *slot, struct site *site, long sign)
{
	long pages = sign * pool_slot_pages(slot);

	atomic_long_add(sign, &site->live);
	atomic_long_add(pages, &site->pages);
	atomic_long_add(sign, &slot->client->live);
	client_count_pages(slot->client, pages);
	if (slot->cache)
		atomic_long_add(sign, &slot->cache->live);
}

void *object_alloc(const struct request *request, struct site *site)
{
	struct client *client = READ_ONCE(site->client);
	struct slot *slot;
	void *object;

	client_count_alloc(client, request->size);
	if (!object_wanted(request, client, site))
		return NULL;
	slot = pool_get(request->size, request->gfp);
	if (!slot)
		return NULL;
	object = object_born(slot, request, client, site);
	object_count(slot, site, 1);
	atomic_long_inc(&site->guarded);
	atomic_long_inc(&client->guarded);
	return object;
}

/* -- death -------------------------------------------------------------------- */

static void object_dead(struct slot *slot)
{
	if (unlikely(slot->opened))
		object_close(slot);
	else
		pool_protect(slot, slot->object, slot->object + slot->size);
	object_count(slot, slot->born.site, -1);
	smp_store_release(&slot->state, SLOT_FREE);
	pool_put(slot);
}

static void object_dead_rcu(struct rcu_head *rcu)
{
	object_dead(container_of(rcu, struct slot, rcu));
}

/* Whether the caller won the transition and must free the object. */
static bool object_claim(struct slot *slot, unsigned long addr,
			 const struct cache *cache, struct site *site)
{
	if (smp_load_acquire(&slot->state) != SLOT_LIVE) {
		violation_of_free(slot, addr, VIOLATION_DOUBLE_FREE, site);
		return false;
	}
	if (addr != slot->object) {
		violation_of_free(slot, addr, VIOLATION_INVALID_FREE, site);
		return false;
	}
	if (cmpxchg(&slot->state, SLOT_LIVE, SLOT_PENDING) != SLOT_LIVE) {
		violation_of_free(slot, addr, VIOLATION_DOUBLE_FREE, site);
		return false;
	}
	if (cache && cache != slot->cache)
		violation_of_free(slot, addr, VIOLATION_WRONG_CACHE, site);
	event_set(&slot->died, site);
	return true;
}

void object_free(struct slot *slot, unsigned long addr, const struct cache *cache,
		 struct site *site)
{
	if (!object_claim(slot, addr, cache, site))
		return;
	canaries_check(slot, site);
	if (slot->cache && slot->cache->by_rcu)
		call_rcu(&slot->rcu, object_dead_rcu);
	else
		object_dead(slot);
}

/* RCU readers may still use it: the canaries are checked after the grace period. */
static void object_free_rcu_end(struct rcu_head *rcu)
{
	struct slot *slot = container_of(rcu, struct slot, rcu);

	canaries_check(slot, slot->died.site);
	object_dead(slot);
}

void object_free_rcu(struct slot *slot, unsigned long addr, struct site *site)
{
	if (object_claim(slot, addr, NULL, site))
		call_rcu(&slot->rcu, object_free_rcu_end);
}

void object_flush(void)
{
	rcu_barrier();
}

/* -- leaks -------------------------------------------------------------------- */

static bool report_leak(struct slot *slot, void *data)
{
	if (READ_ONCE(slot->state) != SLOT_LIVE || slot->client != data || slot->leaked)
		return false;
	slot->leaked = true;
	violation_of_leak(slot);
	return false;
}

void object_report_leaks(struct client *client)
{
	/* Objects that RCU is about to free are not leaked. */
	object_flush();
	if (atomic_long_read(&client->live))
		pool_walk(report_leak, client);
}
