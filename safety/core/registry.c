// SPDX-License-Identifier: GPL-2.0
/* Modules by name, with the settings of each. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "registry.h"

struct entry *registry_of(struct registry *registry, unsigned long address)
{
	struct entry *entry, *found = registry->fallback;

	rcu_read_lock();
	registry_for_each(registry, entry) {
		const struct module *module = READ_ONCE(entry->module);

		if (module && within_module(address, module)) {
			found = entry;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static void *settings_of(const struct registry *registry, const struct entry *entry)
{
	return (void *)entry + registry->settings;
}

struct entry *registry_named(struct registry *registry, const char *name)
{
	struct entry *entry;

	lockdep_assert_held(&registry->lock);
	if (!strcmp(name, registry->fallback->name))
		return registry->fallback;
	registry_for_each(registry, entry)
		if (!strcmp(entry->name, name))
			return entry;
	entry = kzalloc(registry->entry_size, GFP_KERNEL);
	if (!entry)
		return NULL;
	memcpy(settings_of(registry, entry), settings_of(registry, registry->fallback),
	       registry->settings_size);
	strscpy(entry->name, name, sizeof(entry->name));
	list_add_tail_rcu(&entry->node, &registry->entries);
	return entry;
}

int registry_module_coming(struct registry *registry, struct module *module)
{
	struct entry *entry;

	mutex_lock(&registry->lock);
	entry = registry_named(registry, module->name);
	if (entry)
		WRITE_ONCE(entry->module, module);
	mutex_unlock(&registry->lock);
	return entry ? 0 : -ENOMEM;
}

void registry_free(struct registry *registry)
{
	struct entry *entry, *next;

	list_for_each_entry_safe(entry, next, &registry->entries, node)
		kfree(entry);
}

/* -- to set --------------------------------------------------------------------------- */

static int parse_name(const struct setting *setting, void *settings, const char *value)
{
	int i = match_string(setting->names, -1, value);

	if (i >= 0)
		*(unsigned int *)(settings + setting->at) = i;
	return min(i, 0);
}

static int parse_number(const struct setting *setting, void *settings, const char *value)
{
	void *to = settings + setting->at;

	return setting->size == sizeof(unsigned int) ? kstrtouint(value, 0, to) :
						       kstrtoul(value, 0, to);
}

static int parse(const struct setting *setting, void *settings, char *value)
{
	if (setting->parse)
		return setting->parse(settings, value);
	return setting->names ? parse_name(setting, settings, value) :
				parse_number(setting, settings, value);
}

/* "KEY=VALUE" */
static int parse_pair(const struct registry *registry, void *settings, char *pair)
{
	const struct setting *setting;
	char *key = strsep(&pair, "=");

	if (!pair)
		return -EINVAL;
	for (setting = registry->keys; setting->key; setting++)
		if (!strcmp(setting->key, key))
			return parse(setting, settings, pair);
	return -EINVAL;
}

/* Applies a whole line or nothing of it. */
static int set_entry(struct registry *registry, struct entry *entry, const char *text)
{
	void *own = settings_of(registry, entry);
	void *settings = kmemdup(own, registry->settings_size, GFP_KERNEL);
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *pair;
	int err = settings && copy ? 0 : -ENOMEM;

	while (!err && (pair = strsep(&rest, " \t")))
		if (*pair)
			err = parse_pair(registry, settings, pair);
	if (!err) {
		memcpy(own, settings, registry->settings_size);
		if (registry->changed)
			registry->changed(entry);
	}
	kfree(copy);
	kfree(settings);
	return err;
}

static int set_line(struct registry *registry, char *line)
{
	struct entry *entry;
	char *name;
	int err;

	line = strim(line);
	name = strsep(&line, ": \t");
	if (!*name)
		return 0;
	if (!line || strlen(name) >= MODULE_NAME_LEN)
		return -EINVAL;
	entry = registry_named(registry, name);
	if (!entry)
		return -ENOMEM;
	err = set_entry(registry, entry, line);
	if (err || entry != registry->fallback)
		return err;
	registry_for_each(registry, entry)
		err = err ?: set_entry(registry, entry, line);
	return err;
}

int registry_set(struct registry *registry, char *text)
{
	int err = 0, settled = 0;
	char *line;

	mutex_lock(&registry->lock);
	while (!err && (line = strsep(&text, "\n;")))
		err = set_line(registry, line);
	if (registry->settle)
		settled = registry->settle();
	mutex_unlock(&registry->lock);
	return err ?: settled;
}

int registry_set_parameter(struct registry *registry, char *text)
{
	int err = text ? registry_set(registry, text) : 0;

	if (err)
		pr_err("settings: not understood, see " KBUILD_MODNAME "(8)\n");
	return err;
}

ssize_t registry_write(struct registry *registry, const char __user *text, size_t size)
{
	char *copy;
	int err;

	if (size > SETTINGS_MAX)
		return -E2BIG;
	copy = memdup_user_nul(text, size);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	err = registry_set(registry, copy);
	kfree(copy);
	return err ?: size;
}

/* -- to read -------------------------------------------------------------------------- */

static void show_setting(struct seq_file *m, const struct setting *setting,
			 const void *settings)
{
	const void *at = settings + setting->at;

	seq_printf(m, " %s=", setting->key);
	if (setting->show)
		setting->show(m, settings);
	else if (setting->names)
		seq_puts(m, setting->names[*(const unsigned int *)at]);
	else if (setting->size == sizeof(unsigned int))
		seq_printf(m, "%u", *(const unsigned int *)at);
	else
		seq_printf(m, "%lu", *(const unsigned long *)at);
}

static void show_entry(struct registry *registry, struct seq_file *m,
		       const struct entry *entry)
{
	const struct setting *setting;

	seq_puts(m, entry->name);
	for (setting = registry->keys; setting->key; setting++)
		if (!setting->is_command)
			show_setting(m, setting, settings_of(registry, entry));
	if (registry->show && entry != registry->fallback)
		registry->show(m, entry);
	seq_putc(m, '\n');
}

void registry_show(struct registry *registry, struct seq_file *m)
{
	const struct entry *entry;

	mutex_lock(&registry->lock);
	show_entry(registry, m, registry->fallback);
	registry_for_each(registry, entry)
		show_entry(registry, m, entry);
	mutex_unlock(&registry->lock);
}
