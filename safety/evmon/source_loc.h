/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places that emitted events, by number. A place's description is copied at its first event,
 * because its module may be unloaded.
 */
#ifndef EVMON_SOURCE_LOC_H
#define EVMON_SOURCE_LOC_H

#include <linux/module.h>
#include <asm/barrier.h>

#include "event.h"

struct evmon_where;
struct seq_file;

struct place {
	u32 line;
	u16 type;
	char module[32];
	char file[48];			/* the last part of its path */
	char name[48];			/* its name in the source */
};

int place_init(void);
void place_exit(void);

u32 place_add(struct evmon_site *site);
/* As place_add(), for a module known only by its name. */
u32 place_add_of(struct evmon_site *site, const char *module);

/* The number of a site, from 1; 0 if the table is full. Any context. */
static inline u32 place_number(struct evmon_site *site)
{
	u32 id = smp_load_acquire(&site->id);

	return likely(id) ? id : place_add(site);
}

/* The place of a number; NULL for 0. Exported for monitors, GPL only. */
const struct place *evmon_place(u32 number);

/* The location: file:line, a symbol, or "". Exported, GPL only. */
void place_text(char *text, size_t size, const struct evmon_where *where);

void place_show(struct seq_file *m);

#endif /* EVMON_SOURCE_LOC_H */
