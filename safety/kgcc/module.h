/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instrumented modules, by name, and what is set for each.  An entry outlives its
 * module: its settings count again when the module is loaded again.
 */
#ifndef KGCC_MODULE_H
#define KGCC_MODULE_H

#include "kgcc.h"

struct seq_file;

/* What follows a violation, once it is reported. */
enum kgcc_action { KGCC_LOG, KGCC_KILL, KGCC_CRASH };

enum kgcc_count { KGCC_COUNT_OFF, KGCC_COUNT_ON, KGCC_COUNT_TIME };

struct kgcc_settings {
	enum kgcc_action action;
	unsigned int after;		/* clean executions until a site is off, 0: never */
	bool every;			/* violation is reported, not just a site's first */
	enum kgcc_count count;		/* hits, even if nothing is to be switched off */
};

struct kgcc_module {
	struct list_head node;
	struct kgcc_settings settings;
	atomic_long_t violations;
	struct module *module;		/* NULL if not loaded */
	struct kgcc_site **sites;
	unsigned int n;
	char name[MODULE_NAME_LEN];
};

/* Whose settings count for new modules. */
extern struct kgcc_module kgcc_module_default;

int kgcc_module_init(void);
void kgcc_module_exit(void);

/* The module that an address lies in.  Under RCU, in any context. */
struct kgcc_module *kgcc_module_of(unsigned long address);

/*
 * "NAME KEY=VALUE...": of modules that need not be loaded; the name * stands for all
 * there are and all to come.  -EINVAL, -ENOMEM.  state=on and state=off switch the
 * sites of those that are loaded.
 */
int kgcc_module_set(char *line);

void kgcc_module_show_settings(struct seq_file *m);
void kgcc_module_show_sites(struct seq_file *m);
void kgcc_module_show_totals(struct seq_file *m);

#endif
