// SPDX-License-Identifier: GPL-2.0
/* Instrumented modules and their settings. */
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "cache.h"
#include "client.h"
#include "object.h"
#include "pool.h"
#include "report.h"
#include "site.h"

struct client client_default = {
	.settings = {
		.action = ACTION_WRITE,
		.side = SIDE_END,
		.policy = POLICY_RATE,
		.stacks = STACKS_PATH,
		.kmalloc = true,
		.size_max = POOL_OBJECT_MAX,
	},
	.entry.name = "*",
};

static struct client *client_at(struct entry *entry)
{
	return container_of(entry, struct client, entry);
}

struct client *client_of(unsigned long ip)
{
	return client_at(registry_of(&client_registry, ip));
}

static bool globs_match(const char *globs, const char *name)
{
	char copy[CACHES_LEN], *rest = copy, *glob;

	if (!*globs)
		return true;
	strscpy(copy, globs, sizeof(copy));
	while ((glob = strsep(&rest, ",")))
		if (glob_match(glob, name))
			return true;
	return false;
}

bool client_wants_cache(const struct client *client, const char *name)
{
	return globs_match(client->settings.caches, name);
}

/* -- settings as text --------------------------------------------------------- */

static const char *const actions[] = { "read", "write", "kill", "crash", NULL };
static const char *const sides[] = { "end", "start", "random", NULL };
static const char *const policies[] = { "all", "rate", NULL };
static const char *const stackses[] = { "off", "path", "all", NULL };
static const char *const reports[] = { "once", "all", NULL };

static int parse_align(void *to, char *value)
{
	struct settings *settings = to;
	unsigned int align;
	int err = kstrtouint(value, 0, &align);

	if (err)
		return err;
	if (align > PAGE_SIZE || (align && !is_power_of_2(align)))
		return -EINVAL;
	settings->align = align;
	return 0;
}

static int parse_sizes(void *to, char *value)
{
	struct settings *settings = to;
	char *max = value;

	strsep(&max, "-");
	if (!max)
		return -EINVAL;
	return kstrtoul(value, 0, &settings->size_min) ?:
	       kstrtoul(max, 0, &settings->size_max);
}

static void show_sizes(struct seq_file *m, const void *from)
{
	const struct settings *settings = from;

	seq_printf(m, "%lu-%lu", settings->size_min, settings->size_max);
}

static int parse_caches(void *to, char *value)
{
	struct settings *settings = to;

	if (strscpy(settings->caches, value, sizeof(settings->caches)) < 0)
		return -E2BIG;
	settings->kmalloc = globs_match(value, "kmalloc");
	return 0;
}

static void show_caches(struct seq_file *m, const void *from)
{
	const struct settings *settings = from;

	seq_puts(m, settings->caches);
}

static const struct setting keys[] = {
	{ "action", SETTING_AT(struct settings, action), .names = actions },
	{ "side", SETTING_AT(struct settings, side), .names = sides },
	{ "policy", SETTING_AT(struct settings, policy), .names = policies },
	{ "stacks", SETTING_AT(struct settings, stacks), .names = stackses },
	{ "reports", SETTING_AT(struct settings, every), .names = reports },
	{ "align", SETTING_AT(struct settings, align), .parse = parse_align },
	{ "budget", SETTING_AT(struct settings, budget) },
	{ "sizes", .parse = parse_sizes, .show = show_sizes },
	{ "caches", .parse = parse_caches, .show = show_caches },
	{ }
};

static void settings_changed(struct entry *entry)
{
	cache_settings_changed(client_at(entry));
}

static void show_state(struct seq_file *m, const struct entry *entry)
{
	const struct client *client = container_of(entry, struct client, entry);

	seq_printf(m, " # %sloaded, %ld live, %ld pages, %ld of %ld guarded, %ld violations",
		   entry->module ? "" : "not ", atomic_long_read(&client->live),
		   atomic_long_read(&client->pages), atomic_long_read(&client->guarded),
		   atomic_long_read(&client->allocs), atomic_long_read(&entry->violations));
}

struct registry client_registry = {
	REGISTRY_INIT(client_registry),
	.entry_size = sizeof(struct client),
	.settings = offsetof(struct client, settings),
	.settings_size = sizeof(struct settings),
	.keys = keys,
	.fallback = &client_default.entry,
	.changed = settings_changed,
	.show = show_state,
};

/* -- counts ------------------------------------------------------------------ */

void client_count_alloc(struct client *client, size_t size)
{
	unsigned int bits = size ? order_base_2(size) : 0;

	atomic_long_inc(&client->allocs);
	atomic_long_add(size, &client->bytes);
	atomic_long_inc(&client->sizes[min_t(unsigned int, bits, SIZE_BITS)]);
}

void client_count_pages(struct client *client, long pages)
{
	long now = atomic_long_add_return(pages, &client->pages);
	long most = atomic_long_read(&client->most_pages);

	while (unlikely(now > most) &&
	       !atomic_long_try_cmpxchg(&client->most_pages, &most, now))
		;
}

static void client_show_counts_one(struct seq_file *m, const struct client *client)
{
	unsigned int i;

	seq_printf(m, "%s\t%ld\t%ld\t%ld\t%ld\t%ld", client->entry.name,
		   atomic_long_read(&client->allocs), atomic_long_read(&client->guarded),
		   atomic_long_read(&client->bytes), atomic_long_read(&client->pages),
		   atomic_long_read(&client->most_pages));
	for (i = 0; i <= SIZE_BITS; i++)
		seq_printf(m, "\t%ld", atomic_long_read(&client->sizes[i]));
	seq_putc(m, '\n');
}

void client_show_counts(struct seq_file *m)
{
	struct entry *entry;
	unsigned int i;

	seq_puts(m, "module\tallocs\tguarded\tbytes\tpages\tmost");
	for (i = 0; i < SIZE_BITS; i++)
		seq_printf(m, "\t%lu", 1UL << i);
	seq_puts(m, "\tmore\n");
	mutex_lock(&client_registry.lock);
	registry_for_each(&client_registry, entry)
		client_show_counts_one(m, client_at(entry));
	mutex_unlock(&client_registry.lock);
}

/* -- modules come and go ------------------------------------------------------ */

static int module_coming(struct module *module)
{
	int err = registry_module_coming(&client_registry, module);

	/* Forget reports at addresses that now have another meaning. */
	report_forget();
	return err;
}

static void module_going(struct module *module)
{
	struct client *gone = NULL;
	struct entry *entry;

	mutex_lock(&client_registry.lock);
	registry_for_each(&client_registry, entry)
		if (entry->module == module)
			gone = client_at(entry);
	mutex_unlock(&client_registry.lock);
	if (!gone)
		return;

	/* 1. Its exit function has run: objects still alive are leaked. */
	object_report_leaks(gone);
	/* 2. From here on no lookup finds the module. */
	WRITE_ONCE(gone->entry.module, NULL);
	synchronize_rcu();
	/* 3. So sites forgotten here cannot be added again. */
	site_forget(gone);
}

static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	switch (event) {
	case MODULE_STATE_COMING:
		return notifier_from_errno(module_coming(data));
	case MODULE_STATE_GOING:
		module_going(data);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_events = { .notifier_call = module_event };

int client_init(void)
{
	return register_module_notifier(&module_events);
}

void client_exit(void)
{
	unregister_module_notifier(&module_events);
	registry_free(&client_registry);
}
