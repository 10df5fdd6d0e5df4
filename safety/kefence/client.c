// SPDX-License-Identifier: GPL-2.0
/*
 * Instrumented modules and their settings.
 *
 * clients_lock guards the list and who writes settings.  Readers of the list use
 * RCU, readers of settings take each field as it is.  Clients are never removed
 * while Kefence is loaded.
 */
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cache.h"
#include "client.h"
#include "object.h"
#include "pool.h"
#include "site.h"
#include "violation.h"

struct client client_default = {
	.settings = {
		.action = ACTION_WRITE,
		.side = SIDE_END,
		.policy = POLICY_RATE,
		.stacks = STACKS_PATH,
		.kmalloc = true,
		.size_max = POOL_OBJECT_MAX,
	},
	.name = "*",
};

static LIST_HEAD(clients);
static DEFINE_MUTEX(clients_lock);

struct client *client_of(unsigned long ip)
{
	struct client *client, *found = &client_default;

	rcu_read_lock();
	list_for_each_entry_rcu(client, &clients, node) {
		const struct module *module = READ_ONCE(client->module);

		if (module && within_module(ip, module)) {
			found = client;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static struct client *client_named(const char *name)
{
	struct client *client;

	lockdep_assert_held(&clients_lock);
	if (!strcmp(name, client_default.name))
		return &client_default;
	list_for_each_entry(client, &clients, node)
		if (!strcmp(client->name, name))
			return client;

	client = kzalloc(sizeof(*client), GFP_KERNEL);
	if (!client)
		return NULL;
	client->settings = client_default.settings;
	strscpy(client->name, name, sizeof(client->name));
	list_add_tail_rcu(&client->node, &clients);
	return client;
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

static int parse_align(unsigned int *align, const char *value)
{
	int err = kstrtouint(value, 0, align);

	if (err)
		return err;
	return *align <= PAGE_SIZE && (!*align || is_power_of_2(*align)) ? 0 : -EINVAL;
}

static int parse_sizes(struct settings *settings, char *value)
{
	char *max = strchr(value, '-');

	if (!max)
		return -EINVAL;
	*max++ = '\0';
	return kstrtoul(value, 0, &settings->size_min) ?:
	       kstrtoul(max, 0, &settings->size_max);
}

static int parse_caches(struct settings *settings, const char *value)
{
	if (strscpy(settings->caches, value, sizeof(settings->caches)) < 0)
		return -E2BIG;
	settings->kmalloc = globs_match(value, "kmalloc");
	return 0;
}

/* The index of @value in @names, in @to. */
#define parse_name(names, value, to) ({					\
	int index_ = match_string(names, -1, value);			\
	if (index_ >= 0)						\
		(to) = index_;						\
	min(index_, 0); })

static int parse_setting(struct settings *settings, const char *key, char *value)
{
	if (!strcmp(key, "action"))
		return parse_name(actions, value, settings->action);
	if (!strcmp(key, "side"))
		return parse_name(sides, value, settings->side);
	if (!strcmp(key, "policy"))
		return parse_name(policies, value, settings->policy);
	if (!strcmp(key, "stacks"))
		return parse_name(stackses, value, settings->stacks);
	if (!strcmp(key, "reports"))
		return parse_name(reports, value, settings->every);
	if (!strcmp(key, "align"))
		return parse_align(&settings->align, value);
	if (!strcmp(key, "budget"))
		return kstrtoul(value, 0, &settings->budget);
	if (!strcmp(key, "sizes"))
		return parse_sizes(settings, value);
	if (!strcmp(key, "caches"))
		return parse_caches(settings, value);
	return -EINVAL;
}

static int client_parse(struct client *client, const char *text)
{
	struct settings settings = client->settings;
	char *copy, *rest, *pair;
	int err = 0;

	copy = rest = kstrdup(text, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	while (!err && (pair = strsep(&rest, " \t"))) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (value)
			*value++ = '\0';
		err = value ? parse_setting(&settings, pair, value) : -EINVAL;
	}
	kfree(copy);
	if (!err) {
		client->settings = settings;
		cache_settings_changed(client);
	}
	return err;
}

static int client_set_line(char *line)
{
	struct client *client;
	char *name;
	int err;

	line = strim(line);
	name = strsep(&line, ": \t");
	if (!*name)
		return 0;
	if (!line)
		return -EINVAL;
	client = client_named(name);
	if (!client)
		return -ENOMEM;
	err = client_parse(client, line);
	if (err || client != &client_default)
		return err;
	list_for_each_entry(client, &clients, node)
		err = err ?: client_parse(client, line);
	return err;
}

int client_set(char *text)
{
	char *line;
	int err = 0;

	mutex_lock(&clients_lock);
	while (!err && (line = strsep(&text, "\n;")))
		err = client_set_line(line);
	mutex_unlock(&clients_lock);
	return err;
}

static void client_show_one(struct seq_file *m, const struct client *client)
{
	const struct settings *s = &client->settings;

	seq_printf(m, "%s action=%s side=%s policy=%s stacks=%s reports=%s align=%u budget=%lu sizes=%lu-%lu caches=%s",
		   client->name, actions[s->action], sides[s->side],
		   policies[s->policy], stackses[s->stacks], reports[s->every],
		   s->align, s->budget, s->size_min, s->size_max, s->caches);
	if (client != &client_default)
		seq_printf(m, " # %sloaded, %ld live, %ld pages, %ld of %ld guarded, %ld violations",
			   client->module ? "" : "not ", atomic_long_read(&client->live),
			   atomic_long_read(&client->pages),
			   atomic_long_read(&client->guarded),
			   atomic_long_read(&client->allocs),
			   atomic_long_read(&client->violations));
	seq_putc(m, '\n');
}

void client_show(struct seq_file *m)
{
	struct client *client;

	mutex_lock(&clients_lock);
	client_show_one(m, &client_default);
	list_for_each_entry(client, &clients, node)
		client_show_one(m, client);
	mutex_unlock(&clients_lock);
}

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

static void client_show_counts_one(struct seq_file *m, struct client *client)
{
	unsigned int i;

	seq_printf(m, "%s\t%ld\t%ld\t%ld\t%ld\t%ld", client->name,
		   atomic_long_read(&client->allocs), atomic_long_read(&client->guarded),
		   atomic_long_read(&client->bytes), atomic_long_read(&client->pages),
		   atomic_long_read(&client->most_pages));
	for (i = 0; i <= SIZE_BITS; i++)
		seq_printf(m, "\t%ld", atomic_long_read(&client->sizes[i]));
	seq_putc(m, '\n');
}

void client_show_counts(struct seq_file *m)
{
	struct client *client;
	unsigned int i;

	seq_puts(m, "module\tallocs\tguarded\tbytes\tpages\tmost");
	for (i = 0; i < SIZE_BITS; i++)
		seq_printf(m, "\t%lu", 1UL << i);
	seq_puts(m, "\tmore\n");
	mutex_lock(&clients_lock);
	list_for_each_entry(client, &clients, node)
		client_show_counts_one(m, client);
	mutex_unlock(&clients_lock);
}

/* -- modules come and go ------------------------------------------------------ */

static int module_coming(struct module *module)
{
	struct client *client;

	mutex_lock(&clients_lock);
	client = client_named(module->name);
	if (client)
		WRITE_ONCE(client->module, module);
	mutex_unlock(&clients_lock);
	/* What happened at addresses that have another meaning now. */
	violation_forget();
	return client ? 0 : -ENOMEM;
}

static void module_going(struct module *module)
{
	struct client *client, *gone = NULL;

	mutex_lock(&clients_lock);
	list_for_each_entry(client, &clients, node)
		if (client->module == module)
			gone = client;
	mutex_unlock(&clients_lock);
	if (!gone)
		return;

	/* 1. Its exit function has run: what is alive now stays so. */
	object_report_leaks(gone);
	/* 2. No place is looked up as this module's any more. */
	WRITE_ONCE(gone->module, NULL);
	synchronize_rcu();
	/* 3. So none that this forgets can come again. */
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
	struct client *client, *next;

	unregister_module_notifier(&module_events);
	list_for_each_entry_safe(client, next, &clients, node)
		kfree(client);
}
