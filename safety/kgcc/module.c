// SPDX-License-Identifier: GPL-2.0
/*
 * Tracks the loading of instrumented modules. Their sites are found through their jump labels: each
 * key is the start of a struct kgcc_site.
 *
 * The registry's lock guards sites as well.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "check.h"
#include "compat.h"
#include "module.h"
#include "oob_pointer.h"
#include "profile.h"
#include "region.h"

/* How often to check whether sites are due to be switched off. */
#define PERIOD	(HZ / 10)

struct kgcc_module kgcc_module_default = { .entry.name = "*" };

/* Used by the assembly, too, under this name. */
struct static_key_false kgcc_counting = STATIC_KEY_FALSE_INIT;

static struct kgcc_module *module_at(struct entry *entry)
{
	return container_of(entry, struct kgcc_module, entry);
}

struct kgcc_module *kgcc_module_of(unsigned long address)
{
	return module_at(registry_of(&kgcc_registry, address));
}

/* -- sites ----------------------------------------------------------------------- */

static bool is_on(const struct kgcc_site *site)
{
	return static_key_enabled((struct static_key *)&site->key);
}

static void switch_site(struct kgcc_site *site, bool on)
{
	if (on) {
		WRITE_ONCE(site->hits, 0);
		static_key_enable(&site->key);
	} else {
		static_key_disable(&site->key);
	}
}

static void switch_sites(struct kgcc_module *m, bool on)
{
	for (unsigned int i = 0; i < m->n; i++) {
		switch_site(m->sites[i], on);
		cond_resched();
	}
}

static void switch_off_proven(struct kgcc_module *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		struct kgcc_site *site = m->sites[i];

		if (READ_ONCE(site->hits) < m->settings.after || READ_ONCE(site->errors) ||
		    !is_on(site))
			continue;
		switch_site(site, false);
		cond_resched();
	}
}

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(looking, look);

static void look(struct work_struct *work)
{
	struct entry *entry;
	bool again = false;

	mutex_lock(&kgcc_registry.lock);
	registry_for_each(&kgcc_registry, entry) {
		struct kgcc_module *m = module_at(entry);

		if (!m->settings.after)
			continue;
		again = true;
		switch_off_proven(m);
	}
	mutex_unlock(&kgcc_registry.lock);
	if (again)
		schedule_delayed_work(&looking, PERIOD);
}

/* Starts or stops timing, for all modules. An error changes nothing. */
static int settle_timing(bool time)
{
	static bool is_on;
	int err = 0;

	lockdep_assert_held(&kgcc_registry.lock);
	if (time == is_on)
		return 0;
	if (time)
		err = kgcc_profile_on();
	else
		kgcc_profile_off();
	if (!err)
		is_on = time;
	return err;
}

/* Applies changed settings: counting is costly, so it is on only on request. */
static int settle(void)
{
	enum kgcc_count count = kgcc_module_default.settings.count;
	struct entry *entry;
	bool after = false;

	lockdep_assert_held(&kgcc_registry.lock);
	registry_for_each(&kgcc_registry, entry) {
		count = max(count, module_at(entry)->settings.count);
		after |= module_at(entry)->settings.after;
	}
	if (count || after)
		static_branch_enable(&kgcc_counting);
	else
		static_branch_disable(&kgcc_counting);
	kgcc_check_count(count || after);
	if (after)
		schedule_delayed_work(&looking, PERIOD);
	return settle_timing(count == KGCC_COUNT_TIME);
}

/* -- a module comes ---------------------------------------------------------------- */

/* A foreign key may be the last object in its page. */
static struct kgcc_site *site_of(const struct jump_entry *entry)
{
	struct kgcc_site *site = (struct kgcc_site *)jump_entry_key(entry);
	u32 flags;

	if (copy_from_kernel_nofault(&flags, &site->flags, sizeof(flags)))
		return NULL;
	return (flags & KGCC_MAGIC_MASK) == KGCC_MAGIC ? site : NULL;
}

/* Entries are sorted by key, so those of one site are adjacent. */
static unsigned int list_sites(const struct module *module, struct kgcc_site **sites)
{
	struct kgcc_site *last = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < module->num_jump_entries; i++) {
		struct kgcc_site *site = site_of(&module->jump_entries[i]);

		if (!site || site == last)
			continue;
		if (sites)
			sites[n] = site;
		last = site;
		n++;
	}
	return n;
}

static void add_unit(const struct kgcc_variable *variable)
{
	for (; variable->start; variable++)
		kgcc_region_add(variable->start, variable->size, variable->name, variable->where);
}

/* Sites in address order share units, so each unit is met about once. */
static void add_variables(struct kgcc_site **sites, unsigned int n)
{
	const struct kgcc_variable *last = NULL;

	for (unsigned int i = 0; i < n; i++) {
		if (sites[i]->unit != last)
			add_unit(sites[i]->unit);
		last = sites[i]->unit;
	}
}

static int module_coming(struct module *module)
{
	unsigned int n = list_sites(module, NULL);
	struct kgcc_site **sites;
	struct entry *entry;

	if (!n)
		return 0;
	sites = kvmalloc_array(n, sizeof(*sites), GFP_KERNEL);
	if (!sites)
		return -ENOMEM;
	list_sites(module, sites);
	add_variables(sites, n);
	mutex_lock(&kgcc_registry.lock);
	entry = registry_named(&kgcc_registry, module->name);
	if (entry) {
		module_at(entry)->sites = sites;
		module_at(entry)->n = n;
		WRITE_ONCE(entry->module, module);
		settle();
	} else {
		kvfree(sites);
	}
	mutex_unlock(&kgcc_registry.lock);
	return entry ? 0 : -ENOMEM;
}

static void module_going(struct module *module)
{
	struct entry *entry;

	mutex_lock(&kgcc_registry.lock);
	registry_for_each(&kgcc_registry, entry) {
		struct kgcc_module *m = module_at(entry);

		if (entry->module != module)
			continue;
		WRITE_ONCE(entry->module, NULL);
		kvfree(m->sites);
		m->sites = NULL;
		m->n = 0;
	}
	mutex_unlock(&kgcc_registry.lock);
	kgcc_module_for_each_range(module, kgcc_region_remove);
	kgcc_module_for_each_range(module, kgcc_peer_forget);
	kgcc_module_for_each_range(module, kgcc_profile_forget);
	/* Lookups of locals are cached under code addresses that another module may reuse. */
	kgcc_check_forget_all();
	synchronize_rcu();
}

/* Also for modules without instrumentation: their variables may have been recorded. */
static int notified(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;

	switch (event) {
	case MODULE_STATE_COMING:
		return notifier_from_errno(module_coming(module));
	case MODULE_STATE_LIVE:
		kgcc_module_init_range(module, kgcc_region_remove);
		break;
	case MODULE_STATE_GOING:
		module_going(module);
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = notified };

int kgcc_module_init(void)
{
	return register_module_notifier(&notifier);
}

void kgcc_module_exit(void)
{
	unregister_module_notifier(&notifier);
	cancel_delayed_work_sync(&looking);
	mutex_lock(&kgcc_registry.lock);
	settle_timing(false);
	mutex_unlock(&kgcc_registry.lock);
	kgcc_profile_exit();
	registry_free(&kgcc_registry);
}

/* -- settings as text -------------------------------------------------------------- */

static const char *const actions[] = { "log", "kill", "crash", NULL };
static const char *const reports[] = { "once", "all", NULL };
static const char *const switches[] = { "off", "on", NULL };
static const char *const counts[] = { "off", "on", "time", NULL };

static int parse_state(void *to, char *value)
{
	struct kgcc_settings *settings = to;
	int i = match_string(switches, -1, value);

	if (i >= 0)
		settings->state = i ? KGCC_ALL_ON : KGCC_ALL_OFF;
	return min(i, 0);
}

static const struct setting keys[] = {
	{ "action", SETTING_AT(struct kgcc_settings, action), .names = actions },
	{ "reports", SETTING_AT(struct kgcc_settings, every), .names = reports },
	{ "after", SETTING_AT(struct kgcc_settings, after) },
	{ "count", SETTING_AT(struct kgcc_settings, count), .names = counts },
	{ "state", .parse = parse_state, .is_command = true },
	{ }
};

static void settings_changed(struct entry *entry)
{
	struct kgcc_module *m = module_at(entry);

	if (m->settings.state != KGCC_AS_THEY_ARE)
		switch_sites(m, m->settings.state == KGCC_ALL_ON);
	m->settings.state = KGCC_AS_THEY_ARE;
}

struct registry kgcc_registry = {
	REGISTRY_INIT(kgcc_registry),
	.entry_size = sizeof(struct kgcc_module),
	.settings = offsetof(struct kgcc_module, settings),
	.settings_size = sizeof(struct kgcc_settings),
	.keys = keys,
	.fallback = &kgcc_module_default.entry,
	.changed = settings_changed,
	.settle = settle,
};

/* -- to read ------------------------------------------------------------------------- */

static const char *kind_of(const struct kgcc_site *site)
{
	if (site->flags & KGCC_FRAME)
		return "locals";
	if (site->flags & KGCC_RULE)
		return "rule";
	if (site->flags & KGCC_ARITH)
		return "arithmetic";
	if ((site->flags & (KGCC_READ | KGCC_WRITE)) == (KGCC_READ | KGCC_WRITE))
		return "read,write";
	return site->flags & KGCC_WRITE ? "write" : "read";
}

/* module, kind, accesses, hits, errors, state, place, ns */
void kgcc_module_show_sites(struct seq_file *m)
{
	struct entry *entry;

	mutex_lock(&kgcc_registry.lock);
	registry_for_each(&kgcc_registry, entry) {
		const struct kgcc_module *module = module_at(entry);

		for (unsigned int i = 0; i < module->n; i++) {
			const struct kgcc_site *site = module->sites[i];

			seq_printf(m, "%s\t%s\t%llu\t%u\t%u\t%s\t%s\t%llu\n", entry->name,
				   kind_of(site), max(site->nparts, 1ULL), READ_ONCE(site->hits),
				   READ_ONCE(site->errors), switches[is_on(site)], site->where,
				   kgcc_profile_ns(site));
		}
	}
	mutex_unlock(&kgcc_registry.lock);
}

void kgcc_module_show_totals(struct seq_file *m)
{
	struct entry *entry;

	mutex_lock(&kgcc_registry.lock);
	registry_for_each(&kgcc_registry, entry) {
		const struct kgcc_module *module = module_at(entry);
		unsigned int on = 0;

		for (unsigned int i = 0; i < module->n; i++)
			on += is_on(module->sites[i]);
		seq_printf(m, "module\t%s\t%u sites\t%u on\t%ld violations\n", entry->name,
			   module->n, on, atomic_long_read(&entry->violations));
	}
	mutex_unlock(&kgcc_registry.lock);
}
