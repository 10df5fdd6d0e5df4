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

/* other.c: another file's code, to which pointers are passed and from which they come. */
u32 other_read(const u32 *p);
void other_write(u32 *p, u32 value);
u32 *other_move(u32 *p, long by);
u32 other_sum(const struct window *window);
u64 other_value(const struct item *item);
void other_fill(char *text, size_t length);
char other_byte(const char *text, size_t at);
u64 other_values(const struct list_head *head);
void other_unref(u32 *p, long last);
void other_store(struct window *window, u32 *p);

u32 other_number(unsigned long number);

/* main.c: calls read() with an object of 64 bytes; the next one starts 128 bytes after it. */
void read_neighbour(u32 (*read)(u32 *p));

/* holes.c: lists its cases, as main.c does; running is the file being written, with text. */
struct seq_file;
void holes_list(struct seq_file *m);
bool holes_run(const char *name, long bad, const char __user *text);
/* library.c: the same. */
void library_list(struct seq_file *m);
bool library_run(const char *name, long bad);
/* members.c: the same. */
void members_list(struct seq_file *m);
bool members_run(const char *name, long bad, const char __user *text);

extern u32 other_table[10];
extern const u8 other_constants[7];

#endif
