/* SPDX-License-Identifier: GPL-2.0 */
/* Reports of violations, and their consequences. */
#ifndef KEFENCE_VIOLATION_H
#define KEFENCE_VIOLATION_H

#include <linux/types.h>

#include "client.h"
#include "pool.h"

struct cache;
struct pt_regs;
struct seq_file;
struct site;

enum violation_kind {
	VIOLATION_OVERRUN,
	VIOLATION_UNDERRUN,
	VIOLATION_USE_AFTER_FREE,
	VIOLATION_WILD,			/* in a slot that was never used */
	VIOLATION_DOUBLE_FREE,
	VIOLATION_INVALID_FREE,
	VIOLATION_WRONG_CACHE,
	VIOLATION_LEAK,
	VIOLATION_KINDS
};

/*
 * An access at @addr faulted: reports it, unless its place was reported before and the client wants
 * each place once. Returns the action to take. Any context.
 */
enum action violation_of_access(const struct slot *slot, enum violation_kind kind,
				unsigned long addr, bool write,
				const struct pt_regs *regs);

/* Report a bad free and take the client's action: the free itself is not carried out. */
void violation_of_free(struct slot *slot, unsigned long addr,
		       enum violation_kind kind, struct site *site);
void violation_of_foreign_free(unsigned long addr, struct site *site);
void violation_of_canary(struct slot *slot, unsigned long addr, struct site *site);
void violation_of_leak(struct slot *slot);
void violation_of_cache(const struct cache *cache, unsigned long ip);

void violation_show(struct seq_file *m);

#endif /* KEFENCE_VIOLATION_H */
