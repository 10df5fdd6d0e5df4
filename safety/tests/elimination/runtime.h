/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the programs of generate.py and runtime.c. */
#ifndef RUNTIME_H
#define RUNTIME_H

#define NUMBERS		4
#define POINTERS	4

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;

struct environment {
	long number[NUMBERS];
	void *pointer[POINTERS];
};

struct item {
	u32 a;
	u16 b;
	u8 c[6];
	u64 d;
	u32 e[4];
};

/* Names that the plugin knows: it redirects calls to the runtime's. */
void *__kmalloc(unsigned long size, unsigned int flags);
void kfree(const void *object);

long other(long value);
void *other_pointer(void *pointer);
void task_exit(void) __attribute__((noreturn));

extern long (*const programs[])(struct environment *);
extern const unsigned int n_programs;
void reset_variables(void);

#endif
