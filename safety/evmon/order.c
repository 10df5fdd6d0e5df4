// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of locks and their order.
 *
 * order->lock is raw and taken with interrupts off, from any context but NMIs.
 * Nothing is taken inside it. The tables have a fixed size: what does not fit is not watched.
 *
 * Most events show nothing new, so the combinations of locks and places already checked are
 * remembered and looked up without order->lock.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "order.h"

#define LOCKS_BITS	13
#define CLASSES_BITS	11
#define EDGES_BITS	11
#define EDGES		(1U << EDGES_BITS)
#define LOOKED_BITS	12
#define PAIRS_BITS	11
#define PROBES		16
#define PATH_MAX_LEN	64

/* An initialised lock. */
struct known_lock {
	const void *object;
	u32 life;			/* distinguishes locks at one address over time */
	u32 place;			/* 0: not known */
	u64 value;
	bool is_free;
	struct evmon_where freed;
};

enum { IN_HARDIRQ, IN_SOFTIRQ, IRQS_ON, BH_ON, CONTEXTS };

/* The contexts in which a class is taken; the upper half: taken only for reading. */
struct lock_class {
	unsigned long key;
	bool seen[2 * CONTEXTS];
	struct evmon_where where[2 * CONTEXTS];
};

/* A lock of one class was taken while one of another was held. */
struct edge {
	unsigned long outer, inner;
	struct evmon_where where;	/* the inner one was taken */
	struct evmon_where outer_where;
};

/* Two locks of one class, and the order in which they were taken. */
struct pair {
	struct known_lock *outer, *inner;
	u32 outer_life, inner_life;
	struct edge edge;
};

struct order {
	raw_spinlock_t lock;
	struct evmon_monitor *monitor;
	unsigned int edges_count;
	u32 lives;
	struct pair pairs[1 << PAIRS_BITS];	/* a new pair overwrites an old one */
	u64 looked[1 << LOOKED_BITS];
	u16 edges_by_hash[2 * EDGES];	/* indexes + 1 into the edges */
	struct known_lock locks[1 << LOCKS_BITS];
	struct lock_class classes[1 << CLASSES_BITS];
	struct edge edges[EDGES];
};

struct order *order_create(struct evmon_monitor *monitor)
{
	struct order *order = kvzalloc(sizeof(*order), GFP_KERNEL);

	if (order) {
		raw_spin_lock_init(&order->lock);
		order->monitor = monitor;
	}
	return order;
}
EXPORT_SYMBOL_GPL(order_create);

void order_destroy(struct order *order)
{
	kvfree(order);
}
EXPORT_SYMBOL_GPL(order_destroy);

/* -- locks and classes -------------------------------------------------------- */

static struct known_lock *lock_find(struct order *order, const void *object, bool add)
{
	unsigned int i, start = hash_ptr(object, LOCKS_BITS);
	struct known_lock *lock;

	for (i = 0; i < PROBES; i++) {
		lock = &order->locks[(start + i) % ARRAY_SIZE(order->locks)];
		if (lock->object == object)
			return lock;
		if (!lock->object)
			break;
	}
	/* The table is full: replace this entry, the new lock is likelier to be used. */
	if (add)
		*lock = (struct known_lock){ .object = object };
	return add ? lock : NULL;
}

void order_init(struct order *order, struct evmon_site *site, const void *object,
		u64 value)
{
	struct evmon_where here = evmon_here(site);
	struct known_lock *lock;
	unsigned long flags;

	if (in_nmi())
		return;
	raw_spin_lock_irqsave(&order->lock, flags);
	lock = lock_find(order, object, true);
	/* Reused memory holds another lock. */
	lock->is_free = false;
	lock->life = ++order->lives;
	lock->place = here.place;
	lock->value = value;
	raw_spin_unlock_irqrestore(&order->lock, flags);
}
EXPORT_SYMBOL_GPL(order_init);

bool order_init_value(struct order *order, const void *object, u64 *value)
{
	const struct known_lock *lock;
	unsigned long flags;

	raw_spin_lock_irqsave(&order->lock, flags);
	lock = lock_find(order, object, false);
	if (lock)
		*value = lock->value;
	raw_spin_unlock_irqrestore(&order->lock, flags);
	return lock && lock->place;
}
EXPORT_SYMBOL_GPL(order_init_value);

bool order_is_own(struct order *order, const struct evmon_site *site,
		  const void *object)
{
	u64 value;

	return (site->module && within_module((unsigned long)object, site->module)) ||
	       order_init_value(order, object, &value);
}
EXPORT_SYMBOL_GPL(order_is_own);

void order_taken(struct order *order, const void *object)
{
	struct known_lock *lock;
	unsigned long flags;

	raw_spin_lock_irqsave(&order->lock, flags);
	lock = lock_find(order, object, false);
	if (lock)
		lock->is_free = false;
	raw_spin_unlock_irqrestore(&order->lock, flags);
}
EXPORT_SYMBOL_GPL(order_taken);

bool order_freed(struct order *order, const void *object,
		 const struct evmon_where *here, struct evmon_where *before)
{
	struct known_lock *lock;
	unsigned long flags;
	bool was_free;

	raw_spin_lock_irqsave(&order->lock, flags);
	lock = lock_find(order, object, true);
	was_free = lock->is_free;
	*before = lock->freed;
	lock->freed = *here;
	lock->is_free = true;
	raw_spin_unlock_irqrestore(&order->lock, flags);
	return was_free;
}
EXPORT_SYMBOL_GPL(order_freed);

/* Place numbers are small, addresses are not: no class keys collide. */
static unsigned long class_key(struct order *order, const void *object)
{
	const struct known_lock *lock = lock_find(order, object, false);

	return lock && lock->place ? lock->place : (unsigned long)object;
}

static struct lock_class *class_find(struct order *order, unsigned long key)
{
	unsigned int i, start = hash_long(key, CLASSES_BITS);

	for (i = 0; i < PROBES; i++) {
		struct lock_class *class;

		class = &order->classes[(start + i) % ARRAY_SIZE(order->classes)];
		if (!class->key)
			class->key = key;
		if (class->key == key)
			return class;
	}
	return NULL;
}

/* Whether this combination was checked before. */
static bool looked_at(struct order *order, u64 key)
{
	u64 *entry = &order->looked[hash_64(key, LOOKED_BITS)];

	if (READ_ONCE(*entry) == key)
		return true;
	WRITE_ONCE(*entry, key);
	return false;
}

/* Identifies a place and a context; there are few places. */
static u64 context_number(u32 place, int context)
{
	return (u64)(U32_MAX - context) << 32 | place;
}

/* Identifies two locks and their places: one helper function may take different locks. */
static u64 pair_number(const struct held_lock *outer, const void *object, u32 place)
{
	u64 number = (unsigned long)outer->object * GOLDEN_RATIO_64;

	number = (number ^ (unsigned long)object) * GOLDEN_RATIO_64;
	return (number ^ outer->where.place) * GOLDEN_RATIO_64 ^ place;
}

/* -- the order ---------------------------------------------------------------- */

/* The slot of an edge's number, or the empty slot for it. */
static u16 *edge_slot(struct order *order, unsigned long outer, unsigned long inner)
{
	unsigned int i = hash_long(outer * 3 + inner, EDGES_BITS + 1);
	u16 *slot;

	/* Ends: at most half of the slots are used. */
	for (;; i++) {
		slot = &order->edges_by_hash[i % ARRAY_SIZE(order->edges_by_hash)];
		if (!*slot)
			return slot;
		if (order->edges[*slot - 1].outer == outer &&
		    order->edges[*slot - 1].inner == inner)
			return slot;
	}
}

/*
 * The last edge of a path from @from to @to, breadth first. Paths of more classes than the queue
 * holds are not found.
 */
static const struct edge *path_find(const struct order *order, unsigned long from,
				    unsigned long to)
{
	unsigned long queue[PATH_MAX_LEN];
	unsigned int head = 0, tail = 0, i, j;

	queue[tail++] = from;
	while (head < tail) {
		for (i = 0; i < order->edges_count; i++) {
			const struct edge *edge = &order->edges[i];

			if (edge->outer != queue[head])
				continue;
			if (edge->inner == to)
				return edge;
			for (j = 0; j < tail; j++)
				if (queue[j] == edge->inner)
					break;
			if (j == tail && tail < PATH_MAX_LEN)
				queue[tail++] = edge->inner;
		}
		head++;
	}
	return NULL;
}

static bool is_pair(const struct pair *pair, const struct known_lock *outer,
		    const struct known_lock *inner)
{
	return pair->outer == outer && pair->inner == inner &&
	       pair->outer_life == outer->life && pair->inner_life == inner->life;
}

/*
 * Whether two locks of one class were taken in the opposite order, at @back. If the author
 * declared a nesting order, its subclass numbers are that order.
 */
static bool pair_add(struct order *order, const struct held_lock *outer,
		     const struct evmon_where *here, const void *object, struct edge *back)
{
	struct known_lock *a = lock_find(order, outer->object, false);
	struct known_lock *b = lock_find(order, object, false);
	struct pair *pair;

	if (!a || !b)
		return false;
	pair = &order->pairs[hash_long((unsigned long)a ^ (unsigned long)b, PAIRS_BITS)];
	if (is_pair(pair, b, a)) {
		*back = pair->edge;
		return true;
	}
	if (!is_pair(pair, a, b))
		*pair = (struct pair){
			.outer = a, .inner = b, .outer_life = a->life, .inner_life = b->life,
			.edge = { .where = *here, .outer_where = outer->where },
		};
	return false;
}

/* Whether the edge is new and closes a cycle with @back. */
static bool edge_add(struct order *order, const struct held_lock *outer,
		     const struct evmon_where *here, const void *object, bool nested,
		     struct edge *back)
{
	unsigned long a, b, flags;
	const struct edge *found = NULL;
	u16 *slot;

	raw_spin_lock_irqsave(&order->lock, flags);
	a = class_key(order, outer->object);
	b = class_key(order, object);
	if (a == b && !nested && pair_add(order, outer, here, object, back))
		found = back;
	slot = edge_slot(order, a, b);
	if (a != b && !*slot && order->edges_count < EDGES) {
		order->edges[order->edges_count] = (struct edge){
			.outer = a, .inner = b, .where = *here,
			.outer_where = outer->where,
		};
		*slot = ++order->edges_count;
		found = path_find(order, b, a);
		if (found)
			*back = *found;
	}
	raw_spin_unlock_irqrestore(&order->lock, flags);
	return found;
}

void order_take(struct order *order, const struct holder *holder,
		struct evmon_site *site, const void *object)
{
	struct evmon_where here = evmon_here(site);
	struct edge back;
	unsigned int i;
	int number;

	if (site->tried)
		return;
	for (i = 0; holder && i < holder->depth; i++) {
		const struct held_lock *outer = &holder->locks[i];

		if (!outer->object || outer->object == object || !held_is_locked(outer) ||
		    looked_at(order, pair_number(outer, object, here.place)) ||
		    !edge_add(order, outer, &here, object, site->nested, &back))
			continue;
		number = evmon_violation(order->monitor, object, &here,
					 "there the other way round: the second taken",
					 &back.where, "order of locks");
		evmon_violation_more(number, "after the first was taken", &back.outer_where);
		evmon_violation_more(number, "while this one was held, taken", &outer->where);
	}
}
EXPORT_SYMBOL_GPL(order_take);

/* -- contexts ----------------------------------------------------------------- */

/* Records the context; returns the place of an incompatible one, if any. */
static bool context_clash(struct order *order, const void *object, int is, int clashes,
			  bool reads, const struct evmon_where *here,
			  struct evmon_where *other)
{
	struct lock_class *class;
	unsigned long flags;
	bool clash = false;

	raw_spin_lock_irqsave(&order->lock, flags);
	class = class_find(order, class_key(order, object));
	is += reads ? CONTEXTS : 0;
	if (class && !class->seen[is]) {
		class->where[is] = *here;
		class->seen[is] = true;
		/* Readers do not wait for each other, even if one interrupts the other. */
		if (!class->seen[clashes] && !reads)
			clashes += CONTEXTS;
		clash = class->seen[clashes];
		*other = class->where[clashes];
	}
	raw_spin_unlock_irqrestore(&order->lock, flags);
	return clash;
}

static void context_check(struct order *order, struct evmon_site *site,
			  const void *object, int is, int clashes, const char *there,
			  const char *what)
{
	bool reads = site->type == EVMON_RWLOCK_READ;
	struct evmon_where here = evmon_here(site), other;

	if (!looked_at(order, context_number(here.place, is)) &&
	    context_clash(order, object, is, clashes, reads, &here, &other))
		evmon_violation(order->monitor, object, &here, there, &other, "%s", what);
}

void order_context(struct order *order, struct evmon_site *site, const void *object)
{
	static const char on[] = "taken with interrupts on, and in an interrupt";
	static const char bh[] = "taken with softirqs on, and in a softirq";

	/* A trylock does not wait for the interrupted holder. */
	if (in_hardirq()) {
		if (!site->tried)
			context_check(order, site, object, IN_HARDIRQ, IRQS_ON,
				      "with interrupts on, taken", on);
		return;
	}
	if (!irqs_disabled())
		context_check(order, site, object, IRQS_ON, IN_HARDIRQ,
			      "in an interrupt, taken", on);
	if (in_serving_softirq()) {
		if (!site->tried)
			context_check(order, site, object, IN_SOFTIRQ, BH_ON,
				      "with softirqs on, taken", bh);
	} else if (!irqs_disabled() && !softirq_count()) {
		context_check(order, site, object, BH_ON, IN_SOFTIRQ,
			      "in a softirq, taken", bh);
	}
}
EXPORT_SYMBOL_GPL(order_context);
