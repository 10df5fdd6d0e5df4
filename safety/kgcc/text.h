/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel functions that parse text, see text.c; the conventions are library.h's. */
#ifndef KGCC_TEXT_H
#define KGCC_TEXT_H

#include <linux/types.h>

/* For a format's arguments: the strings of its %s; and how far a scan reads its text. */
void kgcc_check_texts(const char *where, const char *format, va_list given, unsigned long ip);
void kgcc_check_scanned(const char *where, const char *text, const char *format,
			unsigned long ip);

size_t kgcc_strspn(const char *where, const char *s, const char *letters);
size_t kgcc_strcspn(const char *where, const char *s, const char *letters);
char *kgcc_strpbrk(const char *where, const char *s, const char *letters);
char *kgcc_strchrnul(const char *where, const char *s, int c);
char *kgcc_strnchr(const char *where, const char *s, size_t max, int c);
char *kgcc_skip_spaces(const char *where, const char *s);
char *kgcc_strim(const char *where, char *s);
char *kgcc_strreplace(const char *where, char *s, char old, char new);
char **kgcc_argv_split(const char *where, gfp_t flags, const char *s, int *count);
const char *kgcc_kstrdup_const(const char *where, const char *s, gfp_t flags);
__printf(3, 0) const char *kgcc_kvasprintf_const(const char *where, gfp_t flags,
						 const char *format, va_list args);
bool kgcc_mac_pton(const char *where, const char *s, u8 *mac);
char *kgcc_strnstr(const char *where, const char *s, const char *part, size_t max);
bool kgcc_sysfs_streq(const char *where, const char *a, const char *b);
int kgcc_match_string(const char *where, const char *const *array, size_t n, const char *s);
int kgcc_sysfs_match_string(const char *where, const char *const *array, size_t n,
			    const char *s);

int kgcc_kstrtoull(const char *where, const char *s, unsigned int base,
		   unsigned long long *result);
int kgcc_kstrtoll(const char *where, const char *s, unsigned int base, long long *result);
int kgcc__kstrtoul(const char *where, const char *s, unsigned int base, unsigned long *result);
int kgcc__kstrtol(const char *where, const char *s, unsigned int base, long *result);
int kgcc_kstrtouint(const char *where, const char *s, unsigned int base, unsigned int *result);
int kgcc_kstrtoint(const char *where, const char *s, unsigned int base, int *result);
int kgcc_kstrtou16(const char *where, const char *s, unsigned int base, u16 *result);
int kgcc_kstrtos16(const char *where, const char *s, unsigned int base, s16 *result);
int kgcc_kstrtou8(const char *where, const char *s, unsigned int base, u8 *result);
int kgcc_kstrtos8(const char *where, const char *s, unsigned int base, s8 *result);
int kgcc_kstrtobool(const char *where, const char *s, bool *result);
unsigned long long kgcc_simple_strtoull(const char *where, const char *s, char **end,
					unsigned int base);
unsigned long kgcc_simple_strtoul(const char *where, const char *s, char **end,
				  unsigned int base);
long kgcc_simple_strtol(const char *where, const char *s, char **end, unsigned int base);
long long kgcc_simple_strtoll(const char *where, const char *s, char **end, unsigned int base);
unsigned long long kgcc_memparse(const char *where, const char *s, char **end);
int kgcc_get_option(const char *where, char **s, int *result);
char *kgcc_get_options(const char *where, const char *s, int count, int *results);

#endif
