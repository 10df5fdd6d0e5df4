// SPDX-License-Identifier: GPL-2.0
/*
 * Ways in which a pointer could evade the checks, or a check could be wrong: through integers and
 * choices, by assembly, out of a page, past the end of a task. As in main.c, a bad case differs in
 * a number, off; a case without a report is correct both times.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "pointers.h"

static long off;
static const char __user *running_text;
static volatile u64 sink;

static u32 table[10];
static u32 scalar;

#define CASES(_) \
	_(through_max, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_integer, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_integer_passed, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_align, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_align_passed, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_number, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_union, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(through_member, "overrun by 68 bytes: read of 4 bytes at offset 128, object of 64 bytes") \
	_(constant_passed, "overrun by 16 bytes: read of 4 bytes at offset 52, variable table of 40 bytes") \
	_(constant_chosen, "overrun by 16 bytes: read of 4 bytes at offset 52, variable table of 40 bytes") \
	_(scalar_end, "overrun by 4 bytes: read of 4 bytes at offset 4, variable scalar of 4 bytes") \
	_(scalar_local, "overrun by 4 bytes: read of 4 bytes at offset 4, local variable local of 4 bytes") \
	_(builtin_load, "overrun by 4 bytes: read of 4 bytes at offset 12, object of 12 bytes") \
	_(builtin_add, "overrun by 4 bytes: access of 4 bytes at offset 12, object of 12 bytes") \
	_(builtin_sync, "overrun by 4 bytes: access of 4 bytes at offset 12, object of 12 bytes") \
	_(user_inatomic, "overrun by 1 byte: write of 13 bytes at offset 0, object of 12 bytes") \
	_(user_string, "overrun by 1 byte: write of 13 bytes at offset 0, object of 12 bytes") \
	_(bit_set, "overrun by 1 byte: access of 1 byte at offset 16, object of 16 bytes") \
	_(bit_test, "overrun by 1 byte: read of 1 byte at offset 16, object of 16 bytes") \
	_(literal_index, "overrun: read of 1 byte at offset 11, variable .string. of 11 bytes") \
	_(literal_passed, "overrun by 1 byte: read of 1 byte at offset 14, variable .string. of 14 bytes") \
	_(literal_table, "overrun by 1 byte: read of 1 byte at offset 8, variable .string. of 8 bytes") \
	_(free_small, "use after free: read of 4 bytes at offset 0, object of 16 bytes") \
	_(free_tiny, "use after free: read of 1 byte at offset 0, object of 8 bytes") \
	_(free_elsewhere, "use after free: read of 4 bytes at offset 0, object of 40 bytes") \
	_(page_list, "overrun by 1 byte: read of 1 byte at offset 64, object of 64 bytes") \
	_(page_added, "overrun by 1 byte: read of 1 byte at offset 64, object of 64 bytes") \
	_(percpu_index, "overrun by 4 bytes: read of 4 bytes at offset 40, memory of 40 bytes") \
	_(percpu_this, "overrun by 4 bytes: read of 4 bytes at offset 40, memory of 40 bytes") \
	_(stack_returned, "use after return: read of 4 bytes, local variable of a function that returned") \
	_(ends_task, "overrun by 4 bytes: read of 4 bytes at offset 4, object of 4 bytes")

/* -- pointers made by something else than arithmetic --------------------------------- */

static noinline u32 read_max(u32 *p)
{
	u32 *a = p + 15 + 17 * off, *b = p + 14;

	return other_read(a > b ? a : b);
}

static noinline void through_max(void)
{
	read_neighbour(read_max);
}

static noinline u32 read_integer(u32 *p)
{
	return READ_ONCE(*(u32 *)((unsigned long)p + 60 + 68 * off));
}

static noinline void through_integer(void)
{
	read_neighbour(read_integer);
}

static noinline u32 read_integer_passed(u32 *p)
{
	return other_read((u32 *)((unsigned long)p + 60 + 68 * off));
}

static noinline void through_integer_passed(void)
{
	read_neighbour(read_integer_passed);
}

static noinline u32 read_align(u32 *p)
{
	return READ_ONCE(*PTR_ALIGN((u32 *)((u8 *)p + 1 + 96 * off), 32));
}

static noinline void through_align(void)
{
	read_neighbour(read_align);
}

static noinline u32 read_align_passed(u32 *p)
{
	return other_read(PTR_ALIGN((u32 *)((u8 *)p + 1 + 96 * off), 32));
}

static noinline void through_align_passed(void)
{
	read_neighbour(read_align_passed);
}

static noinline u32 read_number(u32 *p)
{
	return other_number((unsigned long)(p + 15 + 17 * off));
}

static noinline void through_number(void)
{
	read_neighbour(read_number);
}

static noinline u32 read_union(u32 *p)
{
	union {
		u32 *pointer;
		unsigned long number;
	} both = { .pointer = p };

	both.number += 60 + 68 * off;
	return other_read(both.pointer);
}

static noinline void through_union(void)
{
	read_neighbour(read_union);
}

/* The type claims more bytes than the object has. */
struct larger {
	u32 first[32];
	u32 last;
};

static noinline u32 read_member(u32 *p)
{
	struct larger *larger = (struct larger *)p;

	return other_read(off ? &larger->last : &larger->first[15]);
}

static noinline void through_member(void)
{
	read_neighbour(read_member);
}

static noinline void constant_passed(void)
{
	if (off)
		sink = other_read(&table[13]);
	else
		sink = other_read(&table[9]);
}

static noinline void constant_chosen(void)
{
	const u32 *p = off ? &table[13] : &table[9];

	barrier();
	sink = other_read(p);
}

static noinline void scalar_end(void)
{
	sink = other_read(&scalar + off);
}

static noinline void scalar_local(void)
{
	u32 local = 0;

	sink = other_read(&local + off);
}

/* -- accesses by builtins and assembly ------------------------------------------------- */

#define HEAP_ACCESS(name, type, count, statement)			\
	static noinline void name(void)					\
	{								\
		type *p = kzalloc(sizeof(type) * (count), GFP_KERNEL);	\
		statement;						\
		kfree(p);						\
	}

HEAP_ACCESS(builtin_load, u32, 3, sink = __atomic_load_n(&p[2 + off], __ATOMIC_RELAXED))
HEAP_ACCESS(builtin_add, u32, 3, __atomic_fetch_add(&p[2 + off], 1, __ATOMIC_RELAXED))
HEAP_ACCESS(builtin_sync, u32, 3, __sync_fetch_and_add(&p[2 + off], 1))
HEAP_ACCESS(bit_set, unsigned long, 2, set_bit(100 + 28 * off, p))
HEAP_ACCESS(bit_test, unsigned long, 2, sink = test_bit(100 + 28 * off, p))
HEAP_ACCESS(user_inatomic, u8, 12,
	    pagefault_disable();
	    sink = __copy_from_user_inatomic(p, running_text, 12 + off);
	    pagefault_enable())

/* Longer than the buffer: its name is in it. */
HEAP_ACCESS(user_string, u8, 12, sink = strncpy_from_user(p, running_text, 12 + off))

/* -- strings of the source --------------------------------------------------------------- */

static noinline void literal_index(void)
{
	sink = READ_ONCE("0123456789"[9 + 2 * off]);
}

static noinline void literal_passed(void)
{
	sink = other_byte("0123456789abc", 13 + off);
}

static noinline void literal_table(void)
{
	static const char *const names[] = { "letters", "number" };
	long i = off - off;

	OPTIMIZER_HIDE_VAR(i);
	sink = other_byte(names[i], 7 + off);
}

/* -- what is freed ------------------------------------------------------------------------ */

static noinline void free_small(void)
{
	u32 *p = kzalloc(16, GFP_KERNEL);

	if (off)
		kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
	if (!off)
		kfree(p);
}

static struct kmem_cache *tiny;

static noinline void free_tiny(void)
{
	u8 *p;

	tiny = kmem_cache_create("pointers_tiny", 8, 1, 0, NULL);
	p = kmem_cache_zalloc(tiny, GFP_KERNEL);
	if (off)
		kmem_cache_free(tiny, p);
	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
	if (!off)
		kmem_cache_free(tiny, p);
	kmem_cache_destroy(tiny);
}

static void free_here(void *p)
{
	kfree(p);
}

/* Freed by another CPU, if there is one, while this CPU uses it. */
static noinline void free_elsewhere(void)
{
	u32 *p = kzalloc(40, GFP_KERNEL);
	unsigned int cpu = get_cpu(), other = cpumask_any_but(cpu_online_mask, cpu);

	sink = READ_ONCE(*p);
	if (off)
		smp_call_function_single(other < nr_cpu_ids ? other : cpu, free_here, p, 1);
	sink = READ_ONCE(*p);
	put_cpu();
	if (!off)
		kfree(p);
}

/* -- objects found by their pages ------------------------------------------------------------ */

/* Not the first object of its page. */
static u8 *later_object(u8 **first)
{
	u8 *p = kzalloc(64, GFP_KERNEL);

	*first = NULL;
	if (offset_in_page(p))
		return p;
	*first = p;
	return kzalloc(64, GFP_KERNEL);
}

static noinline void page_list(void)
{
	u8 *first, *p = later_object(&first), *found;
	struct scatterlist list;

	sg_init_one(&list, p, 64);
	found = sg_virt(&list);
	sink = READ_ONCE(found[63 + off]);
	kfree(p);
	kfree(first);
}

static noinline void page_added(void)
{
	u8 *first, *p = later_object(&first), *page = page_address(virt_to_page(p));

	sink = READ_ONCE(page[offset_in_page(p) + 63 + off]);
	kfree(p);
	kfree(first);
}

/* -- memory that is no heap ------------------------------------------------------------------- */

static noinline void percpu_index(void)
{
	u32 __percpu *p = __alloc_percpu(40, 8);

	sink = READ_ONCE(per_cpu_ptr(p, 0)[9 + off]);
	free_percpu(p);
}

static noinline void percpu_this(void)
{
	u32 __percpu *p = __alloc_percpu(40, 8);

	sink = READ_ONCE(get_cpu_ptr(p)[9 + off]);
	put_cpu_ptr(p);
	free_percpu(p);
}

static noinline u32 *address_of_local(void)
{
	u32 local[4] = { off }, *p = local;

	sink = other_read(p);
	OPTIMIZER_HIDE_VAR(p);
	return p;
}

static noinline void stack_returned(void)
{
	u32 *p = address_of_local(), good = 1;

	if (!off)
		p = &good;
	sink = READ_ONCE(*p);
}

/* -- tasks that end in the middle of a function ------------------------------------------------ */

static struct {
	u32 *p;
	struct completion done;
} ending;

/* Checking both words would be wrong, since the task reads only one. */
static int read_and_end(void *unused)
{
	u32 *p = ending.p;

	sink = READ_ONCE(p[0]);
	if (!off)
		kthread_complete_and_exit(&ending.done, 0);
	sink = READ_ONCE(p[1]);
	complete(&ending.done);
	return 0;
}

static noinline void ends_task(void)
{
	ending.p = kzalloc(4, GFP_KERNEL);
	init_completion(&ending.done);
	if (!IS_ERR(kthread_run(read_and_end, NULL, "pointers")))
		wait_for_completion(&ending.done);
	kfree(ending.p);
}

/* -- to be run ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
	const char *report;
} cases[] = {
#define CASE(name, report) { #name, name, report },
	CASES(CASE)
};

void holes_list(struct seq_file *m)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		seq_printf(m, "%s\t%s\n", cases[i].name, cases[i].report ?: "");
}

bool holes_run(const char *name, long bad, const char __user *text)
{
	static DEFINE_MUTEX(one);

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i].name, name))
			continue;
		mutex_lock(&one);
		off = bad;
		running_text = text;
		cases[i].run();
		mutex_unlock(&one);
		return true;
	}
	return false;
}
