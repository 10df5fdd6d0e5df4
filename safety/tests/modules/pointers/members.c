// SPDX-License-Identifier: GPL-2.0
/*
 * Arrays that are members: indexes that leave the member but not the object. As in main.c, a bad
 * case differs in a number, off; a case without a report is correct both times.
 */
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "pointers.h"

static long off;
static const char __user *running_text;
static volatile u64 sink;

struct entry {
	u32 key;
	u16 counts[3];
};

struct record {
	u64 head;
	u8 name[16];
	u32 values[4];
	u16 rows[3][4];
	struct entry list[3];
	u8 rest[64];
};

/* Like the kernel's: the last array extends to the end of the object. */
struct flexible {
	u32 n;
	u32 values[];
};

struct old_flexible {
	u32 n;
	u32 values[1];
};

static struct record record;

#define CASES(_) \
	_(member_read, "overrun: read at index 16, member name.16. of record") \
	_(member_write, "overrun: write at index 4, member values.4. of record") \
	_(member_under, "underrun: read at index -1, member values.4. of record") \
	_(member_narrow, "underrun: read at index -1, member name.16. of record") \
	_(member_row, "overrun: read at index 4, member rows.4. of record") \
	_(member_rows, "overrun: read at index 3, member rows.3. of record") \
	_(member_element, "overrun: read at index 3, member list.3. of record") \
	_(member_within, "overrun: write at index 3, member counts.3. of entry") \
	_(member_copy, "overrun: read at index 3, member list.3. of record") \
	_(member_loop, "overrun: write at index (16|17), member name.16. of record") \
	_(member_global, "overrun: read at index 16, member name.16. of record") \
	_(member_user, "overrun: read at index 16, member name.16. of record") \
	_(member_end, NULL) \
	_(member_flexible, NULL) \
	_(member_old_flexible, NULL)

#define OF_RECORD(name, statement)					\
	static noinline void name(void)					\
	{								\
		struct record *p = kzalloc(sizeof(*p), GFP_KERNEL);	\
									\
		OPTIMIZER_HIDE_VAR(p);					\
		statement;						\
		kfree(p);						\
	}

OF_RECORD(member_read, sink = p->name[15 + off])
OF_RECORD(member_write, p->values[3 + off] = 1)
OF_RECORD(member_under, sink = READ_ONCE(p->values[-off]))
OF_RECORD(member_narrow, s8 i = -off; sink = p->name[i])
OF_RECORD(member_row, sink = p->rows[1][3 + off])
OF_RECORD(member_rows, sink = p->rows[2 + off][1])
OF_RECORD(member_element, struct entry *e = &p->list[2 + off]; sink = e->key)
OF_RECORD(member_within, struct entry *e = &p->list[1]; e->counts[2 + off] = 1)
OF_RECORD(member_copy, struct entry e = p->list[2 + off]; OPTIMIZER_HIDE_VAR(e.key); sink = e.key)

/* A bad run makes one iteration too many, whatever the compiler assumes. */
static noinline void member_loop(void)
{
	struct record *p = kzalloc(sizeof(*p), GFP_KERNEL);
	unsigned long n = 16 + 2 * off;

	OPTIMIZER_HIDE_VAR(n);
	OPTIMIZER_HIDE_VAR(p);
	for (unsigned long i = 0; i < n; i++)
		WRITE_ONCE(p->name[i], 1);
	kfree(p);
}

static noinline void member_global(void)
{
	sink = record.name[15 + off];
}

static noinline void member_user(void)
{
	struct record *p = kzalloc(sizeof(*p), GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	if (!user_access_begin(running_text, 1))
		goto free;
	sink = READ_ONCE(p->name[15 + off]);
	unsafe_put_user('m', (char __user *)running_text, close);
	user_access_end();
	goto free;
close:
	user_access_end();
	WARN_ON(1);
free:
	kfree(p);
}

/* An element that is not accessed may be one past the end, and further. */
static noinline void member_end(void)
{
	struct record *p = kzalloc(sizeof(*p), GFP_KERNEL);
	u32 *end;

	OPTIMIZER_HIDE_VAR(p);
	end = &p->values[4 + off];
	for (u32 *value = p->values; value < end - off; value++)
		sink = READ_ONCE(*value);
	kfree(p);
}

static noinline void member_flexible(void)
{
	struct flexible *p = kzalloc(struct_size(p, values, 8), GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	sink = p->values[6 + off];
	kfree(p);
}

static noinline void member_old_flexible(void)
{
	struct old_flexible *p = kzalloc(sizeof(*p) + 7 * sizeof(u32), GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	sink = p->values[6 + off];
	kfree(p);
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *report;
} cases[] = {
#define CASE(name, report) { #name, name, report },
	CASES(CASE)
};

void members_list(struct seq_file *m)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		seq_printf(m, "%s\t%s\n", cases[i].name, cases[i].report ?: "");
}

bool members_run(const char *name, long bad, const char __user *text)
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
