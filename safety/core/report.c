// SPDX-License-Identifier: GPL-2.0
/* Reports in the kernel's log. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "kill.h"
#include "report.h"
#include "words.h"

#define PLACES_BITS	9
#define PLACES_PROBES	8

/* -- whether there is one ------------------------------------------------------------- */

bool report_wanted(struct entry *entry, bool every, u32 *before, unsigned int kind)
{
	static struct ratelimit_state limits[REPORT_KINDS] = {
		[0 ... REPORT_KINDS - 1] =
			RATELIMIT_STATE_INIT_FLAGS(limits, 10 * HZ, 20, RATELIMIT_MSG_ON_RELEASE),
	};

	atomic_long_inc(&entry->violations);
	if (every)
		return true;
	/* A violation suppressed by the rate limit is reported when it happens again. */
	if ((before && READ_ONCE(*before)) || !__ratelimit(&limits[kind]))
		return false;
	return !before || !xchg(before, 1);
}

/* A hash set of (place, kind). */
static struct {
	unsigned long key;
	u32 before;
} places[1 << PLACES_BITS];

u32 *report_before(unsigned long ip, unsigned int kind)
{
	unsigned long key = ip * REPORT_KINDS + kind + 1;
	unsigned int i, start = hash_long(key, PLACES_BITS);

	for (i = 0; i < PLACES_PROBES; i++) {
		unsigned int at = (start + i) % ARRAY_SIZE(places);
		unsigned long was = cmpxchg(&places[at].key, 0, key);

		if (!was || was == key)
			return &places[at].before;
	}
	return NULL;
}

void report_forget(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		WRITE_ONCE(places[i].before, 0);
		WRITE_ONCE(places[i].key, 0);
	}
}

/* -- its lines ------------------------------------------------------------------------ */

int report_number(void)
{
	static atomic_t last;

	return atomic_inc_return(&last);
}

void report_where(int number, const char *place, unsigned long ip)
{
	char symbol[80] = "";

	if (ip)
		scnprintf(symbol, sizeof(symbol), "%pS, ", (void *)ip);
	/* The process chooses its own name: escape it so that it cannot forge a report line. */
	pr_err("[%d] %s%s%s%sin %s, process %d (%*pE), CPU %d\n", number,
	       place || ip ? "at " : "", place ?: "", place ? ", " : "", symbol, context(),
	       task_pid_nr(current), (int)strlen(current->comm), current->comm,
	       raw_smp_processor_id());
}

void report_stack(int number, const unsigned long *entries, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!within_module(entries[i], THIS_MODULE))
			pr_err("[%d]   %pB\n", number, (void *)entries[i]);
}

unsigned int report_stack_save(unsigned long entries[REPORT_STACK], unsigned long ip,
			       unsigned int *from)
{
	unsigned int i = 0, n = stack_trace_save(entries, REPORT_STACK, 1);

	while (i < n && entries[i] != ip)
		i++;
	*from = i < n ? i + 1 : 0;
	return n;
}

void report_stack_here(int number, unsigned long ip)
{
	unsigned long entries[REPORT_STACK];
	unsigned int from, n = report_stack_save(entries, ip, &from);

	report_stack(number, entries + from, n - from);
}

/* -- what follows --------------------------------------------------------------------- */

bool report_kill(void)
{
	return kill_current();
}

void report_init(void)
{
	kill_init();
}

void report_exit(void)
{
	kill_exit();
}
