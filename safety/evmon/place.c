// SPDX-License-Identifier: GPL-2.0
/* Places, by number. */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "place.h"

/* Their numbers have 16 bits in struct evmon_packed. */
#define PLACES	16384U

static struct place *places;
static atomic_t last_place;

/* As many as PLACES: a module that comes again has new places. */
u32 place_add(struct evmon_site *site)
{
	struct place *place;
	u32 id;

	if (atomic_read(&last_place) >= PLACES - 1)
		return 0;
	/* Two CPUs may both describe it: the second number is never used. */
	id = atomic_inc_return(&last_place);
	if (id >= PLACES)
		return 0;
	place = &places[id];
	place->line = site->line;
	place->type = site->type;
	strscpy(place->module, site->module ? site->module->name : "", sizeof(place->module));
	strscpy(place->file, kbasename(site->file), sizeof(place->file));
	strscpy(place->name, site->name ?: "", sizeof(place->name));
	return cmpxchg_release(&site->id, 0, id) ?: id;
}

const struct place *evmon_place(u32 number)
{
	return number ? &places[number] : NULL;
}
EXPORT_SYMBOL_GPL(evmon_place);

void place_show(struct seq_file *m)
{
	u32 i, last = min_t(u32, atomic_read(&last_place), PLACES - 1);

	seq_puts(m, "number\tmodule\tfile\tline\ttype\tname\n");
	for (i = 1; i <= last; i++)
		seq_printf(m, "%u\t%s\t%s\t%u\t%u\t%s\n", i, places[i].module,
			   places[i].file, places[i].line, places[i].type,
			   places[i].name);
}

int place_init(void)
{
	places = kvcalloc(PLACES, sizeof(*places), GFP_KERNEL);
	return places ? 0 : -ENOMEM;
}

void place_exit(void)
{
	kvfree(places);
}
