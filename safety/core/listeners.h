/* SPDX-License-Identifier: GPL-2.0 */
/* Listeners to a set of tracepoints: its probes are on while there is at least one. */
#ifndef SAFETY_LISTENERS_H
#define SAFETY_LISTENERS_H

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>

#include "tracepoints.h"

/* lock guards the list against writers; probes read it under RCU. */
struct listeners {
	struct list_head list;
	struct mutex lock;
	struct tracepoint_probe *probes;
	unsigned int count;
	/* Called after the probes were turned on and before the first listener; may be NULL. */
	void (*begin)(void);
};

#define DEFINE_LISTENERS(name, probes_, begin_)         \
	static struct listeners name = {                \
		.list = LIST_HEAD_INIT(name.list),      \
		.lock = __MUTEX_INITIALIZER(name.lock), \
		.probes = probes_,                      \
		.count = ARRAY_SIZE(probes_),           \
		.begin = begin_,                        \
	}

static int listeners_add(struct listeners *listeners, struct list_head *node)
{
	int err = 0;

	mutex_lock(&listeners->lock);
	if (list_empty(&listeners->list)) {
		err = tracepoint_probes_on(listeners->probes, listeners->count);
		if (!err && listeners->begin)
			listeners->begin();
	}
	if (!err)
		list_add_tail_rcu(node, &listeners->list);
	mutex_unlock(&listeners->lock);
	return err;
}

/* On return no call of the listener is under way. */
static void listeners_remove(struct listeners *listeners, struct list_head *node)
{
	mutex_lock(&listeners->lock);
	list_del_rcu(node);
	if (list_empty(&listeners->list))
		tracepoint_probes_off(listeners->probes, listeners->count);
	mutex_unlock(&listeners->lock);
	synchronize_rcu();
}

/* Calls @callback of each listener that has one; used in a probe. */
#define listeners_call(listeners, type, callback, ...) do {		\
	type *listener_;						\
									\
	rcu_read_lock();						\
	list_for_each_entry_rcu(listener_, &(listeners)->list, node)	\
		if (listener_->callback)				\
			listener_->callback(listener_, ##__VA_ARGS__);	\
	rcu_read_unlock();						\
} while (0)

#endif /* SAFETY_LISTENERS_H */
