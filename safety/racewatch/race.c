// SPDX-License-Identifier: GPL-2.0
/* Reports of data races. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "race.h"
#include "report.h"
#include "words.h"

enum kind {
	KIND_SEEN,		/* both accesses are instrumented */
	KIND_CHANGED,		/* one is, or the other was checked before the wait */
};

static_assert(KIND_CHANGED < REPORT_KINDS);

void race_describe(struct other *other, const struct access *access)
{
	unsigned int i = 0;

	other->access = *access;
	other->context = context();
	other->pid = task_pid_nr(current);
	other->cpu = raw_smp_processor_id();
	memcpy(other->comm, current->comm, sizeof(other->comm));
	other->comm[sizeof(other->comm) - 1] = '\0';
	other->depth = stack_trace_save(other->stack, RACE_STACK, 0);
	while (i < other->depth && other->stack[i] != access->ip)
		i++;
	other->depth -= min(i + 1, other->depth);
	memmove(other->stack, other->stack + i + 1, other->depth * sizeof(*other->stack));
}

/* Identifies two places, whichever of them waited. */
static unsigned long places_key(unsigned long one, unsigned long other)
{
	return min(one, other) + 31 * max(one, other);
}

static const char *what(const struct access *access)
{
	if (access->marked)
		return access->write ? "marked write" : "marked read";
	return access->write ? "write" : "read";
}

static void tell_other(int number, const struct other *other)
{
	pr_err("[%d] and at %pS, in %s, process %d (%*pE), CPU %d\n", number,
	       (void *)other->access.ip, other->context, other->pid, (int)strlen(other->comm),
	       other->comm, other->cpu);
	report_stack(number, other->stack, other->depth);
}

void race_report(struct client *client, const struct access *access, const struct other *other,
		 u64 before, u64 after)
{
	enum kind kind = other ? KIND_SEEN : KIND_CHANGED;
	unsigned long key = places_key(access->ip, other ? other->access.ip : 0);
	int number;

	if (!report_wanted(&client->entry, READ_ONCE(client->settings.every),
			   report_before(key, kind), kind))
		return;
	number = report_number();
	if (other)
		pr_err("violation: data race: %s of %u byte%s and %s of %u byte%s [%d]\n",
		       what(access), access->whole, plural(access->whole), what(&other->access),
		       other->access.whole, plural(other->access.whole), number);
	else
		pr_err("violation: data race: %s of %u byte%s and a change that no check saw [%d]\n",
		       what(access), access->whole, plural(access->whole), number);
	report_where(number, NULL, access->ip);
	report_stack_here(number, access->ip);
	if (other)
		tell_other(number, other);
	if (before != after)
		pr_err("[%d] its value changed from %#llx to %#llx\n", number, before, after);
}
