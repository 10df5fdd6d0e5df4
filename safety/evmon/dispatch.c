// SPDX-License-Identifier: GPL-2.0
/*
 * From events to monitors and rings.
 *
 * monitors_lock serialises writers of the list; events read it under RCU.
 */
#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>

#include "batch.h"
#include "dispatch.h"
#include "monitor.h"
#include "source_loc.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

DEFINE_STATIC_KEY_FALSE(evmon_on);
EXPORT_SYMBOL_GPL(evmon_on);

/* Each event is delivered singly: to monitors, or to rings with one record per event. */
static DEFINE_STATIC_KEY_FALSE(each_told);

static LIST_HEAD(monitors);
static DEFINE_MUTEX(monitors_lock);

/* -- types -------------------------------------------------------------------- */

static const struct { enum evmon_class class; const char *text; } types[] = {
#define EVENT(name, class, text) [EVMON_##name] = { EVMON_CLASS_##class, text },
#include "events.def"
#undef EVENT
};

enum evmon_class evmon_class_of(u16 type)
{
	return type < ARRAY_SIZE(types) ? types[type].class : EVMON_CLASS_USER;
}
EXPORT_SYMBOL_GPL(evmon_class_of);

const char *evmon_text_of(u16 type)
{
	return types[min_t(unsigned int, type, EVMON_USER)].text;
}
EXPORT_SYMBOL_GPL(evmon_text_of);

/* -- events ------------------------------------------------------------------- */

static noinline void tell_all(struct evmon_site *site, const void *object, u64 value)
{
	unsigned long class = BIT(evmon_class_of(site->type));
	const struct evmon_monitor *monitor;
	u32 place = place_number(site);

	if (trace_evmon_batch_enabled())
		batch_add(site, place, object, value);
	trace_evmon_event(object, value, place, site->type);
	rcu_read_lock();
	list_for_each_entry_rcu(monitor, &monitors, node)
		if (monitor->classes & class)
			monitor->event(site, object, value);
	rcu_read_unlock();
}

/* Calls the listeners for each event, or adds it to batches. */
void evmon_event(struct evmon_site *site, const void *object, u64 value)
{
	u32 place = smp_load_acquire(&site->id);

	if (static_branch_unlikely(&each_told) || unlikely(!place))
		tell_all(site, object, value);
	else
		batch_add(site, place, object, value);
}
EXPORT_SYMBOL_GPL(evmon_event);

void evmon_waits(struct evmon_site *site, const void *object)
{
	unsigned long class = BIT(evmon_class_of(site->type));
	const struct evmon_monitor *monitor;

	rcu_read_lock();
	list_for_each_entry_rcu(monitor, &monitors, node)
		if (monitor->classes & class && monitor->wait)
			monitor->wait(site, object);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(evmon_waits);

/* Counts an open ring: events are emitted while there is one. */
int evmon_batch_on(void)
{
	static_branch_inc(&evmon_on);
	return 0;
}

void evmon_batch_off(void)
{
	static_branch_dec(&evmon_on);
}

int evmon_trace_on(void)
{
	static_branch_inc(&each_told);
	static_branch_inc(&evmon_on);
	return 0;
}

void evmon_trace_off(void)
{
	static_branch_dec(&evmon_on);
	static_branch_dec(&each_told);
}

/* -- monitors ----------------------------------------------------------------- */

void evmon_register(struct evmon_monitor *monitor)
{
	ratelimit_state_init(&monitor->limit, 10 * HZ, 20);
	ratelimit_set_flags(&monitor->limit, RATELIMIT_MSG_ON_RELEASE);
	mutex_lock(&monitors_lock);
	list_add_tail_rcu(&monitor->node, &monitors);
	mutex_unlock(&monitors_lock);
	static_branch_inc(&each_told);
	static_branch_inc(&evmon_on);
}
EXPORT_SYMBOL_GPL(evmon_register);

void evmon_unregister(struct evmon_monitor *monitor)
{
	static_branch_dec(&evmon_on);
	static_branch_dec(&each_told);
	mutex_lock(&monitors_lock);
	list_del_rcu(&monitor->node);
	mutex_unlock(&monitors_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(evmon_unregister);

void dispatch_show(struct seq_file *m)
{
	const struct evmon_monitor *monitor;

	mutex_lock(&monitors_lock);
	list_for_each_entry(monitor, &monitors, node) {
		seq_printf(m, "# %s\n", monitor->name);
		if (monitor->show)
			monitor->show(m);
	}
	mutex_unlock(&monitors_lock);
}

static int module_event(struct notifier_block *nb, unsigned long event, void *module)
{
	const struct evmon_monitor *monitor;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_OK;
	mutex_lock(&monitors_lock);
	list_for_each_entry(monitor, &monitors, node)
		if (monitor->going)
			monitor->going(module);
	mutex_unlock(&monitors_lock);
	return NOTIFY_OK;
}

static struct notifier_block module_events = { .notifier_call = module_event };

int dispatch_init(void)
{
	return register_module_notifier(&module_events);
}

void dispatch_exit(void)
{
	unregister_module_notifier(&module_events);
}
