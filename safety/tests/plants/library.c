// SPDX-License-Identifier: GPL-2.0
/* Kernel library functions with wrong lengths or strings. */
#include <linux/bitmap.h>
#include <linux/crc32.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/skbuff.h>
#include <linux/sort.h>

#include "plants.h"

static u8 source[64] = "a source that is long enough for all of them, and ends here";
static u8 target[64];

/* An object of 13 bytes, used with a length of 13 or 14 that the compiler does not know. */
#define LIBRARY(name, statement)					\
	void name(void)							\
	{								\
		u8 *p = kzalloc(13, GFP_KERNEL);			\
		size_t length = 13 + off;				\
									\
		OPTIMIZER_HIDE_VAR(p);					\
		OPTIMIZER_HIDE_VAR(length);				\
		sink = length;						\
		statement;						\
		kfree(p);						\
	}
/* The same, full of letters without a terminating zero. */
#define UNENDED(name, statement) LIBRARY(name, memset(p, 'a', 13); statement)

LIBRARY(library_memcpy, memcpy(p, source, length))
LIBRARY(library_memcpy_from, memcpy(target, p, length))
LIBRARY(library_memmove, memmove(p, source, length))
LIBRARY(library_memset, memset(p, 0, length))
LIBRARY(library_memcmp, sink = memcmp(p, (u8[16]){}, length))
LIBRARY(library_memchr, sink = (unsigned long)memchr(p, 7, length))
LIBRARY(library_strcpy, strcpy(p, "a text of 13b"))
LIBRARY(library_strncpy, strncpy(p, source, length))
LIBRARY(library_strscpy, strscpy(p, source, length))
LIBRARY(library_strcat, strcpy(p, "a text "); strcat(p, "of 13b"))
LIBRARY(library_sprintf, sprintf(p, "%013zu", length))
LIBRARY(library_snprintf, snprintf(p, length, "%s", source))
LIBRARY(library_scnprintf, scnprintf(p, length, "%s", source))
LIBRARY(library_sscanf, if (sscanf(source, "%14c", p) < 1) sink = 1)
LIBRARY(library_random, get_random_bytes(p, length))
LIBRARY(library_crc, sink = crc32_le(0, p, length))
LIBRARY(library_hex, char line[64]; hex_dump_to_buffer(p, length, 16, 1, line, 64, 0))
LIBRARY(library_memdup, kfree(kmemdup(p, length, GFP_KERNEL)))
LIBRARY(library_to_user, if (copy_to_user(user, p, length)) sink = 1)
LIBRARY(library_from_user, if (copy_from_user(p, user, length)) sink = 1)
LIBRARY(library_string_from_user, sink = strncpy_from_user(p, user, length))
LIBRARY(library_put_user, if (put_user(p[12 + off], user)) sink = 1)
LIBRARY(library_get_user, if (get_user(p[12 + off], user)) sink = 1)
LIBRARY(library_to_buffer, loff_t at = 0; simple_read_from_buffer(user, 32, &at, p, length))
UNENDED(library_strlen, sink = strlen(p))
UNENDED(library_strchr, sink = (unsigned long)strchr(p, '/'))
UNENDED(library_strcmp, sink = strcmp(p, "aaaaaaaaaaaaaaaaa"))
UNENDED(library_kstrdup, kfree(kstrdup(p, GFP_KERNEL)))
UNENDED(library_printed, char line[64]; snprintf(line, 60, "%s", p); sink = line[0])
UNENDED(library_strsep, char *rest = p; sink = (unsigned long)strsep(&rest, "/"))

/* Arrays of longs, with 24 bytes in a slot of 32. */
#define LONGS(name, statement)						\
	void name(void)							\
	{								\
		unsigned long *p = kzalloc(24, GFP_KERNEL);		\
		size_t bits = 192 + off;				\
									\
		OPTIMIZER_HIDE_VAR(p);					\
		OPTIMIZER_HIDE_VAR(bits);				\
		statement;						\
		kfree(p);						\
	}

LONGS(bits_set, set_bit(191 + off, p))
LONGS(bits_test, sink = test_bit(191 + off, p))
LONGS(bits_find, sink = find_first_bit(p, bits))
LONGS(bits_fill, bitmap_set(p, 190, bits - 190))
LONGS(bits_zero, bitmap_zero(p, bits))
LONGS(bits_memset64, memset64((u64 *)p, 1, 3 + off))

static int compare(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

void library_sort(void)
{
	u32 *p = kzalloc(12, GFP_KERNEL);

	sort(p, 3 + off, sizeof(*p), compare, NULL);
	kfree(p);
}

void library_scatter(void)
{
	u8 *p = kzalloc(13, GFP_KERNEL);
	struct scatterlist list;

	sg_init_one(&list, source, sizeof(source));
	sink = sg_copy_to_buffer(&list, 1, p, 13 + off);
	kfree(p);
}

void library_packet(void)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);
	u8 *p = kzalloc(13, GFP_KERNEL);

	skb_put(skb, 50);
	sink = skb_copy_bits(skb, 0, p, 13 + off);
	kfree(p);
	kfree_skb(skb);
}

void library_overlap(void)
{
	struct record *record = kzalloc(sizeof(*record), GFP_KERNEL);
	size_t length = sizeof(record->key) + 4 * off;

	OPTIMIZER_HIDE_VAR(length);
	memset(&record->key, 0, length);
	kfree(record);
}
