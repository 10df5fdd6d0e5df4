/* SPDX-License-Identifier: GPL-2.0 */
#ifndef POINTERS_H
#define POINTERS_H

#include <linux/list.h>
#include <linux/types.h>

struct item {
	u32 key;
	u8 flag;
	u64 value;
	struct list_head link;
	char name[20];
};

struct window {
	u32 *start, *end;
};

/* other.c: another file's code, to which pointers go and from which they come. */
u32 other_read(const u32 *p);
void other_write(u32 *p, u32 value);
u32 *other_move(u32 *p, long by);
u32 other_sum(const struct window *window);
u64 other_value(const struct item *item);
void other_fill(char *text, size_t length);
char other_byte(const char *text, size_t at);
u64 other_values(const struct list_head *head);
void other_store(struct window *window, u32 *p);

extern u32 other_table[10];
extern const u8 other_constants[7];

#endif
