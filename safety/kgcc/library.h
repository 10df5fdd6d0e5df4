/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's string functions: instrumented code calls these replacements, like those of alloc.h.
 * The first argument is the file:line of the call.
 */
#ifndef KGCC_LIBRARY_H
#define KGCC_LIBRARY_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "object.h"

/* A pointer's object, and the bytes from the pointer to its end. */
struct kgcc_room {
	struct kgcc_object object;
	size_t bytes;
};

void kgcc_find_room(const void *p, struct kgcc_room *room);
/* Reports an access of this many bytes if fewer are left. */
void kgcc_check_room(const char *where, unsigned int flags, const void *p, size_t length,
		     const struct kgcc_room *room, unsigned long ip);

/* Check a read of bytes, or of a string, in another replacement, which was called from @ip. */
void kgcc_library_read(const char *where, const void *from, size_t length, unsigned long ip);
size_t kgcc_library_string(const char *where, const char *s, size_t max, unsigned long ip);

size_t kgcc_strlen(const char *where, const char *s);
size_t kgcc_strnlen(const char *where, const char *s, size_t max);
int kgcc_strcmp(const char *where, const char *a, const char *b);
int kgcc_strncmp(const char *where, const char *a, const char *b, size_t max);
int kgcc_strcasecmp(const char *where, const char *a, const char *b);
int kgcc_strncasecmp(const char *where, const char *a, const char *b, size_t max);
char *kgcc_strchr(const char *where, const char *s, int c);
char *kgcc_strrchr(const char *where, const char *s, int c);
char *kgcc_strstr(const char *where, const char *a, const char *b);
void kgcc_fortified(const char *where);
char *kgcc_strsep(const char *where, char **s, const char *letters);

char *kgcc_strcpy(const char *where, char *to, const char *from);
char *kgcc_strncpy(const char *where, char *to, const char *from, size_t size);
size_t kgcc_strlcpy(const char *where, char *to, const char *from, size_t size);
ssize_t kgcc_strscpy(const char *where, char *to, const char *from, size_t size);
char *kgcc_strcat(const char *where, char *to, const char *from);
size_t kgcc_strlcat(const char *where, char *to, const char *from, size_t size);
char *kgcc_strncat(const char *where, char *to, const char *from, size_t max);

__printf(3, 4) int kgcc_sprintf(const char *where, char *to, const char *format, ...);
__printf(3, 0) int kgcc_vsprintf(const char *where, char *to, const char *format,
				 va_list args);
__printf(4, 5) int kgcc_snprintf(const char *where, char *to, size_t size, const char *format,
				 ...);
__printf(4, 5) int kgcc_scnprintf(const char *where, char *to, size_t size, const char *format,
				  ...);
__printf(4, 0) int kgcc_vsnprintf(const char *where, char *to, size_t size, const char *format,
				  va_list args);
__printf(4, 0) int kgcc_vscnprintf(const char *where, char *to, size_t size,
				   const char *format, va_list args);
__scanf(3, 4) int kgcc_sscanf(const char *where, const char *from, const char *format, ...);
__scanf(3, 0) int kgcc_vsscanf(const char *where, const char *from, const char *format,
			       va_list args);

long kgcc_strncpy_from_user(const char *where, char *to, const char __user *from, long max);

#endif
