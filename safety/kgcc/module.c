// SPDX-License-Identifier: GPL-2.0
/*
 * Instrumented modules come and go.  Their sites are found through their jump labels:
 * the key of each is the start of a struct kgcc_site.
 *
 * modules_lock guards the list, settings, and sites.  Readers of the list in any
 * context use RCU: entries are removed only when kgcc.ko goes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "module.h"
#include "peer.h"
#include "profile.h"
#include "region.h"

/* How often sites are looked at that may be due to be switched off. */
#define PERIOD	(HZ / 10)

struct kgcc_module kgcc_module_default = { .name = "*" };

/* For the assembly too, which knows its key by this name. */
struct static_key_false kgcc_counting = STATIC_KEY_FALSE_INIT;

static LIST_HEAD(modules);
static DEFINE_MUTEX(modules_lock);

struct kgcc_module *kgcc_module_of(unsigned long address)
{
	struct kgcc_module *m;

	list_for_each_entry_rcu(m, &modules, node) {
		const struct module *module = READ_ONCE(m->module);

		if (module && within_module(address, module))
			return m;
	}
	return &kgcc_module_default;
}

static struct kgcc_module *module_named(const char *name)
{
	struct kgcc_module *m;

	lockdep_assert_held(&modules_lock);
	if (!strcmp(name, kgcc_module_default.name))
		return &kgcc_module_default;
	list_for_each_entry(m, &modules, node)
		if (!strcmp(m->name, name))
			return m;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return NULL;
	m->settings = kgcc_module_default.settings;
	strscpy(m->name, name, sizeof(m->name));
	list_add_tail_rcu(&m->node, &modules);
	return m;
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
	struct kgcc_module *m;
	bool again = false;

	mutex_lock(&modules_lock);
	list_for_each_entry(m, &modules, node) {
		if (!m->settings.after)
			continue;
		again = true;
		switch_off_proven(m);
	}
	mutex_unlock(&modules_lock);
	if (again)
		schedule_delayed_work(&looking, PERIOD);
}

/* Of all that are counted.  An error leaves it as it is. */
static int settle_timing(bool time)
{
	static bool is_on;
	int err = 0;

	lockdep_assert_held(&modules_lock);
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

/* After settings changed: counting costs, so it is done only on request. */
static int settle(void)
{
	enum kgcc_count count = kgcc_module_default.settings.count;
	struct kgcc_module *m;
	bool after = false;

	lockdep_assert_held(&modules_lock);
	list_for_each_entry(m, &modules, node) {
		count = max(count, m->settings.count);
		after |= m->settings.after;
	}
	if (count || after)
		static_branch_enable(&kgcc_counting);
	else
		static_branch_disable(&kgcc_counting);
	if (after)
		schedule_delayed_work(&looking, PERIOD);
	return settle_timing(count == KGCC_COUNT_TIME);
}

/* -- a module comes ---------------------------------------------------------------- */

/* A key of others may be the last thing in its page. */
static struct kgcc_site *site_of(const struct jump_entry *entry)
{
	struct kgcc_site *site = (struct kgcc_site *)jump_entry_key(entry);
	u32 flags;

	if (copy_from_kernel_nofault(&flags, &site->flags, sizeof(flags)))
		return NULL;
	return (flags & KGCC_MAGIC_MASK) == KGCC_MAGIC ? site : NULL;
}

/* Entries are sorted by key: those of one site follow one another. */
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

/* Units of sites in the order of their addresses: each is met once, or nearly so. */
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
	struct kgcc_module *m;

	if (!n)
		return 0;
	sites = kvmalloc_array(n, sizeof(*sites), GFP_KERNEL);
	if (!sites)
		return -ENOMEM;
	list_sites(module, sites);
	add_variables(sites, n);
	mutex_lock(&modules_lock);
	m = module_named(module->name);
	if (m) {
		m->sites = sites;
		m->n = n;
		WRITE_ONCE(m->module, module);
		settle();
	} else {
		kvfree(sites);
	}
	mutex_unlock(&modules_lock);
	return m ? 0 : -ENOMEM;
}

static void module_going(struct module *module)
{
	struct kgcc_module *m;

	mutex_lock(&modules_lock);
	list_for_each_entry(m, &modules, node) {
		if (m->module != module)
			continue;
		WRITE_ONCE(m->module, NULL);
		kvfree(m->sites);
		m->sites = NULL;
		m->n = 0;
	}
	mutex_unlock(&modules_lock);
	kgcc_module_for_each_range(module, kgcc_region_remove);
	kgcc_module_for_each_range(module, kgcc_peer_forget);
	kgcc_module_for_each_range(module, kgcc_profile_forget);
	synchronize_rcu();
}

/* Of modules that are not instrumented, too: their variables may have been seen. */
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
	struct kgcc_module *m, *next;

	unregister_module_notifier(&notifier);
	cancel_delayed_work_sync(&looking);
	mutex_lock(&modules_lock);
	settle_timing(false);
	mutex_unlock(&modules_lock);
	kgcc_profile_exit();
	list_for_each_entry_safe(m, next, &modules, node)
		kfree(m);
}

/* -- settings as text -------------------------------------------------------------- */

static const char *const actions[] = { "log", "kill", "crash" };
static const char *const reports[] = { "once", "all" };
static const char *const switches[] = { "off", "on" };
static const char *const counts[] = { "off", "on", "time" };

struct change {
	struct kgcc_settings settings;
	int state;			/* -1: as it is */
};

static int parse(struct change *change, const char *key, const char *value)
{
	int i;

	if (!strcmp(key, "after"))
		return kstrtouint(value, 0, &change->settings.after);
	if (!strcmp(key, "action")) {
		i = match_string(actions, ARRAY_SIZE(actions), value);
		change->settings.action = i;
	} else if (!strcmp(key, "reports")) {
		i = match_string(reports, ARRAY_SIZE(reports), value);
		change->settings.every = i;
	} else if (!strcmp(key, "count")) {
		i = match_string(counts, ARRAY_SIZE(counts), value);
		change->settings.count = i;
	} else if (!strcmp(key, "state")) {
		i = match_string(switches, ARRAY_SIZE(switches), value);
		change->state = i;
	} else {
		i = -EINVAL;
	}
	return min(i, 0);
}

static int set_module(struct kgcc_module *m, const char *text)
{
	struct change change = { m->settings, -1 };
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *pair;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (pair = strsep(&rest, " \t"))) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (value)
			*value++ = 0;
		err = value ? parse(&change, pair, value) : -EINVAL;
	}
	kfree(copy);
	if (err)
		return err;
	m->settings = change.settings;
	if (change.state >= 0)
		switch_sites(m, change.state);
	return 0;
}

static int set_all(const char *text)
{
	int err = set_module(&kgcc_module_default, text);
	struct kgcc_module *m;

	list_for_each_entry(m, &modules, node)
		if (!err)
			err = set_module(m, text);
	return err;
}

int kgcc_module_set(char *line)
{
	struct kgcc_module *m;
	char *name;
	int err;

	line = strim(line);
	name = strsep(&line, " \t");
	if (!*name)
		return 0;
	if (!line || strlen(name) >= MODULE_NAME_LEN)
		return -EINVAL;
	mutex_lock(&modules_lock);
	m = module_named(name);
	if (!m)
		err = -ENOMEM;
	else if (m == &kgcc_module_default)
		err = set_all(line);
	else
		err = set_module(m, line);
	err = settle() ?: err;
	mutex_unlock(&modules_lock);
	return err;
}

/* -- to read ------------------------------------------------------------------------- */

static void show_settings(struct seq_file *m, const struct kgcc_module *module)
{
	const struct kgcc_settings *s = &module->settings;

	seq_printf(m, "%s action=%s reports=%s after=%u count=%s\n", module->name,
		   actions[s->action], reports[s->every], s->after, counts[s->count]);
}

void kgcc_module_show_settings(struct seq_file *m)
{
	struct kgcc_module *module;

	mutex_lock(&modules_lock);
	show_settings(m, &kgcc_module_default);
	list_for_each_entry(module, &modules, node)
		show_settings(m, module);
	mutex_unlock(&modules_lock);
}

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
	struct kgcc_module *module;

	mutex_lock(&modules_lock);
	list_for_each_entry(module, &modules, node) {
		for (unsigned int i = 0; i < module->n; i++) {
			const struct kgcc_site *site = module->sites[i];

			seq_printf(m, "%s\t%s\t%llu\t%u\t%u\t%s\t%s\t%llu\n", module->name,
				   kind_of(site), max(site->nparts, 1ULL), READ_ONCE(site->hits),
				   READ_ONCE(site->errors), switches[is_on(site)], site->where,
				   kgcc_profile_ns(site));
		}
	}
	mutex_unlock(&modules_lock);
}

void kgcc_module_show_totals(struct seq_file *m)
{
	struct kgcc_module *module;

	mutex_lock(&modules_lock);
	list_for_each_entry(module, &modules, node) {
		unsigned int on = 0;

		for (unsigned int i = 0; i < module->n; i++)
			on += is_on(module->sites[i]);
		seq_printf(m, "module\t%s\t%u sites\t%u on\t%ld violations\n", module->name,
			   module->n, on, atomic_long_read(&module->violations));
	}
	mutex_unlock(&modules_lock);
}
