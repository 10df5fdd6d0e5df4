/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KEFENCE_WATCH_H
#define KEFENCE_WATCH_H

#include <linux/rcupdate.h>

#include "kefence_objects.h"

extern struct kefence_watch __rcu *watches;

void watch_call_alloc(const void *object, size_t size, unsigned long ip);
void watch_call_free(const void *object, unsigned long ip);

static inline void watch_alloc(const void *object, size_t size, unsigned long ip)
{
	if (unlikely(rcu_access_pointer(watches)) && object)
		watch_call_alloc(object, size, ip);
}

static inline void watch_free(const void *object, unsigned long ip)
{
	if (unlikely(rcu_access_pointer(watches)) && object)
		watch_call_free(object, ip);
}

#endif /* KEFENCE_WATCH_H */
