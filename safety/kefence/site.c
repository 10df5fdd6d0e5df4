// SPDX-License-Identifier: GPL-2.0
/* Places that allocate and free. */
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "client.h"
#include "site.h"

#define SITES_BITS	12
#define SITES		(1U << SITES_BITS)
/* Entries probed before a place counts as missing. */
#define SITE_PROBES	32
#define STACK_LEN	16
/* Words of the stack in which the next return address is searched. */
#define FRAME_MAX	128

#define SITE_GONE	1UL

static struct site *sites;
static struct site site_others = {
	.client = &client_default,
	.name = "(other places)",
};

/*
 * The task that sets ->ip describes the place afterwards: until then its client is the default
 * one, and its name is empty.
 */
static struct site *site_claim(struct site *site, unsigned long was, unsigned long ip)
{
	char name[KSYM_SYMBOL_LEN];

	if (cmpxchg(&site->ip, was, ip) != was)
		return READ_ONCE(site->ip) == ip ? site : NULL;
	memset(site->paths, 0, sizeof(site->paths));
	/* A return address may already belong to the next function. */
	sprint_symbol(name, ip - 1);
	strscpy(site->name, name, sizeof(site->name));
	WRITE_ONCE(site->client, client_of(ip));
	return site;
}

static struct site *site_add(unsigned long ip)
{
	unsigned int i, start = hash_long(ip, SITES_BITS);
	struct site *site;

	for (i = 0; i < SITE_PROBES; i++) {
		unsigned long was;

		site = &sites[(start + i) % SITES];
		was = READ_ONCE(site->ip);
		if (was == ip)
			return site;
		if (was > SITE_GONE)
			continue;
		site = site_claim(site, was, ip);
		if (site)
			return site;
	}
	return &site_others;
}

struct site *site_of(unsigned long ip)
{
	unsigned int i, start = hash_long(ip, SITES_BITS);

	for (i = 0; i < SITE_PROBES; i++) {
		struct site *site = &sites[(start + i) % SITES];
		unsigned long is = READ_ONCE(site->ip);

		if (likely(is == ip))
			return site;
		if (!is)
			break;
	}
	return site_add(ip);
}

/* A return address on the stack, and those of its callers. */
struct trace {
	unsigned long entries[STACK_LEN];
	unsigned int first, n;
};

/* Skips Kefence's own functions. */
static void trace_take(struct trace *trace)
{
	trace->n = stack_trace_save(trace->entries, STACK_LEN, 0);
	trace->first = 0;
	while (trace->first < trace->n &&
	       within_module(trace->entries[trace->first], THIS_MODULE))
		trace->first++;
}

static depot_stack_handle_t trace_save(struct trace *trace)
{
	return stack_depot_save(trace->entries + trace->first, trace->n - trace->first,
				GFP_NOWAIT | __GFP_NOWARN);
}

static depot_stack_handle_t stack_save(void)
{
	struct trace trace;

	trace_take(&trace);
	return trace_save(&trace);
}

/* An end up to which @word's stack surely extends: of the task's stack, otherwise of the page. */
static unsigned long *stack_end(const unsigned long *word)
{
	unsigned long addr = (unsigned long)word;

	if (object_is_on_stack(word))
		return (unsigned long *)(task_stack_page(current) + THREAD_SIZE);
	return (unsigned long *)(round_down(addr, PAGE_SIZE) + PAGE_SIZE);
}

static unsigned long *stack_find(unsigned long *word, const unsigned long *end,
				 unsigned long value)
{
	const unsigned long *last = min_t(const unsigned long *, word + FRAME_MAX, end);

	for (; word < last; word++)
		if (READ_ONCE_NOCHECK(*word) == value)
			return word;
	return NULL;
}

/*
 * A function's frame has a fixed size, so offsets found once hold again, except for the outermost
 * one: system call entry inserts a random number of bytes.
 */
static void path_learn(struct site_path *path, unsigned long *call,
		       const unsigned long *end, const struct trace *trace)
{
	unsigned int i, next = trace->first + 1;
	unsigned long *word = call;

	for (i = 0; word && i < PATH_CALLERS && next + i + 1 < trace->n; i++) {
		word = stack_find(word + 1, end, trace->entries[next + i]);
		if (!word)
			break;
		path->callers[i].offset = word - call;
		path->callers[i].ip = *word;
	}
	path->count = i;
}

static bool path_matches(const struct site_path *path, const unsigned long *call,
			 const unsigned long *end)
{
	unsigned int i, count = READ_ONCE(path->count);

	if (!READ_ONCE(path->stack))
		return false;
	if (!call)
		return !count;
	for (i = 0; i < count; i++) {
		const unsigned long *word = call + READ_ONCE(path->callers[i].offset);

		if (word >= end ||
		    (u32)READ_ONCE_NOCHECK(*word) != READ_ONCE(path->callers[i].ip))
			return false;
	}
	return true;
}

/* Writers race for an entry: a stack may then be of another path to this place. */
static noinline depot_stack_handle_t path_add(struct site *site, unsigned long *call,
					      const unsigned long *end)
{
	struct site_path *path;
	struct trace trace;

	trace_take(&trace);
	path = &site->paths[READ_ONCE(site->next_path) % SITE_PATHS];
	WRITE_ONCE(site->next_path, site->next_path + 1);
	WRITE_ONCE(path->stack, 0);
	path_learn(path, call, end, &trace);
	WRITE_ONCE(path->stack, trace_save(&trace));
	return path->stack;
}

static depot_stack_handle_t stack_of_path(struct site *site)
{
	unsigned long *sp = (unsigned long *)current_stack_pointer, *end = stack_end(sp);
	unsigned long *call = stack_find(sp, end, site->ip);
	unsigned int i;

	for (i = 0; i < SITE_PATHS; i++)
		if (path_matches(&site->paths[i], call, end))
			return READ_ONCE(site->paths[i].stack);
	return path_add(site, call, end);
}

depot_stack_handle_t site_stack(struct site *site)
{
	switch (READ_ONCE(site->client->settings.stacks)) {
	case STACKS_OFF:
		return 0;
	case STACKS_PATH:
		return stack_of_path(site);
	default:
		return stack_save();
	}
}

void site_forget(const struct client *client)
{
	unsigned int i;

	for (i = 0; i < SITES; i++) {
		if (READ_ONCE(sites[i].client) != client || sites[i].ip <= SITE_GONE)
			continue;
		atomic_long_set(&sites[i].allocs, 0);
		atomic_long_set(&sites[i].guarded, 0);
		atomic_long_set(&sites[i].frees, 0);
		atomic_long_set(&sites[i].ns, 0);
		atomic_long_set(&sites[i].timed, 0);
		WRITE_ONCE(sites[i].client, &client_default);
		WRITE_ONCE(sites[i].ip, SITE_GONE);
	}
}

static void site_show_one(struct seq_file *m, struct site *site)
{
	long timed = atomic_long_read(&site->timed);

	seq_printf(m, "%s\t%s\t%ld\t%ld\t%ld\t%ld\t%ld\t%ld\n", site->client->entry.name,
		   site->name, atomic_long_read(&site->allocs),
		   atomic_long_read(&site->guarded),
		   atomic_long_read(&site->frees), atomic_long_read(&site->live),
		   atomic_long_read(&site->pages),
		   timed ? atomic_long_read(&site->ns) / timed : 0);
}

void site_show(struct seq_file *m)
{
	unsigned int i;

	seq_puts(m, "module\tplace\tallocs\tguarded\tfrees\tlive\tpages\tns\n");
	for (i = 0; i < SITES; i++)
		if (READ_ONCE(sites[i].ip) > SITE_GONE)
			site_show_one(m, &sites[i]);
	if (atomic_long_read(&site_others.allocs) || atomic_long_read(&site_others.frees))
		site_show_one(m, &site_others);
}

int site_init(void)
{
	unsigned int i;
	int err;

	err = stack_depot_init();
	if (err)
		return err;
	sites = kvcalloc(SITES, sizeof(*sites), GFP_KERNEL);
	if (!sites)
		return -ENOMEM;
	for (i = 0; i < SITES; i++)
		sites[i].client = &client_default;
	return 0;
}

void site_exit(void)
{
	kvfree(sites);
}
