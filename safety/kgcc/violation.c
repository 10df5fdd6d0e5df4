// SPDX-License-Identifier: GPL-2.0
/* Reports of violations, and their consequences. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/rcupdate.h>

#include "module.h"
#include "report.h"
#include "violation.h"
#include "words.h"

/* Kinds with separate rate limits. */
enum kind { BOUNDS, FREED, WILD, FREE, RULE };

/* -- reports -------------------------------------------------------------------- */

static const char *verb(unsigned int flags)
{
	return flags & KGCC_WRITE ? flags & KGCC_READ ? "access" : "write" : "read";
}

static bool is_named(const struct kgcc_object *object)
{
	return object->name && *object->name;
}

static const char *noun(const struct kgcc_object *object)
{
	switch (object->kind) {
	case KGCC_HEAP:
	case KGCC_FREED:
		return "object";
	case KGCC_SLAB:
		return "object of the kernel";
	case KGCC_PAGES:
		return "block of pages";
	case KGCC_LOCAL:
		return "local variable";
	case KGCC_STACK:
	case KGCC_RETURNED:
		return "stack";
	default:
		return is_named(object) ? "variable" : "memory";
	}
}

static void report_object(int number, const struct kgcc_object *object)
{
	if (object->kind == KGCC_NOTHING || object->kind == KGCC_UNKNOWN)
		return;
	pr_err("[%d] %s%s%s at %p, %lu bytes%s%s%s%s%s\n", number, noun(object),
	       is_named(object) ? " " : "", is_named(object) ? object->name : "",
	       (void *)object->start, object->end - object->start,
	       object->allocated ? is_named(object) ? ", declared" : ", allocated" : "",
	       object->allocated ? " at " : "", object->allocated ?: "",
	       object->freed ? ", freed at " : "", object->freed ?: "");
}

/* @before: the site's counter of reports; NULL: it has none. */
static bool should_report(struct kgcc_module *m, u32 *before, enum kind kind)
{
	return report_wanted(&m->entry, READ_ONCE(m->settings.every), before, kind);
}

static void report_place(int number, const char *where, unsigned long ip)
{
	report_where(number, where, ip);
	report_stack_here(number, 0);
}

static void act(const struct kgcc_module *m)
{
	switch (READ_ONCE(m->settings.action)) {
	case KGCC_KILL:
		report_kill();
		break;
	case KGCC_CRASH:
		BUG();
	default:
		break;
	}
}

/* -- accesses ------------------------------------------------------------------- */

/* One access, in bytes from the object's start. */
struct access {
	long lo, hi;
	const char *where;
};

/* The access that failed, of those that a site checks at once. */
static struct access find_access(const struct kgcc_site *site, unsigned long address,
				 unsigned long length, const struct kgcc_object *object)
{
	long size = object->end - object->start, from = address - site->lo - object->start;

	for (u64 i = 0; i < site->nparts; i++) {
		const struct kgcc_part *part = &site->parts[i];

		if (object->kind == KGCC_FREED || from + part->lo < 0 || from + part->hi > size)
			return (struct access){ from + part->lo, from + part->hi, part->where };
	}
	from = address - object->start;
	return (struct access){ from, from + length, site->where };
}

static void report_header(int number, unsigned int flags, const struct access *access,
			const struct kgcc_object *object)
{
	long size = object->end - object->start, by;

	if (object->kind == KGCC_FREED) {
		pr_err("violation: use after free: %s of %ld byte%s at offset %ld, object of %ld byte%s [%d]\n",
		       verb(flags), access->hi - access->lo, plural(access->hi - access->lo),
		       access->lo, size, plural(size), number);
		return;
	}
	if (object->kind == KGCC_RETURNED) {
		pr_err("violation: use after return: %s of %ld byte%s, local variable of a function that returned [%d]\n",
		       verb(flags), access->hi - access->lo, plural(access->hi - access->lo),
		       number);
		return;
	}
	by = access->hi > size ? access->hi - size : -access->lo;
	pr_err("violation: %s by %ld byte%s: %s of %ld byte%s at offset %ld, %s%s%s of %ld byte%s [%d]\n",
	       access->hi > size ? "overrun" : "underrun", by, plural(by), verb(flags),
	       access->hi - access->lo, plural(access->hi - access->lo), access->lo,
	       noun(object), is_named(object) ? " " : "", is_named(object) ? object->name : "",
	       size, plural(size), number);
}

static enum kind kind_of(const struct kgcc_object *object)
{
	switch (object->kind) {
	case KGCC_FREED:
		return FREED;
	case KGCC_NOTHING:
		return WILD;
	default:
		return BOUNDS;
	}
}

/* The module, and the site's counter of reports; NULL: report in any case. */
static void report_access(struct kgcc_module *m, u32 *before, unsigned int flags,
			  unsigned long address, const struct access *access,
			  const struct kgcc_object *object, unsigned long ip)
{
	long length = access->hi - access->lo;
	int number;

	if (should_report(m, before, kind_of(object))) {
		number = report_number();
		if (object->kind == KGCC_NOTHING)
			pr_err("violation: wild access: %s of %ld byte%s at %s [%d]\n",
			       verb(flags), length, plural(length),
			       address < PAGE_SIZE ? "the null pointer" : "no kernel memory",
			       number);
		else
			report_header(number, flags, access, object);
		report_place(number, access->where, ip);
		report_object(number, object);
	}
	act(m);
}

void kgcc_violation(struct kgcc_site *site, unsigned long pointer, unsigned long address,
		    unsigned long length, const struct kgcc_object *object, unsigned long ip)
{
	struct access access = find_access(site, address, length, object);

	if (object->kind == KGCC_NOTHING)
		access.hi = access.lo + length;
	rcu_read_lock();
	report_access(kgcc_module_of((unsigned long)site), &site->errors, site->flags, address,
		      &access, object, ip);
	rcu_read_unlock();
}

void kgcc_violation_call(const char *where, unsigned int flags, unsigned long address,
			 unsigned long length, const struct kgcc_object *object,
			 unsigned long ip)
{
	long lo = address - object->start;
	struct access access = { lo, lo + length, where };

	rcu_read_lock();
	report_access(kgcc_module_of(ip), NULL, flags, address, &access, object, ip);
	rcu_read_unlock();
}

void kgcc_violation_peer(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			 unsigned long length, const struct kgcc_object *object,
			 const char *where, unsigned long ip)
{
	struct access access = find_access(site, address, length, object);
	struct kgcc_module *m;
	int number;

	rcu_read_lock();
	m = kgcc_module_of((unsigned long)site);
	if (should_report(m, &site->errors, kind_of(object))) {
		number = report_number();
		report_header(number, site->flags, &access, object);
		report_place(number, access.where, ip);
		pr_err("[%d] the pointer left its object at %s\n", number, where);
		report_object(number, object);
	}
	act(m);
	rcu_read_unlock();
}

/* -- what is said in one line ------------------------------------------------------ */

/* address: the instruction in the module. */
__printf(6, 7)
static void report_line(unsigned long address, u32 *before, enum kind kind, const char *where,
			unsigned long ip, const char *format, ...)
{
	struct va_format text = { .fmt = format };
	struct kgcc_module *m;
	va_list args;
	int number;

	rcu_read_lock();
	m = kgcc_module_of(address);
	if (should_report(m, before, kind)) {
		number = report_number();
		va_start(args, format);
		text.va = &args;
		pr_err("violation: %pV [%d]\n", &text, number);
		va_end(args);
		report_place(number, where, ip);
	}
	act(m);
	rcu_read_unlock();
}

void kgcc_violation_fortified(const char *where, unsigned long ip)
{
	report_line(ip, NULL, BOUNDS, where, ip,
		    "overrun: a length that FORTIFY_SOURCE refuses");
}

void kgcc_violation_variable(struct kgcc_site *site, unsigned long offset, unsigned long ip)
{
	const char *what = (long)offset < 0 ? "underrun" : "overrun";
	long bytes = site->hi - site->lo;

	if (site->flags & KGCC_MEMBER)
		report_line((unsigned long)site, &site->errors, BOUNDS, site->where, ip,
			    "%s: %s at index %ld, member %s", what, verb(site->flags),
			    (long)offset, site->object);
	else if (site->flags & KGCC_LENGTH)
		report_line((unsigned long)site, &site->errors, BOUNDS, site->where, ip,
			    "overrun: %s of %lu bytes, variable %s", verb(site->flags), offset,
			    site->object);
	else if (bytes > 0)
		report_line((unsigned long)site, &site->errors, BOUNDS, site->where, ip,
			    "%s: %s of %ld byte%s at offset %ld, variable %s", what,
			    verb(site->flags), bytes, plural(bytes), (long)offset, site->object);
	else
		report_line((unsigned long)site, &site->errors, BOUNDS, site->where, ip,
			    "%s: %s from offset %ld on, variable %s", what, verb(site->flags),
			    (long)offset, site->object);
}

void kgcc_violation_rule(struct kgcc_site *site, unsigned long value, unsigned long ip)
{
	report_line((unsigned long)site, &site->errors, RULE, site->where, ip,
		    "rule: %s does not hold: %ld", site->object, (long)value);
}

/* -- frees ---------------------------------------------------------------------- */

void kgcc_violation_free(const void *address, enum kgcc_free state,
			 const struct kgcc_object *object, const char *where,
			 unsigned long ip)
{
	struct kgcc_module *m;
	int number;

	rcu_read_lock();
	m = kgcc_module_of(ip);
	if (should_report(m, NULL, FREE)) {
		number = report_number();
		if (state == KGCC_FREE_TWICE)
			pr_err("violation: double free: object of %lu bytes [%d]\n",
			       object->end - object->start, number);
		else
			pr_err("violation: invalid free: at offset %lu, object of %lu bytes [%d]\n",
			       (unsigned long)address - object->start,
			       object->end - object->start, number);
		report_place(number, where, ip);
		report_object(number, object);
	}
	act(m);
	rcu_read_unlock();
}
