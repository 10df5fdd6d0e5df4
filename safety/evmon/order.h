/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes of locks, in which order they are taken, and from which contexts, for
 * monitors.  Locks that were initialised at the same place are a class; others are
 * one each.  Exported by evmon.ko, GPL only.
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
/* Whether that was seen, and with which value. */
bool order_init_value(struct order *order, const void *object, u64 *value);

/*
 * For locks that only instrumented code takes: initialised there, or static.
 *
 * order_freed() says whether it was released before and not taken since, and where.
 */
bool order_is_own(struct order *order, const struct evmon_site *site,
		  const void *object);
void order_taken(struct order *order, const void *object);
bool order_freed(struct order *order, const void *object,
		 const struct evmon_where *here, struct evmon_where *before);

/*
 * @holder (may be NULL) takes @object: reports if elsewhere its locks are taken the other
 * way round.  A trylock waits for nothing.
 */
void order_take(struct order *order, const struct holder *holder,
		struct evmon_site *site, const void *object);

/*
 * A spinlock is taken: tells if an interrupt waits for one of its class, too, and could
 * come while it is held.
 */
void order_context(struct order *order, struct evmon_site *site, const void *object);

#endif /* EVMON_ORDER_H */
