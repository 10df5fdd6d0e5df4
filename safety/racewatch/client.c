// SPDX-License-Identifier: GPL-2.0
/* Instrumented modules and their settings. */
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>

#include "client.h"
#include "report.h"

#define SAMPLE_MAX	(1U << 30)
#define DELAY_MAX	10000U

static struct client client_default = {
	.settings = { .sample = 2000, .delay = 80 },
	.entry.name = "*",
};

static const char *const states[] = { "on", "off", NULL };
static const char *const unchanged[] = { "skip", "report", NULL };
static const char *const reports[] = { "once", "all", NULL };

static int parse_bounded(unsigned int *to, const char *value, unsigned int max)
{
	unsigned int n;
	int err = kstrtouint(value, 0, &n);

	if (err)
		return err;
	if (!n || n > max)
		return -ERANGE;
	*to = n;
	return 0;
}

static int parse_sample(void *settings, char *value)
{
	return parse_bounded(&((struct settings *)settings)->sample, value, SAMPLE_MAX);
}

static int parse_delay(void *settings, char *value)
{
	return parse_bounded(&((struct settings *)settings)->delay, value, DELAY_MAX);
}

static const struct setting keys[] = {
	{ "state", SETTING_AT(struct settings, off), .names = states },
	{ "sample", SETTING_AT(struct settings, sample), .parse = parse_sample },
	{ "delay", SETTING_AT(struct settings, delay), .parse = parse_delay },
	{ "unchanged", SETTING_AT(struct settings, unchanged), .names = unchanged },
	{ "reports", SETTING_AT(struct settings, every), .names = reports },
	{ }
};

static void show_state(struct seq_file *m, const struct entry *entry)
{
	seq_printf(m, " # %sloaded, %ld violations", entry->module ? "" : "not ",
		   atomic_long_read(&entry->violations));
}

struct registry client_registry = {
	REGISTRY_INIT(client_registry),
	.entry_size = sizeof(struct client),
	.settings = offsetof(struct client, settings),
	.settings_size = sizeof(struct settings),
	.keys = keys,
	.fallback = &client_default.entry,
	.show = show_state,
};

struct client *client_of(unsigned long ip)
{
	return container_of(registry_of(&client_registry, ip), struct client, entry);
}

static int module_coming(struct module *module)
{
	int err = registry_module_coming(&client_registry, module);

	/* Forget reports at addresses that now have another meaning. */
	report_forget();
	return err;
}

static void module_going(const struct module *module)
{
	struct entry *entry;

	mutex_lock(&client_registry.lock);
	registry_for_each(&client_registry, entry)
		if (entry->module == module)
			WRITE_ONCE(entry->module, NULL);
	mutex_unlock(&client_registry.lock);
	synchronize_rcu();
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
