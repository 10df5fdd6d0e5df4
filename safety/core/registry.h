/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Modules by name, with the settings of each, as lines "NAME KEY=VALUE...". An entry outlives its
 * module: its settings apply again when the module is reloaded.
 *
 * registry->lock guards the list, its entries and settings against writers. Readers of the list use
 * RCU; readers of settings read each field without a lock. Entries are removed only when the tool
 * is unloaded.
 */
#ifndef SAFETY_REGISTRY_H
#define SAFETY_REGISTRY_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/stddef.h>
#include <linux/types.h>

struct seq_file;

/* A tool's own structure begins with this; its settings follow at registry->settings. */
struct entry {
	struct list_head node;
	struct module *module;		/* NULL if not loaded */
	atomic_long_t violations;
	char name[MODULE_NAME_LEN];
};

/* A value is an index into @names, a number, or parsed and shown by functions. */
struct setting {
	const char *key;
	size_t at, size;
	const char *const *names;
	int (*parse)(void *settings, char *value);
	void (*show)(struct seq_file *m, const void *settings);
	bool is_command;		/* takes effect once, and is not shown */
};

#define SETTING_AT(type, field)	.at = offsetof(type, field), .size = sizeof_field(type, field)

/* The longest line, and the longest text written at once. */
#define SETTINGS_MAX	4096UL

struct registry {
	size_t entry_size, settings, settings_size;
	const struct setting *keys;	/* ends with an entry without a name */
	struct entry *fallback;		/* entry "*": for new modules, and code of none */
	/* The settings of an entry have changed; may be NULL. */
	void (*changed)(struct entry *entry);
	/* Called after all settings of a written text were applied; may be NULL. */
	int (*settle)(void);
	/* Prints more after an entry's settings, in the same line; may be NULL. */
	void (*show)(struct seq_file *m, const struct entry *entry);

	struct list_head entries;
	struct mutex lock;
};

#define REGISTRY_INIT(registry)						\
	.entries = LIST_HEAD_INIT((registry).entries),			\
	.lock = __MUTEX_INITIALIZER((registry).lock)

/* Call it with the lock held or under RCU. */
#define registry_for_each(registry, entry)				\
	list_for_each_entry_rcu(entry, &(registry)->entries, node,	\
				lockdep_is_held(&(registry)->lock))

/* The entry of the module that contains this address, or the fallback. Any context. */
struct entry *registry_of(struct registry *registry, unsigned long address);

/* Call with the lock held. Finds or makes the entry of this name; NULL: out of memory. */
struct entry *registry_named(struct registry *registry, const char *name);

/*
 * Applies lines, or parts separated by semicolons. Modules need not be loaded; the name * stands
 * for all present and future ones. Lines before a bad one stay applied. -EINVAL, -ERANGE,
 * -E2BIG, -ENOMEM.
 */
int registry_set(struct registry *registry, char *text);

/* Applies what a process writes; returns its length. */
ssize_t registry_write(struct registry *registry, const char __user *text, size_t size);

/*
 * Applies a parameter of the tool's module, unless it is NULL. If it is wrong, the log says so.
 * Errors as registry_set().
 */
int registry_set_parameter(struct registry *registry, char *text);

/* Notes that a module is coming. 0 or -ENOMEM. */
int registry_module_coming(struct registry *registry, struct module *module);

void registry_show(struct registry *registry, struct seq_file *m);

/* Call it when modules can no longer come or go. */
void registry_free(struct registry *registry);

#endif /* SAFETY_REGISTRY_H */
