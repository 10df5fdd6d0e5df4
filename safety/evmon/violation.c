// SPDX-License-Identifier: GPL-2.0
/*
 * Reports of violations: a header line, "evmon: violation: MONITOR: ...", and lines with its
 * number, "evmon: [N] ...".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "monitor.h"
#include "source_loc.h"
#include "report.h"
#include "dedup.h"
#include "trace.h"

struct evmon_where evmon_here(struct evmon_site *site)
{
	return (struct evmon_where){
		.place = place_number(site),
		.pid = task_pid_nr(current),
		.jiffies = jiffies,
	};
}
EXPORT_SYMBOL_GPL(evmon_here);

struct evmon_where evmon_here_ip(unsigned long ip)
{
	return (struct evmon_where){
		.ip = ip,
		.pid = task_pid_nr(current),
		.jiffies = jiffies,
	};
}
EXPORT_SYMBOL_GPL(evmon_here_ip);

static bool is_of_module(unsigned long ip)
{
	return ip >= MODULES_VADDR && ip < MODULES_END;
}

/* The top of the stack is the monitor, then the kernel; the first module is the caller. */
unsigned long evmon_caller(void)
{
	unsigned long entries[24], own = 0;
	unsigned int i, n;

	n = stack_trace_save(entries, ARRAY_SIZE(entries), 1);
	while (own < n && is_of_module(entries[own]))
		own++;
	for (i = own; i < n; i++)
		if (is_of_module(entries[i]))
			return entries[i];
	return own < n ? entries[own] : 0;
}
EXPORT_SYMBOL_GPL(evmon_caller);

void evmon_violation_more(int number, const char *what, const struct evmon_where *where)
{
	unsigned long ago = jiffies_to_msecs(jiffies - where->jiffies);
	const struct place *place = evmon_place(where->place);
	bool is_named = place && *place->module;
	char at[KSYM_SYMBOL_LEN];

	place_text(at, sizeof(at), where);
	if (!number || !*at)
		return;
	pr_err("[%d] %s at %s%s%s%s, by process %d, %lu.%03lu s ago\n", number, what, at,
	       is_named ? " [" : "", is_named ? place->module : "", is_named ? "]" : "",
	       where->pid, ago / 1000, ago % 1000);
}
EXPORT_SYMBOL_GPL(evmon_violation_more);

void evmon_stack_save(struct evmon_stack *stack)
{
	stack->len = stack_trace_save(stack->entries, ARRAY_SIZE(stack->entries), 1);
	stack->pid = task_pid_nr(current);
}
EXPORT_SYMBOL_GPL(evmon_stack_save);

/* The object's name in the source, known at places in instrumented modules. */
static const char *name_of(const struct evmon_where *here, const struct evmon_where *other)
{
	const struct place *place = evmon_place(here->place);

	if (!place && other)
		place = evmon_place(other->place);
	return place ? place->name : "";
}

static int violation(struct evmon_monitor *monitor, const void *object,
		     const struct evmon_where *here, const struct evmon_stack *stack,
		     const char *there, const struct evmon_where *other,
		     const char *format, va_list args)
{
	const char *name = name_of(here, other);
	char text[SEEN_TEXT], at[24] = "";
	struct seen *seen;
	bool is_new;
	int number;

	is_new = seen_count(monitor, here, other, &seen);
	if (!is_new && !trace_evmon_violation_enabled())
		return 0;
	vscnprintf(text, sizeof(text), format, args);
	trace_evmon_violation(monitor->name, object, here->place,
			      other ? other->place : 0, text);
	if (!is_new)
		return 0;
	number = report_number();
	if (seen)
		seen_describe(seen, number, monitor, here, other, text);
	if (!__ratelimit(&monitor->limit))
		return 0;

	if (object)
		scnprintf(at, sizeof(at), " (%p)", object);
	pr_err("violation: %s: %s%s%s%s [%d]\n", monitor->name, text, *name ? ": " : "", name,
	       at, number);
	evmon_violation_more(number, "here", here);
	if (stack) {
		report_stack(number, stack->entries, stack->len);
	} else {
		report_where(number, NULL, 0);
		report_stack_here(number, 0);
	}
	if (other)
		evmon_violation_more(number, there, other);
	return number;
}

int evmon_violation(struct evmon_monitor *monitor, const void *object,
		    const struct evmon_where *here, const char *there,
		    const struct evmon_where *other, const char *format, ...)
{
	va_list args;
	int number;

	va_start(args, format);
	number = violation(monitor, object, here, NULL, there, other, format, args);
	va_end(args);
	return number;
}
EXPORT_SYMBOL_GPL(evmon_violation);

int evmon_violation_of(struct evmon_monitor *monitor, const void *object,
		       const struct evmon_where *here, const struct evmon_stack *stack,
		       const char *there, const struct evmon_where *other,
		       const char *format, ...)
{
	va_list args;
	int number;

	va_start(args, format);
	number = violation(monitor, object, here, stack, there, other, format, args);
	va_end(args);
	return number;
}
EXPORT_SYMBOL_GPL(evmon_violation_of);
