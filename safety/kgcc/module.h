/* SPDX-License-Identifier: GPL-2.0 */
/* Instrumented modules, by name, and what is set for each. */
#ifndef KGCC_MODULE_H
#define KGCC_MODULE_H

#include "kgcc.h"
#include "registry.h"

struct seq_file;

/* What follows a violation, once it is reported. */
enum kgcc_action { KGCC_LOG, KGCC_KILL, KGCC_CRASH };

enum kgcc_count { KGCC_COUNT_OFF, KGCC_COUNT_ON, KGCC_COUNT_TIME };

/* Of all sites of a module at once. */
enum kgcc_state { KGCC_AS_THEY_ARE, KGCC_ALL_OFF, KGCC_ALL_ON };

struct kgcc_settings {
	enum kgcc_action action;
	unsigned int after;		/* clean executions until a site is off, 0: never */
	unsigned int every;		/* violation is reported, not just a site's first */
	enum kgcc_count count;		/* hits, even if nothing is to be switched off */
	enum kgcc_state state;		/* to be done, not kept */
};

struct kgcc_module {
	struct entry entry;
	struct kgcc_settings settings;
	struct kgcc_site **sites;
	unsigned int n;
};

/* Whose settings count for new modules. */
extern struct kgcc_module kgcc_module_default;

int kgcc_module_init(void);
void kgcc_module_exit(void);

/* The module that an address lies in.  Under RCU, in any context. */
struct kgcc_module *kgcc_module_of(unsigned long address);

/* All that there are, and what is set for them. */
extern struct registry kgcc_registry;

void kgcc_module_show_sites(struct seq_file *m);
void kgcc_module_show_totals(struct seq_file *m);

#endif
