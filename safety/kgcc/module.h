/* SPDX-License-Identifier: GPL-2.0 */
/* Instrumented modules by name, with the settings of each. */
#ifndef KGCC_MODULE_H
#define KGCC_MODULE_H

#include "kgcc.h"
#include "registry.h"

struct seq_file;

/* The action after a violation was reported. */
enum kgcc_action { KGCC_LOG, KGCC_KILL, KGCC_CRASH };

enum kgcc_count { KGCC_COUNT_OFF, KGCC_COUNT_ON, KGCC_COUNT_TIME };

/* A command for all sites of a module. */
enum kgcc_state { KGCC_AS_THEY_ARE, KGCC_ALL_OFF, KGCC_ALL_ON };

struct kgcc_settings {
	enum kgcc_action action;
	unsigned int after;		/* clean executions before switch-off, 0: never */
	unsigned int every;		/* report each violation, not just a site's first */
	enum kgcc_count count;		/* count hits, even if no site is to be switched off */
	enum kgcc_state state;		/* a command, not a setting */
};

struct kgcc_module {
	struct entry entry;
	struct kgcc_settings settings;
	struct kgcc_site **sites;
	unsigned int n;
};

/* Its settings apply to new modules. */
extern struct kgcc_module kgcc_module_default;

int kgcc_module_init(void);
void kgcc_module_exit(void);

/* The module that an address lies in. Call it under RCU, in any context. */
struct kgcc_module *kgcc_module_of(unsigned long address);

/* All modules and their settings. */
extern struct registry kgcc_registry;

void kgcc_module_show_sites(struct seq_file *m);
void kgcc_module_show_totals(struct seq_file *m);

#endif
