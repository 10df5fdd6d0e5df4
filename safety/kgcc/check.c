// SPDX-License-Identifier: GPL-2.0
/* The slow path of a check: what is not in the assembly's slots. */
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "check.h"
#include "object.h"
#include "peer.h"
#include "stack.h"
#include "violation.h"

static_assert(offsetof(struct kgcc_kept, pointer) == KGCC_KEPT_POINTER);
static_assert(offsetof(struct kgcc_kept, room) == KGCC_KEPT_ROOM);
static_assert(offsetof(struct kgcc_kept, start) == KGCC_KEPT_START);
static_assert(offsetof(struct kgcc_kept, end) == KGCC_KEPT_END);
static_assert(offsetof(struct kgcc_kept, witness) == KGCC_KEPT_WITNESS);
static_assert(offsetof(struct kgcc_kept, value) == KGCC_KEPT_VALUE);
static_assert(sizeof(struct kgcc_kept) == 1 << KGCC_SLOT_SHIFT);
static_assert(offsetof(struct kgcc_site, hi) == 8 * KGCC_SITE_HI);
static_assert(offsetof(struct kgcc_site, lo) == 8 * KGCC_SITE_FLAGS);
static_assert(offsetof(struct kgcc_site, where) == 8 * KGCC_SITE_WHERE);
static_assert(offsetof(struct kgcc_site, parts) == 8 * KGCC_SITE_PARTS);
static_assert(offsetof(struct kgcc_site, hits) == 8 * KGCC_SITE_COUNT);
static_assert(offsetof(struct kgcc_site, nparts) == 8 * KGCC_SITE_NPARTS);
static_assert(offsetof(struct kgcc_site, object) == 8 * KGCC_SITE_OBJECT);
static_assert(offsetof(struct kgcc_site, unit) == 8 * KGCC_SITE_UNIT);
static_assert(sizeof(struct kgcc_variable) == 8 * KGCC_VARIABLE_WORDS);
static_assert(sizeof(struct kgcc_site) == 8 * KGCC_SITE_WORDS);
static_assert(sizeof(struct kgcc_part) == 8 * KGCC_PART_WORDS);

/* More than the allocator of per-CPU memory has. */
DEFINE_PER_CPU(struct kgcc_kept *, kgcc_kept);

static DEFINE_PER_CPU(struct kgcc_lookups, lookups);

int kgcc_check_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		per_cpu(kgcc_kept, cpu) = vzalloc_node(sizeof(struct kgcc_kept) * KGCC_SLOTS,
						       cpu_to_node(cpu));
		if (!per_cpu(kgcc_kept, cpu)) {
			kgcc_check_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void kgcc_check_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu(kgcc_kept, cpu));
}

void kgcc_check_forget(unsigned int slot)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(kgcc_kept, cpu)[slot].pointer, 0);
}

void kgcc_check_forget_all(void)
{
	for (unsigned int slot = 0; slot < KGCC_SLOTS; slot++)
		kgcc_check_forget(slot);
}

void kgcc_check_sum(struct kgcc_lookups *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct kgcc_lookups *l = per_cpu_ptr(&lookups, cpu);

		sum->slow += l->slow;
		for (int i = 0; i < KGCC_KINDS; i++)
			sum->kind[i] += l->kind[i];
	}
}

/* Bytes up to the object's end, of a pointer that may lie behind that. */
static unsigned long room_of(const struct kgcc_object *object, unsigned long pointer)
{
	return pointer < object->end ? object->end - pointer : 0;
}

/* An interrupt's own check must not find half of it. */
static __always_inline void keep(unsigned long pointer, const struct kgcc_object *object)
{
	struct kgcc_kept *kept;
	unsigned long flags;

	local_irq_save(flags);
	if (!kgcc_peer_none(pointer))
		goto out;
	kept = this_cpu_read(kgcc_kept) + kgcc_slot(pointer);
	WRITE_ONCE(kept->pointer, 0);
	barrier();
	kept->room = room_of(object, pointer);
	kept->start = object->start;
	kept->end = object->end;
	kept->witness = object->witness;
	kept->value = object->value;
	barrier();
	WRITE_ONCE(kept->pointer, pointer);
out:
	local_irq_restore(flags);
}

void kgcc_check_keep(unsigned long pointer, const struct kgcc_object *object)
{
	keep(pointer, object);
}

static void count(enum kgcc_kind kind)
{
	this_cpu_inc(lookups.slow);
	this_cpu_inc(lookups.kind[kind]);
}

static bool within(const struct kgcc_object *object, unsigned long address, unsigned long length)
{
	return address >= object->start && address <= object->end &&
	       length <= object->end - address;
}

/* Memory that is not known may be longer than it looks. */
static bool is_good(const struct kgcc_object *object, unsigned long address,
		    unsigned long length)
{
	switch (object->kind) {
	case KGCC_UNKNOWN:
		return true;
	case KGCC_NOTHING:
	case KGCC_FREED:
	case KGCC_RETURNED:
		return false;
	default:
		return within(object, address, length);
	}
}

/* One past the end of an object is where the next one starts. */
static bool is_good_before(unsigned long pointer, unsigned long address, unsigned long length)
{
	struct kgcc_object before;

	return address < pointer && kgcc_find_before(pointer, &before) &&
	       within(&before, address, length);
}

static void left(const struct kgcc_site *site, unsigned long address,
		 struct kgcc_object *object)
{
	if (object->kind == KGCC_LOCAL)
		kgcc_stack_renew(object);
	if (object->kind != KGCC_NOTHING && object->kind != KGCC_FREED &&
	    object->kind != KGCC_RETURNED)
		kgcc_peer_add(address, object, site->where);
}

/* Of a peer: back in its object is good, and arithmetic makes but another peer. */
static bool check_peer(struct kgcc_site *site, unsigned long pointer, unsigned long address,
		       unsigned long length, unsigned long ip)
{
	struct kgcc_object object;
	const char *where;

	if (!kgcc_peer_find(pointer, &object, &where))
		return false;
	if (within(&object, address, length))
		return true;
	if (site->flags & KGCC_ARITH)
		left(site, address, &object);
	else
		kgcc_violation_peer(site, pointer, address, length, &object, where, ip);
	return true;
}

unsigned long kgcc_check(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			 unsigned long length, const unsigned long *ip)
{
	struct kgcc_object object;

	/* A field's length was counted from the pointer, which may be a peer. */
	address += site->lo;
	length -= site->lo;
	/* Of nothing, memcpy() may have any pointer. */
	if (!length && !(site->flags & KGCC_ARITH))
		return 0;
	if (!kgcc_peer_none(pointer) && check_peer(site, pointer, address, length, *ip))
		return 0;
	if (site->flags & KGCC_PAGE && kgcc_in_slab(pointer))
		pointer = address;
	kgcc_find(pointer, &object);
	if (object.kind == KGCC_STACK && kgcc_stack_returned(pointer, (unsigned long)ip))
		object.kind = KGCC_RETURNED;
	count(object.kind);
	if (is_good(&object, address, length)) {
		keep(pointer, &object);
		return room_of(&object, pointer);
	}
	if (is_good_before(pointer, address, length))
		return 0;
	if (site->flags & KGCC_ARITH)
		left(site, address, &object);
	else
		kgcc_violation(site, pointer, address, length, &object, *ip);
	return 0;
}

void kgcc_check_outside(struct kgcc_site *site, unsigned long offset, unsigned long ip)
{
	kgcc_violation_variable(site, offset, ip);
}

void kgcc_check_rule(struct kgcc_site *site, unsigned long value, unsigned long ip)
{
	kgcc_violation_rule(site, value, ip);
}

EXPORT_SYMBOL_GPL(kgcc_field);
EXPORT_SYMBOL_GPL(kgcc_range);
EXPORT_SYMBOL_GPL(kgcc_length);
EXPORT_SYMBOL_GPL(kgcc_field_room);
EXPORT_SYMBOL_GPL(kgcc_range_room);
EXPORT_SYMBOL_GPL(kgcc_length_room);
EXPORT_SYMBOL_GPL(kgcc_outside);
EXPORT_SYMBOL_GPL(kgcc_rule);
EXPORT_SYMBOL_GPL(kgcc_enter);
EXPORT_SYMBOL_GPL(kgcc_leave);
