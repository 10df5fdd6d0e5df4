// SPDX-License-Identifier: GPL-2.0
/* Places, by number. */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "monitor.h"
#include "source_loc.h"

/* struct evmon_packed has 16 bits for a place's number. */
#define PLACES	16384U

static struct place *places;
static atomic_t last_place;

/* PLACES limits these, too: a reloaded module gets new numbers. */
u32 place_add_of(struct evmon_site *site, const char *module)
{
	struct place *place;
	u32 id;

	if (atomic_read(&last_place) >= PLACES - 1)
		return 0;
	/* Two CPUs may both describe a site: the second number stays unused. */
	id = atomic_inc_return(&last_place);
	if (id >= PLACES)
		return 0;
	place = &places[id];
	place->line = site->line;
	place->type = site->type;
	strscpy(place->module, module, sizeof(place->module));
	strscpy(place->file, kbasename(site->file), sizeof(place->file));
	strscpy(place->name, site->name ?: "", sizeof(place->name));
	return cmpxchg_release(&site->id, 0, id) ?: id;
}

u32 place_add(struct evmon_site *site)
{
	return place_add_of(site, site->module ? site->module->name : "");
}

const struct place *evmon_place(u32 number)
{
	return number ? &places[number] : NULL;
}
EXPORT_SYMBOL_GPL(evmon_place);

/* The caller of a probed function is known by its address only. */
void place_text(char *text, size_t size, const struct evmon_where *where)
{
	const struct place *place = evmon_place(where->place);

	if (place && place->line)
		scnprintf(text, size, "%s:%u", place->file, place->line);
	else if (place)
		strscpy(text, place->file, size);
	else if (where->ip)
		scnprintf(text, size, "%pS", (void *)where->ip);
	else
		*text = '\0';
	/* The monitor's own check at the end of a system call is not a place in the code. */
	if (!place && strstr(text, " [evmon"))
		*text = '\0';
}
EXPORT_SYMBOL_GPL(place_text);

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
