/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes of locks, the order in which they are taken, and the contexts, for monitors. Locks
 * initialised at the same place form a class; any other lock is a class of its own. Exported by
 * evmon.ko, GPL only.
 */
#ifndef EVMON_ORDER_H
#define EVMON_ORDER_H

#include "held.h"
#include "monitor.h"

struct order;

struct order *order_create(struct evmon_monitor *monitor);
void order_destroy(struct order *order);

/* A lock was initialised. */
void order_init(struct order *order, struct evmon_site *site, const void *object,
		u64 value);
/* False if the initialisation was not seen; otherwise stores its value. */
bool order_init_value(struct order *order, const void *object, u64 *value);

/*
 * For locks that only instrumented code takes and initialises (or that are static).
 *
 * order_freed() says whether the lock was released and not taken since, and where.
 */
bool order_is_own(struct order *order, const struct evmon_site *site,
		  const void *object);
void order_taken(struct order *order, const void *object);
bool order_freed(struct order *order, const void *object,
		 const struct evmon_where *here, struct evmon_where *before);

/*
 * @holder (may be NULL) takes @object: reports if other code takes its locks in the opposite
 * order. A trylock never waits, so it reports nothing.
 */
void order_take(struct order *order, const struct holder *holder,
		struct evmon_site *site, const void *object);

/*
 * A spinlock is taken: reports if an interrupt handler takes one of its class and could run
 * while the lock is held.
 */
void order_context(struct order *order, struct evmon_site *site, const void *object);

#endif /* EVMON_ORDER_H */
