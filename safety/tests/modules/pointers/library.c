// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of the kernel's library, with pointers and lengths right or wrong.  As in
 * main.c, a bad case differs in a number, off.
 */
#include <linux/bitmap.h>
#include <linux/crc32.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/checksum.h>

#include "pointers.h"

/* The kernel has no strncpy() any more, modules of its past may. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
char *strncpy(char *to, const char *from, size_t size);
#endif

static long off;
static volatile u64 sink;
static int skipped;

#define CASES(_) \
	_(library_strlen, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strnlen, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strcmp, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strncmp, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strchr, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strcpy, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strncpy, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strscpy, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strcat, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_sprintf, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_snprintf, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_freed, "use after free: read of 1 byte at offset 0, object of 8 bytes") \
	_(library_random, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_crc32, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_sort, "overrun by 4 bytes: (write of 12 bytes at offset 0|read of 4 bytes at offset 8), object of 8 bytes") \
	_(library_hex, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_memset32, "overrun by 4 bytes: write of 12 bytes at offset 0, object of 8 bytes") \
	_(library_find_bit, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_set_bits, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_checksum, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kmemdup, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kstrdup, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_scan_string, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_scan_number, "overrun by 4 bytes: write of 4 bytes at offset 8, object of 8 bytes")

/* 8 bytes in a slot of 24, so that what is wrong by little meets nothing. */
#define CASE_OF(name, text, statement)					\
	static noinline void name(void)					\
	{								\
		char *p = kzalloc(8, GFP_KERNEL);			\
		const char *source = off ? "8letters" : "7letter";	\
		size_t length = 8 + off;				\
									\
		memcpy(p, text, strlen(text));				\
		OPTIMIZER_HIDE_VAR(p);					\
		OPTIMIZER_HIDE_VAR(source);				\
		OPTIMIZER_HIDE_VAR(length);				\
		sink = length + (unsigned long)source;			\
		statement;						\
		kfree(p);						\
	}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

CASE_OF(library_strlen, source, sink = strlen(p))
CASE_OF(library_strnlen, "8letters", sink = strnlen(p, length))
CASE_OF(library_strcmp, source, sink = strcmp(p, "8letters"))
CASE_OF(library_strncmp, "8letters", sink = strncmp(p, "8letters", length))
CASE_OF(library_strchr, source, sink = (unsigned long)strchr(p, '?'))
CASE_OF(library_strcpy, "", strcpy(p, source))
CASE_OF(library_strncpy, "", strncpy(p, source, length))
CASE_OF(library_strscpy, "", sink = strscpy(p, source, length))
CASE_OF(library_strcat, "7", strcat(p, source + 1))
CASE_OF(library_sprintf, "", sprintf(p, "%s", source))
CASE_OF(library_snprintf, "", snprintf(p, 20, "%s", source))
CASE_OF(library_random, "", get_random_bytes(p, length))
CASE_OF(library_crc32, "", sink = crc32_le(0, p, length))
CASE_OF(library_sort, "", sort(p, 2 + off, sizeof(int), compare, NULL))
CASE_OF(library_hex, "", char line[80];
	sink = hex_dump_to_buffer(p, length, 16, 1, line, sizeof(line), false))
CASE_OF(library_memset32, "", memset32((u32 *)p, 7, 2 + off))
CASE_OF(library_find_bit, "", sink = find_first_bit((unsigned long *)p, 64 + off))

CASE_OF(library_set_bits, "", bitmap_set((unsigned long *)p, 7, 57 + off))
CASE_OF(library_checksum, "", sink = (__force u32)csum_partial(p, length, 0))
CASE_OF(library_kmemdup, "", char *copy = kmemdup(p, length, GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(copy); kfree(copy))
CASE_OF(library_kstrdup, source, char *copy = kstrdup(p, GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(copy); kfree(copy))
CASE_OF(library_scan_string, "", sink = sscanf(source, "%s", p))
CASE_OF(library_scan_number, "", sink = sscanf("6 7 8", "%*d %d%n", (int *)p + 1 + off, &skipped))

static noinline void library_freed(void)
{
	char *p = kzalloc(8, GFP_KERNEL);

	if (off)
		kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	sink = strlen(p);
	if (!off)
		kfree(p);
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

void library_list(struct seq_file *m)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		seq_printf(m, "%s\t%s\n", cases[i].name, cases[i].report ?: "");
}

bool library_run(const char *name, long bad)
{
	static DEFINE_MUTEX(one);

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i].name, name))
			continue;
		mutex_lock(&one);
		off = bad;
		cases[i].run();
		mutex_unlock(&one);
		return true;
	}
	return false;
}
