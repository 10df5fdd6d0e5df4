// SPDX-License-Identifier: GPL-2.0
/* Accesses beyond variables, locals and strings; uninitialised memory; wild pointers. */
#include <linux/err.h>
#include <linux/percpu.h>

#include "plants.h"

/* The three bytes after it are unused. */
static u8 bytes[13] __aligned(16) = { 1 };
static u32 words[12] __aligned(64) = { 1 };
static const u8 constants[13] __aligned(16) = { 1, 2 };
static u8 matrix[3][5] __aligned(16);
static struct table tables[2];
static DEFINE_PER_CPU_ALIGNED(u8, percpu_bytes[13]);

/* -- globals --------------------------------------------------------------------- */

void global_read(void)
{
	sink = READ_ONCE(bytes[12 + off]);
}

void global_write(void)
{
	WRITE_ONCE(bytes[12 + off], 0);
}

void global_under(void)
{
	sink = READ_ONCE(words[-off]);
}

void global_loop(void)
{
	for (long i = 0; i < 12 + off; i++)
		sink += READ_ONCE(words[i]);
}

void global_constant(void)
{
	sink = READ_ONCE(constants[12 + off]);
}

void global_matrix(void)
{
	sink = READ_ONCE(matrix[2][4 + off]);
}

void global_member(void)
{
	sink = READ_ONCE(tables[0].name[19 + off]);
}

void global_element(void)
{
	sink = READ_ONCE(tables[1 + off].count);
}

void global_passed(void)
{
	sink = other_read(bytes + 12 + off);
}

void global_extern(void)
{
	sink = READ_ONCE(other_table[12 + off]);
}

void global_constant_address(void)
{
	sink = other_read(&bytes[14]);
}

void global_set(void)
{
	size_t length = 13 + off;

	OPTIMIZER_HIDE_VAR(length);
	memset(bytes, 0, length);
}

void global_string(void)
{
	static const char *const names[] = { "eleven char", "two" };
	long i = off;

	OPTIMIZER_HIDE_VAR(i);
	sink = other_read((const u8 *)names[i] + 3 + off);
}

void global_percpu(void)
{
	sink = READ_ONCE(per_cpu(percpu_bytes, 0)[12 + off]);
}

/* -- locals ---------------------------------------------------------------------- */

#define LOCAL(name, statement)						\
	void name(void)							\
	{								\
		u8 local[13] __aligned(16) = {};			\
									\
		other_use(local);					\
		statement;						\
		other_use(local);					\
	}

LOCAL(stack_read, sink = READ_ONCE(local[12 + off]))
LOCAL(stack_write, WRITE_ONCE(local[12 + off], 1))
LOCAL(stack_under, sink = READ_ONCE(local[-off]))
LOCAL(stack_passed, sink = other_read(local + 12 + off))
LOCAL(stack_loop, for (long i = 0; i < 13 + off; i++) WRITE_ONCE(local[i], i))
LOCAL(stack_set, size_t length = 13 + off; OPTIMIZER_HIDE_VAR(length); memset(local, 0, length))
LOCAL(stack_copied, size_t length = 13 + off; OPTIMIZER_HIDE_VAR(length);
      memcpy(local, words, length))

void stack_member(void)
{
	struct table table = {};

	other_use(&table);
	sink = READ_ONCE(table.name[19 + off]);
}

void stack_scalar(void)
{
	u64 local = 1;

	other_use(&local);
	sink = other_read((u8 *)(&local + off));
}

static noinline u8 *address_of_local(void)
{
	u8 local[13] = { 1 }, *p = local;

	other_use(local);
	OPTIMIZER_HIDE_VAR(p);
	return p;
}

void stack_returned(void)
{
	sink = READ_ONCE(*address_of_local());
}

void stack_scope(void)
{
	u8 *p;

	{
		u8 local[13] = { 1 };

		other_use(local);
		p = local;
	}
	OPTIMIZER_HIDE_VAR(p);
	sink = READ_ONCE(*p);
}

/* -- never written --------------------------------------------------------------- */

void uninit_heap(void)
{
	struct record *record = kmalloc(sizeof(*record), GFP_KERNEL);

	if (!record)
		return;
	record->key = 1;
	if (record->flags)
		sink = 1;
	kfree(record);
}

void uninit_local(void)
{
	struct record record;

	record.key = 1;
	if (record.flags)
		sink = 1;
}

void uninit_branch(void)
{
	u32 value;

	if (!off)
		value = 1;
	sink = value;
}

/* The padding between the members has kernel data. */
void uninit_padding(void)
{
	struct record *record = kmalloc(sizeof(*record), GFP_KERNEL);

	if (!record)
		return;
	record->key = 1;
	record->flags = 2;
	record->tail = 3;
	if (copy_to_user(user, record, sizeof(*record)))
		sink = 1;
	kfree(record);
}

/* -- nowhere --------------------------------------------------------------------- */

void wild_null(void)
{
	struct record *record = off ? NULL : kzalloc(sizeof(*record), GFP_KERNEL);

	sink = READ_ONCE(record->flags);
	kfree(record);
}

void wild_error(void)
{
	struct record *record = off ? ERR_PTR(-ENOMEM) : kzalloc(sizeof(*record), GFP_KERNEL);

	sink = READ_ONCE(record->flags);
	kfree(record);
}

void wild_user(void)
{
	sink = READ_ONCE(*(__force u8 *)user);
}
