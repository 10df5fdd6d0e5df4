/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Modules by name, and what is set for each of them, as lines "NAME KEY=VALUE...".  An
 * entry outlives its module: its settings count again when the module is loaded again.
 *
 * registry->lock guards the list, its entries and settings against writers.  Readers of the
 * list use RCU, readers of settings take each field as it is.  Entries are removed only when
 * the tool goes.
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

/* One of @names, by its index; a number; or by functions. */
struct setting {
	const char *key;
	size_t at, size;
	const char *const *names;
	int (*parse)(void *settings, char *value);
	void (*show)(struct seq_file *m, const void *settings);
	bool is_command;		/* takes effect once, and is not shown */
};

#define SETTING_AT(type, field)	.at = offsetof(type, field), .size = sizeof_field(type, field)

/* How long a line may be, and how much text at once. */
#define SETTINGS_MAX	4096UL

struct registry {
	size_t entry_size, settings, settings_size;
	const struct setting *keys;	/* up to one without a name */
	struct entry *fallback;		/* named *: counts for new entries, and code of none */
	/* Settings of an entry have changed; may be NULL. */
	void (*changed)(struct entry *entry);
	/* All of a text have; may be NULL. */
	int (*settle)(void);
	/* What follows an entry's settings, in the same line; may be NULL. */
	void (*show)(struct seq_file *m, const struct entry *entry);

	struct list_head entries;
	struct mutex lock;
};

#define REGISTRY_INIT(registry)						\
	.entries = LIST_HEAD_INIT((registry).entries),			\
	.lock = __MUTEX_INITIALIZER((registry).lock)

/* With the lock held, or under RCU. */
#define registry_for_each(registry, entry)				\
	list_for_each_entry_rcu(entry, &(registry)->entries, node,	\
				lockdep_is_held(&(registry)->lock))

/* The entry of the module that has this code, or the fallback.  Any context. */
struct entry *registry_of(struct registry *registry, unsigned long address);

/* With the lock held: the one with this name, made if there is none; NULL: no memory. */
struct entry *registry_named(struct registry *registry, const char *name);

/*
 * Lines, or what semicolons separate: of modules that need not be loaded; the name * stands
 * for all that there are and all to come.  Those before a bad one count.  -EINVAL, -ERANGE,
 * -E2BIG, -ENOMEM.
 */
int registry_set(struct registry *registry, char *text);

/* The same as what a process writes, and has written: its length. */
ssize_t registry_write(struct registry *registry, const char __user *text, size_t size);

void registry_show(struct registry *registry, struct seq_file *m);

/* No module comes or goes any more. */
void registry_free(struct registry *registry);

#endif /* SAFETY_REGISTRY_H */
