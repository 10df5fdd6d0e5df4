/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places that emitted events, by number.  What is known of a place is copied at its
 * first event, as its module may go.
 */
#ifndef EVMON_PLACE_H
#define EVMON_PLACE_H

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
	char name[48];			/* what the source calls the object */
};

int place_init(void);
void place_exit(void);

u32 place_add(struct evmon_site *site);
/* Of a module that has a name only. */
u32 place_add_of(struct evmon_site *site, const char *module);

/* The number of a site, from 1 on; 0 if there is no room for more.  Any context. */
static inline u32 place_number(struct evmon_site *site)
{
	u32 id = smp_load_acquire(&site->id);

	return likely(id) ? id : place_add(site);
}

/* NULL for 0.  Exported for monitors, GPL only. */
const struct place *evmon_place(u32 number);

/* Where it is: file:line, a symbol, or nothing.  Exported as well. */
void place_text(char *text, size_t size, const struct evmon_where *where);

void place_show(struct seq_file *m);

#endif /* EVMON_PLACE_H */
