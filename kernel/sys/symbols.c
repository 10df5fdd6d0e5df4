// SPDX-License-Identifier: GPL-2.0
/*
 * Implements symbols.h. A kprobe that is never armed finds an address: registering looks the
 * symbol up before it checks anything else, so the address is known even if the kernel refuses
 * the probe.
 *
 * Removing a probe waits for a grace period of RCU. So all probes stay until symbols_done(), and
 * loading waits for one grace period.
 */
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "symbols.h"

#define PROBES_MAX	32

static struct kprobe *probes[PROBES_MAX];
static unsigned int count;
/* Modules with engines may be loaded at the same time. */
static DEFINE_MUTEX(probes_lock);

static void remove_probes(void)
{
	if (!count)
		return;
	unregister_kprobes(probes, count);
	while (count)
		kfree(probes[--count]);
}

void *symbols_find(const char *name)
{
	struct kprobe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	void *found;
	int err;

	if (!probe)
		return NULL;
	probe->symbol_name = name;
	probe->flags = KPROBE_FLAG_DISABLED;
	mutex_lock(&probes_lock);
	if (count == PROBES_MAX)
		remove_probes();
	err = register_kprobe(probe);
	found = probe->addr;
	if (err)
		kfree(probe);
	else
		probes[count++] = probe;
	mutex_unlock(&probes_lock);
	return found;
}

void symbols_done(void)
{
	mutex_lock(&probes_lock);
	remove_probes();
	mutex_unlock(&probes_lock);
}
