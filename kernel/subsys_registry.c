// SPDX-License-Identifier: GPL-2.0
/*
 * Every user may look up an offer, so lookups take no lock: an offer is found under RCU, and its
 * module is pinned before use.  A module withdraws its offers when it is unloaded: nothing holds
 * it then, and it waits for RCU readers of its names and tables.
 */
#include <linux/capability.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscript_program.h>

#include "compat.h"
#include "subsys_registry.h"

/* @what: the program type or library; both begin with the same two fields. */
struct offer {
	struct list_head node;
	const char *name;
	struct module *owner;
	const void *what;
};

static LIST_HEAD(prog_types);
static LIST_HEAD(libraries);
static DEFINE_MUTEX(lock);	/* held while either list is changed */

static struct offer *subsys_find(struct list_head *list, const char *name)
{
	struct offer *offer;

	list_for_each_entry_rcu(offer, list, node, lockdep_is_held(&lock))
		if (!strcmp(offer->name, name))
			return offer;
	return NULL;
}

static int subsys_add(struct list_head *list, struct offer fresh)
{
	struct offer *offer = kmemdup(&fresh, sizeof(fresh), GFP_KERNEL);
	int err = 0;

	if (!offer)
		return -ENOMEM;
	mutex_lock(&lock);
	if (subsys_find(list, offer->name))
		err = -EEXIST;
	else
		list_add_rcu(&offer->node, list);
	mutex_unlock(&lock);
	if (err)
		kfree(offer);
	return err;
}

/* Withdraws it, if it was accepted: another module may have the name. */
static void take_back(struct list_head *list, const char *name, const void *what)
{
	struct offer *offer;

	mutex_lock(&lock);
	offer = subsys_find(list, name);
	if (offer && offer->what == what)
		list_del_rcu(&offer->node);
	else
		offer = NULL;
	mutex_unlock(&lock);
	synchronize_rcu();
	kfree(offer);
}

/* -- Program types -------------------------------------------------------------------- */

int syscript_prog_type_register(const struct syscript_prog_type *prog_type)
{
	return subsys_add(&prog_types, (struct offer){
		.name = prog_type->name, .owner = prog_type->owner, .what = prog_type });
}
EXPORT_SYMBOL_NS_GPL(syscript_prog_type_register, COMPAT_NS(SYSCRIPT));

void syscript_prog_type_unregister(const struct syscript_prog_type *prog_type)
{
	take_back(&prog_types, prog_type->name, prog_type);
}
EXPORT_SYMBOL_NS_GPL(syscript_prog_type_unregister, COMPAT_NS(SYSCRIPT));

const struct syscript_prog_type *subsys_get(const char *name)
{
	const struct syscript_prog_type *prog_type = NULL;
	struct offer *offer;

	rcu_read_lock();
	offer = subsys_find(&prog_types, name);
	if (offer && try_module_get(offer->owner))
		prog_type = offer->what;
	rcu_read_unlock();
	return prog_type;
}

void subsys_put(const struct syscript_prog_type *prog_type)
{
	module_put(prog_type->owner);
}

/* -- Libraries --------------------------------------------------------------------- */

int syscript_library_register(const struct syscript_library *library)
{
	return subsys_add(&libraries, (struct offer){
		.name = library->name, .owner = library->owner, .what = library });
}
EXPORT_SYMBOL_NS_GPL(syscript_library_register, COMPAT_NS(SYSCRIPT));

void syscript_library_unregister(const struct syscript_library *library)
{
	take_back(&libraries, library->name, library);
}
EXPORT_SYMBOL_NS_GPL(syscript_library_unregister, COMPAT_NS(SYSCRIPT));

/* The part of @symbol after the library's name, or NULL if the symbol is another library's. */
static const char *name_in(const struct syscript_library *library, const char *symbol)
{
	size_t len = strlen(library->name);

	return !strncmp(symbol, library->name, len) && symbol[len] == '_' ?
	       symbol + len + 1 : NULL;
}

static const struct syscript_function *subsys_find_function(const struct syscript_library *library,
							    const char *symbol)
{
	const char *name = name_in(library, symbol);
	const struct syscript_function *function;

	for (function = library->functions; name && function->name; function++)
		if (!strcmp(function->name, name))
			return function;
	return NULL;
}

static bool subsys_may_have(const struct syscript_library *library, const char *symbol,
			    char *error, size_t len)
{
	if (!(library->contexts & SYSCRIPT_IN_ATOMIC)) {
		scnprintf(error, len, "%.64s sleeps, and programs for subsystems must not", symbol);
		return false;
	}
	if (library->capability == SYSCRIPT_NO_CAPABILITY || capable(library->capability))
		return true;
	scnprintf(error, len, "%.64s needs capability %d over the machine", symbol,
		  library->capability);
	return false;
}

/* The library with @symbol, its module held; or NULL. */
static const struct syscript_library *get_library(const char *symbol)
{
	const struct syscript_library *library = NULL;
	struct offer *offer;

	rcu_read_lock();
	list_for_each_entry_rcu(offer, &libraries, node)
		if (subsys_find_function(offer->what, symbol)) {
			if (try_module_get(offer->owner))
				library = offer->what;
			break;
		}
	rcu_read_unlock();
	return library;
}

hook_function *subsys_function(const char *symbol, struct module **owner, char *error,
			       size_t len)
{
	const struct syscript_library *library = get_library(symbol);

	if (!library)
		return NULL;
	*owner = library->owner;
	if (subsys_may_have(library, symbol, error, len))
		return subsys_find_function(library, symbol)->fn;
	module_put(library->owner);
	*owner = NULL;
	return NULL;
}
