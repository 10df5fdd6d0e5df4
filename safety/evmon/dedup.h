/* SPDX-License-Identifier: GPL-2.0 */
/* Counts violations by pairs of places. */
#ifndef EVMON_DEDUP_H
#define EVMON_DEDUP_H

#include <linux/types.h>

struct evmon_monitor;
struct evmon_where;
struct seen;
struct seq_file;

#define SEEN_TEXT	96

int seen_init(void);
void seen_exit(void);

/*
 * Counts a violation. Sets *@seen to its entry, or NULL if the table is full. Any context.
 *
 * Return: whether the entry is new; then the caller must call seen_describe() once.
 */
bool seen_count(const struct evmon_monitor *monitor, const struct evmon_where *here,
		const struct evmon_where *other, struct seen **seen);
void seen_describe(struct seen *seen, int number, const struct evmon_monitor *monitor,
		   const struct evmon_where *here, const struct evmon_where *other,
		   const char *text);

void seen_show(struct seq_file *m);

#endif /* EVMON_DEDUP_H */
