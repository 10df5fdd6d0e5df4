// SPDX-License-Identifier: GPL-2.0
/* Reports of violations. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/seq_file.h>
#include <linux/stackdepot.h>
#include <linux/string.h>

#include "cache.h"
#include "client.h"
#include "report.h"
#include "site.h"
#include "violation.h"
#include "words.h"

static const char *const kinds[VIOLATION_KINDS] = {
	[VIOLATION_OVERRUN]		= "overrun",
	[VIOLATION_UNDERRUN]		= "underrun",
	[VIOLATION_USE_AFTER_FREE]	= "use after free",
	[VIOLATION_WILD]		= "wild access",
	[VIOLATION_DOUBLE_FREE]		= "double free",
	[VIOLATION_INVALID_FREE]	= "invalid free",
	[VIOLATION_WRONG_CACHE]		= "wrong cache",
	[VIOLATION_LEAK]		= "leak",
};

static atomic_long_t counts[VIOLATION_KINDS];
static_assert(VIOLATION_KINDS <= REPORT_KINDS);

static bool is_of_a_module(unsigned long ip)
{
	return ip >= MODULES_VADDR && ip < MODULES_END && !within_module(ip, THIS_MODULE);
}

/*
 * Identifies repeated violations. A kernel function has many callers: the place is the module's
 * call of it.
 */
static unsigned long culprit_of(unsigned long ip)
{
	unsigned long entries[REPORT_STACK];
	unsigned int from, n;

	if (is_of_a_module(ip))
		return ip;
	n = report_stack_save(entries, ip, &from);
	/* Skip trampolines, whose memory lies between modules. */
	for (; from && from < n; from++)
		if (is_of_a_module(entries[from]))
			return entries[from];
	return ip;
}

static bool is_told(struct client *client, unsigned long ip, enum violation_kind kind)
{
	atomic_long_inc(&counts[kind]);
	return report_wanted(&client->entry, READ_ONCE(client->settings.every),
			     report_before(culprit_of(ip), kind), kind);
}

/* -- telling ------------------------------------------------------------------ */

static void tell_event(int number, const char *what, const struct slot_event *event)
{
	unsigned long ago = jiffies_to_msecs(jiffies - event->jiffies);
	unsigned long *entries;
	unsigned int n;

	if (!event->site)
		return;
	if (event->site->ip == event->ip)
		pr_err("[%d] %s by process %d, %lu.%03lu s ago, at %s\n", number, what,
		       event->pid, ago / 1000, ago % 1000, event->site->name);
	else
		pr_err("[%d] %s by process %d, %lu.%03lu s ago, at %pS\n", number, what,
		       event->pid, ago / 1000, ago % 1000, (void *)event->ip);
	if (!event->stack)
		return;
	n = stack_depot_fetch(event->stack, &entries);
	report_stack(number, entries, n);
}

static void tell_object(int number, const struct slot *slot)
{
	if (!slot->born.site)
		return;
	pr_err("[%d] object %p of %u byte%s%s%s, of module %s\n", number,
	       (void *)slot->object, slot->size, plural(slot->size),
	       slot->cache ? ", cache " : "", slot->cache ? slot->cache->name : "",
	       slot->client->entry.name);
	tell_event(number, "allocated", &slot->born);
	if (READ_ONCE(slot->state) != SLOT_LIVE)
		tell_event(number, "freed", &slot->died);
}

/* -- accesses ----------------------------------------------------------------- */

static void tell_access(int number, const struct slot *slot, enum violation_kind kind,
			unsigned long addr, bool write, bool seen_late)
{
	const char *access = seen_late ? "write, seen when it is freed" :
			     write ? "write" : "read";
	unsigned long end = slot->object + slot->size, by;

	switch (kind) {
	case VIOLATION_OVERRUN:
		by = addr - end + 1;
		break;
	case VIOLATION_UNDERRUN:
		by = slot->object - addr;
		break;
	case VIOLATION_USE_AFTER_FREE:
		pr_err("violation: %s: %s at offset %ld, object of %u byte%s [%d]\n",
		       kinds[kind], access, (long)(addr - slot->object), slot->size,
		       plural(slot->size), number);
		return;
	default:
		pr_err("violation: %s: %s, no object was ever there [%d]\n",
		       kinds[kind], access, number);
		return;
	}
	pr_err("violation: %s by %lu byte%s: %s, object of %u byte%s [%d]\n",
	       kinds[kind], by, plural(by), access, slot->size, plural(slot->size),
	       number);
}

static struct client *owner_of(const struct slot *slot)
{
	return slot->client ?: &client_default;
}

enum action violation_of_access(const struct slot *slot, enum violation_kind kind,
				unsigned long addr, bool write,
				const struct pt_regs *regs)
{
	struct client *client = owner_of(slot);
	int number;

	if (is_told(client, regs->ip, kind)) {
		number = report_number();
		tell_access(number, slot, kind, addr, write, false);
		report_where(number, NULL, regs->ip);
		report_stack_here(number, regs->ip);
		tell_object(number, slot);
	}
	return READ_ONCE(client->settings.action);
}

/* -- the rest ----------------------------------------------------------------- */

/* There was no fault, so there is no page to open. */
static void follow(const struct client *client)
{
	switch (READ_ONCE(client->settings.action)) {
	case ACTION_KILL:
		report_kill();
		break;
	case ACTION_CRASH:
		BUG();
	default:
		break;
	}
}

static void tell_site(int number, const struct slot *slot, struct site *site)
{
	report_where(number, NULL, site->ip);
	report_stack_here(number, site->ip);
	tell_object(number, slot);
}

void violation_of_free(struct slot *slot, unsigned long addr,
		       enum violation_kind kind, struct site *site)
{
	struct client *client = owner_of(slot);
	int number;

	if (is_told(client, site->ip, kind)) {
		number = report_number();
		if (kind == VIOLATION_INVALID_FREE)
			pr_err("violation: %s: at offset %ld, object of %u byte%s [%d]\n",
			       kinds[kind], (long)(addr - slot->object), slot->size,
			       plural(slot->size), number);
		else
			pr_err("violation: %s: object of %u byte%s [%d]\n", kinds[kind],
			       slot->size, plural(slot->size), number);
		tell_site(number, slot, site);
	}
	follow(client);
}

void violation_of_foreign_free(unsigned long addr, struct site *site)
{
	struct client *client = READ_ONCE(site->client);
	int number;

	if (is_told(client, site->ip, VIOLATION_INVALID_FREE)) {
		number = report_number();
		pr_err("violation: %s: %pS is no allocated memory [%d]\n",
		       kinds[VIOLATION_INVALID_FREE], (void *)addr, number);
		report_where(number, NULL, site->ip);
		report_stack_here(number, site->ip);
	}
	follow(client);
}

/* The setting that would make such a write fault. */
static const char *setting_for(const struct slot *slot, enum violation_kind kind)
{
	if (kind == VIOLATION_UNDERRUN)
		return "side=start";
	/* At its pages' start, or at their end except for alignment. */
	return slot->object == pool_slot_end(slot) - PAGE_ALIGN(slot->size) ? "side=end" :
									      "align=1";
}

void violation_of_canary(struct slot *slot, unsigned long addr, struct site *site)
{
	enum violation_kind kind = addr < slot->object ? VIOLATION_UNDERRUN :
							 VIOLATION_OVERRUN;
	struct client *client = owner_of(slot);
	int number;

	if (is_told(client, slot->born.ip, kind)) {
		number = report_number();
		tell_access(number, slot, kind, addr, true, true);
		pr_err("[%d] the write itself was not seen, as it stayed within a page: set %s for the module to see it\n",
		       number, setting_for(slot, kind));
		tell_site(number, slot, site);
	}
	follow(client);
}

void violation_of_leak(struct slot *slot)
{
	int number;

	if (!is_told(slot->client, slot->born.ip, VIOLATION_LEAK))
		return;
	number = report_number();
	pr_err("violation: leak: the module goes, an object of %u byte%s stays [%d]\n",
	       slot->size, plural(slot->size), number);
	tell_object(number, slot);
}

void violation_of_cache(const struct cache *cache, unsigned long ip)
{
	long live;
	int number;

	live = atomic_long_read(&cache->live);
	if (!live || !is_told(cache->client, ip, VIOLATION_LEAK))
		return;
	number = report_number();
	pr_err("violation: leak: cache %s is destroyed with %ld object%s in it [%d]\n",
	       cache->name, live, plural(live), number);
	report_where(number, NULL, ip);
}

/* -- for others ---------------------------------------------------------------- */

void violation_show(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < VIOLATION_KINDS; i++)
		seq_printf(m, "%s\t%ld\n", kinds[i], atomic_long_read(&counts[i]));
}
