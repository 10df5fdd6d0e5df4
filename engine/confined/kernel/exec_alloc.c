// SPDX-License-Identifier: GPL-2.0
/*
 * Implements exec_alloc.h by bitmaps. All users share the lock: it is held for a walk of one hash
 * bucket and of the area's bitmap, 320 bytes.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../include/uapi/syscript.h"
#include "limits.h"
#include "exec_alloc.h"

#define CLASSES		3
#define LASTING		2	/* the class for CONTEXT_ATOMIC */
#define POOL		CLASSES
#define SHARED		(CLASSES + 1)
#define NO_SLOT		(-1)

/*
 * @slots slots of @pages pages each, from page @first on. Code of at most @above pages gets no
 * slot here.
 */
static const struct slot_class {
	unsigned int first, above, pages, slots;
} classes[CLASSES] = {
	{ .first = 0, .above = 0, .pages = 16, .slots = 40 },
	{ .first = 640, .above = 16, .pages = 128, .slots = 4 },
	[LASTING] = { .first = 2304, .above = 0, .pages = 16, .slots = 16 },
};

#define SHARED_FIRST	(640 + 4 * 128)
#define SHARED_EACH	128
#define POOL_FIRST	(SHARED_FIRST + (SYSCRIPT_SHARED_MAX + 1) * SHARED_EACH)
#define POOL_END		2304
#define POOL_PAGES	(POOL_END - POOL_FIRST)

struct exec_owner {
	struct hlist_node node;
	kuid_t uid;
	unsigned int areas;		/* freed with the last area */
	unsigned int pool;		/* its pages in the shared pool */
	int slots[CLASSES];		/* or NO_SLOT */
	unsigned int used[CLASSES];	/* its pages in these slots */
};

static DEFINE_HASHTABLE(owners, 8);
static DECLARE_BITMAP(pages, EXEC_PAGES);
static DECLARE_BITMAP(slots, EXEC_PAGES);	/* bit i: a slot that begins at page i is in use */
static unsigned int pool_taken;
static DEFINE_SPINLOCK(exec_lock);		/* guards all of these */

static struct exec_owner *find_owner(kuid_t uid)
{
	struct exec_owner *owner;

	lockdep_assert_held(&exec_lock);
	hash_for_each_possible(owners, owner, node, __kuid_val(uid))
		if (uid_eq(owner->uid, uid))
			return owner;
	return NULL;
}

/* Takes @area->n free consecutive pages from @first on and before @end. */
static bool take_pages(struct exec_area *area, unsigned long first, unsigned long end)
{
	lockdep_assert_held(&exec_lock);
	area->page = bitmap_find_next_zero_area(pages, end, first, area->n, 0);
	if (area->page >= end)
		return false;
	bitmap_set(pages, area->page, area->n);
	return true;
}

/* The number of the account's slot or, if it has none, of a free slot; or NO_SLOT. */
static int slot_of(const struct exec_owner *owner, unsigned int c)
{
	unsigned int i;

	if (owner->slots[c] != NO_SLOT)
		return owner->slots[c];
	for (i = 0; i < classes[c].slots; i++)
		if (!test_bit(classes[c].first + i * classes[c].pages, slots))
			return i;
	return NO_SLOT;
}

static bool take_in_slot(struct exec_area *area, unsigned int c)
{
	const struct slot_class *class = &classes[c];
	struct exec_owner *owner = area->owner;
	unsigned long first;
	int slot;

	if (area->n <= class->above || area->n > class->pages)
		return false;
	slot = slot_of(owner, c);
	if (slot == NO_SLOT)
		return false;
	first = class->first + slot * class->pages;
	if (!take_pages(area, first, first + class->pages))
		return false;
	__set_bit(first, slots);
	owner->slots[c] = slot;
	owner->used[c] += area->n;
	area->part = c;
	return true;
}

/* The number of pages of the shared pool that @owner may have: half of what other owners leave. */
static unsigned int pool_share(const struct exec_owner *owner)
{
	return (POOL_PAGES - (pool_taken - owner->pool)) / 2;
}

static bool take_in_pool(struct exec_area *area)
{
	struct exec_owner *owner = area->owner;

	if (owner->pool + area->n > pool_share(owner) ||
	    !take_pages(area, POOL_FIRST, POOL_END))
		return false;
	owner->pool += area->n;
	pool_taken += area->n;
	area->part = POOL;
	return true;
}

static int take_lasting(struct exec_area *area, char *error, size_t error_len)
{
	if (take_in_slot(area, LASTING)) {
		area->owner->areas++;
		return 0;
	}
	scnprintf(error, error_len,
		  "no room for %lu pages of machine code: this user's programs hold %u of %u, or all %u users that can have programs have some",
		  area->n, area->owner->used[LASTING], classes[LASTING].pages,
		  classes[LASTING].slots);
	return -ENOBUFS;
}

static int take_shared(struct exec_area *area, char *error, size_t error_len)
{
	if (area->n <= SHARED_EACH && take_pages(area, SHARED_FIRST, POOL_FIRST)) {
		area->part = SHARED;
		area->owner->areas++;
		return 0;
	}
	scnprintf(error, error_len,
		  "no room for %lu pages of machine code: a shared base may have %u",
		  area->n, SHARED_EACH);
	return -ENOBUFS;
}

static int take_area(struct exec_area *area, enum context context, char *error,
		     size_t error_len)
{
	lockdep_assert_held(&exec_lock);
	if (context == CONTEXT_ATOMIC)
		return take_lasting(area, error, error_len);
	if (context == CONTEXT_SHARED)
		return take_shared(area, error, error_len);
	if (take_in_slot(area, 0) || take_in_slot(area, 1) || take_in_pool(area)) {
		area->owner->areas++;
		return 0;
	}
	scnprintf(error, error_len,
		  "no room for %lu pages of machine code: this user's images hold %u of the %u shared ones that they may have now",
		  area->n, area->owner->pool, pool_share(area->owner));
	return -ENOBUFS;
}

int exec_alloc(struct exec_area *area, unsigned long n, enum context context, char *error,
	      size_t error_len)
{
	struct exec_owner *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	int err;

	if (!fresh)
		return -ENOMEM;
	fresh->uid = limits_account_uid(context);
	fresh->slots[0] = fresh->slots[1] = fresh->slots[LASTING] = NO_SLOT;
	area->n = n;

	spin_lock(&exec_lock);
	area->owner = find_owner(fresh->uid) ?: fresh;
	err = take_area(area, context, error, error_len);
	if (!err && area->owner == fresh) {
		hash_add(owners, &fresh->node, __kuid_val(fresh->uid));
		fresh = NULL;
	}
	spin_unlock(&exec_lock);
	kfree(fresh);
	return err;
}

static void put_in_slot(const struct exec_area *area)
{
	const struct slot_class *class = &classes[area->part];
	struct exec_owner *owner = area->owner;

	owner->used[area->part] -= area->n;
	if (owner->used[area->part])
		return;
	__clear_bit(class->first + owner->slots[area->part] * class->pages, slots);
	owner->slots[area->part] = NO_SLOT;
}

void exec_free(struct exec_area *area)
{
	struct exec_owner *owner = area->owner;

	spin_lock(&exec_lock);
	bitmap_clear(pages, area->page, area->n);
	if (area->part == POOL) {
		owner->pool -= area->n;
		pool_taken -= area->n;
	} else if (area->part != SHARED) {
		put_in_slot(area);
	}
	if (--owner->areas)
		owner = NULL;
	else
		hash_del(&owner->node);
	spin_unlock(&exec_lock);
	kfree(owner);
}
