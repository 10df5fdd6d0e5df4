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

/* Newer kernels removed strncpy(); older modules may still use it. */
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
	_(library_strspn, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strcspn, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strpbrk, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strchrnul, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_skip, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strim, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strreplace, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_argv_split, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_streq, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_match, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_sysfs_match, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kasprintf, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_printed, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kstrdup_const, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kstrtol, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kstrtoul, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kstrtoint, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_kstrtou8, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_simple_strtoul, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_memparse, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_get_option, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_get_options, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_scanned, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_memchr_inv, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_memscan, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_memweight, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strnchr, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_strnstr, "overrun by 1 byte: read of 9 bytes at offset 0, object of 8 bytes") \
	_(library_no_end, NULL) \
	_(library_scan_string, "overrun by 1 byte: write of 9 bytes at offset 0, object of 8 bytes") \
	_(library_scan_number, "overrun by 4 bytes: write of 4 bytes at offset 8, object of 8 bytes")

/* 8 bytes in a slot of 24, so that small errors hit nothing. */
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

static const char *const words[] = { "x", "8letters" };

CASE_OF(library_strspn, source, sink = strspn(p, "78letrs"))
CASE_OF(library_strcspn, source, sink = strcspn(p, "?!"))
CASE_OF(library_strpbrk, source, sink = (unsigned long)strpbrk(p, "?!"))
CASE_OF(library_strchrnul, source, sink = (unsigned long)strchrnul(p, '?'))
CASE_OF(library_skip, source, char *q = p;
	memset(p, ' ', strlen(source)); sink = (unsigned long)skip_spaces(q))
CASE_OF(library_strim, source, sink = (unsigned long)strim(p))
CASE_OF(library_strreplace, source, strreplace(p, 't', 'T'))
CASE_OF(library_argv_split, source, char **parts = argv_split(GFP_KERNEL, p, NULL);
	argv_free(parts))
CASE_OF(library_streq, source, sink = sysfs_streq(p, off ? "8letters" : "7letter\n"))
CASE_OF(library_match, source, sink = match_string(words, 2, p))
CASE_OF(library_sysfs_match, source, sink = __sysfs_match_string(words, 2, p))
CASE_OF(library_kasprintf, source, char *copy = kasprintf(GFP_KERNEL, "%s.", p);
	OPTIMIZER_HIDE_VAR(copy); kfree(copy))
CASE_OF(library_printed, source, char line[40];
	snprintf(line, 40, "%d%5s%c", 7, p, 8); sink = line[3])
CASE_OF(library_kstrdup_const, source, kfree_const(kstrdup_const(p, GFP_KERNEL)))
CASE_OF(library_kstrtol, off ? "12345678" : "1234567", long result; sink = kstrtol(p, 10, &result))
CASE_OF(library_kstrtoul, off ? "12345678" : "1234567", unsigned long result;
	sink = kstrtoul(p, 0, &result))
CASE_OF(library_kstrtoint, off ? "12345678" : "1234567", int result;
	sink = kstrtoint(p, 10, &result))
CASE_OF(library_kstrtou8, off ? "12345678" : "1234567", u8 result; sink = kstrtou8(p, 16, &result))
CASE_OF(library_simple_strtoul, off ? "12345678" : "1234567", sink = simple_strtoul(p, NULL, 10))
CASE_OF(library_memparse, off ? "12345678" : "1234567", sink = memparse(p, NULL))
CASE_OF(library_get_option, off ? "12345678" : "1234567", char *q = p;
	int result; sink = get_option(&q, &result))
CASE_OF(library_get_options, off ? "12345678" : "1234567", int results[3];
	sink = (unsigned long)get_options(p, 3, results))
CASE_OF(library_scanned, off ? "12345678" : "1234567", int result; sink = sscanf(p, "%d", &result))
CASE_OF(library_memchr_inv, "", sink = (unsigned long)memchr_inv(p, 0, length))
CASE_OF(library_memscan, "", sink = (unsigned long)memscan(p, 1, length))
CASE_OF(library_memweight, "", sink = memweight(p, length))
CASE_OF(library_strnchr, "", memset(p, 'a', 8); sink = (unsigned long)strnchr(p, length, '?'))
CASE_OF(library_strnstr, "", memset(p, 'a', 8); sink = (unsigned long)strnstr(p, "?", length))

/* Unterminated strings whose end these functions do not reach: correct with any off. */
static noinline void library_no_end(void)
{
	char *p = kzalloc(8, GFP_KERNEL), line[20];
	unsigned int number;
	long result;

	memcpy(p, "12ab/f 8", 8);
	OPTIMIZER_HIDE_VAR(p);
	sink = strspn(p, "12") + strcspn(p, "/") + (unsigned long)strpbrk(p, "f/") +
	       (unsigned long)strchrnul(p, '/') + (unsigned long)strnchr(p, 8, '?') +
	       (unsigned long)skip_spaces(p) + kstrtol(p, 10, &result) +
	       simple_strtoul(p, NULL, 10) + sysfs_streq(p, "12x") +
	       sscanf(p, "%2u", &number) + sscanf(p, "%8c", line) +
	       match_string((const char *const []){ "13", "x" }, 2, p) +
	       (unsigned long)strnstr(p, "8", 8) + snprintf(line, 20, "%.8s%%%p", p, p);
	memcpy(p, "12345678", 8);
	sink = sscanf(p, "%8u", &number) + sscanf(p, "%4x%4x", &number, &number);
	kfree(p);
}

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
