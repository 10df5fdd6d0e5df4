// SPDX-License-Identifier: GPL-2.0
/*
 * Telling of violations.
 *
 * A violation is a header line, "kefence: violation: KIND: ...", and lines with the
 * same number before them, "kefence: [N] ...", so that those of two CPUs can be
 * told apart.  Addresses are printed as the kernel does, as symbols or hashed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/stackdepot.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "cache.h"
#include "client.h"
#include "kill.h"
#include "site.h"
#include "violation.h"
#include "words.h"

#define STACK_LEN	32
#define TOLD_BITS	9
#define TOLD_PROBES	8

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
static atomic_t last_number;

/* -- whether it is told ------------------------------------------------------- */

/* A set of places and kinds.  When full, rate-limit. */
static unsigned long told[1 << TOLD_BITS];

static bool told_before(unsigned long ip, enum violation_kind kind)
{
	unsigned long key = (ip << 4 | kind) + 1;
	unsigned int i, start = hash_long(key, TOLD_BITS);

	for (i = 0; i < TOLD_PROBES; i++) {
		unsigned long *entry = &told[(start + i) % ARRAY_SIZE(told)];
		unsigned long was = cmpxchg(entry, 0, key);

		if (!was)
			return false;
		if (was == key)
			return true;
	}
	return false;
}

void violation_forget(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(told); i++)
		WRITE_ONCE(told[i], 0);
}

static bool is_told(struct client *client, unsigned long ip, enum violation_kind kind)
{
	/* One for each kind: a hundred leaks leave room for a fault. */
	static struct ratelimit_state ratelimits[VIOLATION_KINDS] = {
		[0 ... VIOLATION_KINDS - 1] =
			RATELIMIT_STATE_INIT_FLAGS(ratelimits, 10 * HZ, 20,
						   RATELIMIT_MSG_ON_RELEASE),
	};

	atomic_long_inc(&counts[kind]);
	atomic_long_inc(&client->violations);
	if (READ_ONCE(client->settings.every))
		return true;
	return !told_before(ip, kind) && __ratelimit(&ratelimits[kind]);
}

/* -- telling ------------------------------------------------------------------ */

static void tell_where(int number, unsigned long ip)
{
	/* The process chooses its name: escaped, it cannot pass for lines of ours. */
	pr_err("[%d] at %pS, in %s, process %d (%*pE), CPU %d\n", number, (void *)ip,
	       context(), task_pid_nr(current), (int)strlen(current->comm),
	       current->comm, raw_smp_processor_id());
}

static void tell_stack(int number, const unsigned long *entries, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		pr_err("[%d]   %pB\n", number, (void *)entries[i]);
}

/* From the caller of @ip on, which is on the stack: below are Kefence and a fault. */
static void tell_stack_here(int number, unsigned long ip)
{
	unsigned long entries[STACK_LEN];
	unsigned int i, n;

	n = stack_trace_save(entries, STACK_LEN, 1);
	for (i = 0; i < n; i++)
		if (entries[i] == ip)
			break;
	if (i < n)
		tell_stack(number, entries + i + 1, n - i - 1);
}

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
	tell_stack(number, entries, n);
}

static void tell_object(int number, const struct slot *slot)
{
	if (!slot->born.site)
		return;
	pr_err("[%d] object %p of %u byte%s%s%s, of module %s\n", number,
	       (void *)slot->object, slot->size, plural(slot->size),
	       slot->cache ? ", cache " : "", slot->cache ? slot->cache->name : "",
	       slot->client->name);
	tell_event(number, "allocated", &slot->born);
	if (READ_ONCE(slot->state) != SLOT_LIVE)
		tell_event(number, "freed", &slot->died);
}

static int next_number(void)
{
	return atomic_inc_return(&last_number);
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
		number = next_number();
		tell_access(number, slot, kind, addr, write, false);
		tell_where(number, regs->ip);
		tell_stack_here(number, regs->ip);
		tell_object(number, slot);
	}
	return READ_ONCE(client->settings.action);
}

/* -- the rest ----------------------------------------------------------------- */

/* Where nothing faulted, there is nothing to open. */
static void follow(const struct client *client)
{
	switch (READ_ONCE(client->settings.action)) {
	case ACTION_KILL:
		kill_current();
		break;
	case ACTION_CRASH:
		BUG();
	default:
		break;
	}
}

static void tell_site(int number, const struct slot *slot, struct site *site)
{
	tell_where(number, site->ip);
	tell_stack_here(number, site->ip);
	tell_object(number, slot);
}

void violation_of_free(struct slot *slot, unsigned long addr,
		       enum violation_kind kind, struct site *site)
{
	struct client *client = owner_of(slot);
	int number;

	if (is_told(client, site->ip, kind)) {
		number = next_number();
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
		number = next_number();
		pr_err("violation: %s: %pS is no allocated memory [%d]\n",
		       kinds[VIOLATION_INVALID_FREE], (void *)addr, number);
		tell_where(number, site->ip);
		tell_stack_here(number, site->ip);
	}
	follow(client);
}

void violation_of_canary(struct slot *slot, unsigned long addr, struct site *site)
{
	enum violation_kind kind = addr < slot->object ? VIOLATION_UNDERRUN :
							 VIOLATION_OVERRUN;
	struct client *client = owner_of(slot);
	int number;

	if (is_told(client, slot->born.ip, kind)) {
		number = next_number();
		tell_access(number, slot, kind, addr, true, true);
		pr_err("[%d] the write itself was not seen, as it stayed within a page: set %s for the module to see it\n",
		       number, kind == VIOLATION_OVERRUN ? "align=1" : "side=start");
		tell_site(number, slot, site);
	}
	follow(client);
}

void violation_of_leak(struct slot *slot)
{
	int number;

	if (!is_told(slot->client, slot->born.ip, VIOLATION_LEAK))
		return;
	number = next_number();
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
	number = next_number();
	pr_err("violation: leak: cache %s is destroyed with %ld object%s in it [%d]\n",
	       cache->name, live, plural(live), number);
	tell_where(number, ip);
}

/* -- for others ---------------------------------------------------------------- */

bool violation_kill(void)
{
	return kill_current();
}

void violation_show(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < VIOLATION_KINDS; i++)
		seq_printf(m, "%s\t%ld\n", kinds[i], atomic_long_read(&counts[i]));
}

void violation_init(void)
{
	kill_init();
}

void violation_exit(void)
{
	kill_exit();
}
