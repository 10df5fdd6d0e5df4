/* SPDX-License-Identifier: GPL-2.0 */
/* Violations by pairs of places: how often each was seen. */
#ifndef EVMON_SEEN_H
#define EVMON_SEEN_H

#include <linux/types.h>

struct evmon_monitor;
struct evmon_where;
struct seen;
struct seq_file;

#define SEEN_TEXT	96

int seen_init(void);
void seen_exit(void);

/*
 * Counts a violation.  *@seen is its entry, NULL if there is no room for one.  Any
 * context.
 *
 * Return: whether it is new; then seen_describe() is to be called, once.
 */
bool seen_count(const struct evmon_monitor *monitor, const struct evmon_where *here,
		const struct evmon_where *other, struct seen **seen);
void seen_describe(struct seen *seen, int number, const struct evmon_monitor *monitor,
		   const struct evmon_where *here, const struct evmon_where *other,
		   const char *text);

void seen_show(struct seq_file *m);

#endif /* EVMON_SEEN_H */
