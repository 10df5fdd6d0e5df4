// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of a user-space program on request, to see which ones the compiler's checks find.
 * usage: faults NAME
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
	char name[16];
	int values[4];
	char rest[64];
};

static volatile long off = 1;
static volatile long sink;
static int table[10] = { 1 };

static void heap_overrun(void)
{
	char *p = malloc(40);

	p[39 + off] = 1;
	free(p);
}

static void heap_underrun(void)
{
	char *p = malloc(40);

	p[-off] = 1;
	free(p);
}

/* From one object into the next one, past the gap between them. */
static void heap_neighbour(void)
{
	char *p = malloc(40), *q = malloc(40);

	p[q - p + 8 * off] = 1;
	free(q);
	free(p);
}

static void heap_use_after_free(void)
{
	int *p = malloc(40);

	free(p);
	sink = p[off];
}

static void heap_free_twice(void)
{
	void *volatile p = malloc(40);

	free(p);
	free(p);
}

static void heap_strcpy(void)
{
	char *p = malloc(8);

	strcpy(p, off ? "too long a text" : "");
	sink = *p;
	free(p);
}

/* Objects of a private pool, like memcached's items. */
static void pool_overrun(void)
{
	char *pool = malloc(1000), *item = pool + 100;

	item[99 + off] = 1;
	free(pool);
}

static void global_overrun(void)
{
	table[off]++;
	sink = table[9 + off];
}

static void local_overrun(void)
{
	int local[10] = {};

	local[9 + off] = 1;
	sink = local[off];
}

static void member_overrun(void)
{
	struct record *r = calloc(1, sizeof(*r));

	r->name[15 + off] = 1;
	free(r);
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
#define FAULT(name) { #name, name }
	FAULT(heap_overrun), FAULT(heap_underrun), FAULT(heap_neighbour),
	FAULT(heap_use_after_free), FAULT(heap_free_twice), FAULT(heap_strcpy),
	FAULT(pool_overrun), FAULT(global_overrun), FAULT(local_overrun),
	FAULT(member_overrun),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		if (argc == 2 && strcmp(faults[i].name, argv[1]))
			continue;
		if (argc == 2)
			faults[i].run();
		else
			puts(faults[i].name);
	}
	return 0;
}
