// SPDX-License-Identifier: GPL-2.0
/*
 * Replacements of functions that allocate and fill: the kernel's own would call the kernel's
 * kmalloc(). They are called if no guarded object is available.
 */
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/instruction_pointer.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "alloc.h"

/* -- from the kernel ---------------------------------------------------------- */

/* A guarded copy of @len bytes, with a zero after it if it is a string. */
static void *copied(const void *source, size_t len, bool string, gfp_t flags,
		    unsigned long ip)
{
	const struct request request = {
		.size = len + string, .gfp = flags, .constant = string,
	};
	char *copy = alloc_guarded(&request, ip);

	if (!copy)
		return NULL;
	watch_alloc(copy, request.size, ip);
	memcpy(copy, source, len);
	if (string)
		copy[len] = '\0';
	return copy;
}

static void *watched(void *object, size_t size, unsigned long ip)
{
	watch_alloc(IS_ERR(object) ? NULL : object, size, ip);
	return object;
}

#define copied_or(source, len, string, flags, real)			\
	(copied(source, len, string, flags, _RET_IP_) ?:		\
	 watched(real, (len) + (string), _RET_IP_))

EXPORT_STAND_IN(kstrdup);
char *kefence_kstrdup(const char *string, gfp_t flags)
{
	if (!string)
		return NULL;
	return copied_or(string, strlen(string), true, flags, kstrdup(string, flags));
}

/* Strings in the kernel's read-only data are not copied, a module's are. */
EXPORT_STAND_IN(kstrdup_const);
const char *kefence_kstrdup_const(const char *string, gfp_t flags)
{
	unsigned long addr = (unsigned long)string;

	if (!string || (addr >= __START_KERNEL_map && addr < MODULES_VADDR))
		return kstrdup_const(string, flags);
	return copied_or(string, strlen(string), true, flags, kstrdup(string, flags));
}

EXPORT_STAND_IN(kstrndup);
char *kefence_kstrndup(const char *string, size_t max, gfp_t flags)
{
	if (!string)
		return NULL;
	return copied_or(string, strnlen(string, max), true, flags,
			 kstrndup(string, max, flags));
}

EXPORT_STAND_IN(kmemdup_nul);
char *kefence_kmemdup_nul(const char *string, size_t len, gfp_t flags)
{
	if (!string)
		return NULL;
	return copied_or(string, len, true, flags, kmemdup_nul(string, len, flags));
}

#ifdef kmemdup
EXPORT_STAND_IN(kmemdup_noprof);
void *kefence_kmemdup_noprof(const void *source, size_t len, gfp_t flags)
{
	return copied_or(source, len, false, flags, kmemdup_noprof(source, len, flags));
}
#else
EXPORT_STAND_IN(kmemdup);
void *kefence_kmemdup(const void *source, size_t len, gfp_t flags)
{
	return copied_or(source, len, false, flags, kmemdup(source, len, flags));
}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
EXPORT_STAND_IN(kvmemdup);
void *kefence_kvmemdup(const void *source, size_t len, gfp_t flags)
{
	return copied_or(source, len, false, flags, kvmemdup(source, len, flags));
}

EXPORT_STAND_IN(kmemdup_array);
void *kefence_kmemdup_array(const void *source, size_t count, size_t size, gfp_t flags)
{
	size_t len = size_mul(count, size);

	return copied_or(source, len, false, flags, kmemdup(source, len, flags));
}
#endif

/* -- from user space ---------------------------------------------------------- */

/*
 * A guarded copy of @len bytes from user space, ERR_PTR(-EFAULT), or NULL: the kernel must make
 * it.
 */
static void *copied_in(const void __user *source, size_t len, bool string,
		       unsigned long ip)
{
	const struct request request = {
		.size = len + string, .gfp = GFP_USER | __GFP_NOWARN, .constant = string,
	};
	char *copy = alloc_guarded(&request, ip);

	if (!copy)
		return NULL;
	watch_alloc(copy, request.size, ip);
	if (copy_from_user(copy, source, len)) {
		alloc_free_guarded(copy, ip);
		return ERR_PTR(-EFAULT);
	}
	if (string)
		copy[len] = '\0';
	return copy;
}

#define copied_in_or(source, len, string, real)				\
	(copied_in(source, len, string, _RET_IP_) ?:			\
	 watched(real, (len) + (string), _RET_IP_))

EXPORT_STAND_IN(memdup_user);
void *kefence_memdup_user(const void __user *source, size_t len)
{
	return copied_in_or(source, len, false, memdup_user(source, len));
}

EXPORT_STAND_IN(vmemdup_user);
void *kefence_vmemdup_user(const void __user *source, size_t len)
{
	return copied_in_or(source, len, false, vmemdup_user(source, len));
}

EXPORT_STAND_IN(memdup_user_nul);
void *kefence_memdup_user_nul(const void __user *source, size_t len)
{
	return copied_in_or(source, len, true, memdup_user_nul(source, len));
}

/* The process may change the string meanwhile: the last byte is set to zero in any case. */
EXPORT_STAND_IN(strndup_user);
char *kefence_strndup_user(const char __user *source, long max)
{
	long len = strnlen_user(source, max);

	if (!len)
		return ERR_PTR(-EFAULT);
	if (len > max)
		return ERR_PTR(-EINVAL);
	return copied_in_or(source, len - 1, true, memdup_user_nul(source, len - 1));
}

/* -- formatted ---------------------------------------------------------------- */

static char *formatted(gfp_t flags, const char *format, va_list args, unsigned long ip)
{
	struct request request = { .gfp = flags, .constant = true };
	va_list again;
	char *text;

	va_copy(again, args);
	request.size = vsnprintf(NULL, 0, format, again) + 1;
	va_end(again);
	text = alloc_guarded(&request, ip);
	va_copy(again, args);
	if (text)
		vsnprintf(text, request.size, format, again);
	else
		text = kvasprintf(flags, format, again);
	va_end(again);
	return watched(text, request.size, ip);
}

EXPORT_STAND_IN(kvasprintf);
char *kefence_kvasprintf(gfp_t flags, const char *format, va_list args)
{
	return formatted(flags, format, args, _RET_IP_);
}

/* A string returned uncopied is constant and must not be freed. */
EXPORT_STAND_IN(kvasprintf_const);
const char *kefence_kvasprintf_const(gfp_t flags, const char *format, va_list args)
{
	if (!strchr(format, '%') || !strcmp(format, "%s"))
		return kvasprintf_const(flags, format, args);
	return formatted(flags, format, args, _RET_IP_);
}

EXPORT_STAND_IN(kasprintf);
char *kefence_kasprintf(gfp_t flags, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = formatted(flags, format, args, _RET_IP_);
	va_end(args);
	return text;
}
