// SPDX-License-Identifier: GPL-2.0
/*
 * What the compiler calls before each access of an instrumented module (gcc and clang,
 * -fsanitize=thread).  Most calls end after one look at a table and a decrement.
 *
 * objtool knows most of these names as safe where user memory is open (STAC), so these functions
 * close it before they call others.  It refuses the other names there.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/uaccess.h>

#include "watch.h"

/* Checks this many bytes of a copied structure, from its beginning. */
#define RANGE_MAX	256UL

/* Is the function's name one that objtool knows? */
enum where { MAYBE_OPEN, NEVER_OPEN };

static __always_inline void check(unsigned long addr, size_t size, size_t whole, bool write,
				  bool marked, enum where where, unsigned long ip)
{
	const struct access access = {
		.addr = addr, .size = size, .whole = whole,
		.write = write, .marked = marked, .ip = ip,
	};
	unsigned int n = watch_slot(addr);
	unsigned long saved = 0;

	if (unlikely(watch_conflicts(READ_ONCE(watch_words[n]), watch_word(addr, size, write)))) {
		if (where == MAYBE_OPEN)
			saved = user_access_save();
		watch_hit(n, &access);
		if (where == MAYBE_OPEN)
			user_access_restore(saved);
	} else if (!marked && unlikely(this_cpu_dec_return(watch_skip) < 0)) {
		if (where == MAYBE_OPEN)
			saved = user_access_save();
		watch_wait(&access);
		if (where == MAYBE_OPEN)
			user_access_restore(saved);
	}
}

/* Splits an access of any alignment and size at the granules' borders. */
static __always_inline void check_range(unsigned long addr, size_t size, bool write,
					enum where where, unsigned long ip)
{
	unsigned long end = addr + min(size, RANGE_MAX), next;

	for (; addr < end; addr = next) {
		next = min(end, ALIGN_DOWN(addr, WATCH_GRANULE) + WATCH_GRANULE);
		check(addr, next - addr, size, write, false, where, ip);
	}
}

#define DEFINE_CHECK(name, ...)						\
	void __tsan_##name(void *ptr);					\
	void __tsan_##name(void *ptr)					\
	{								\
		__VA_ARGS__;						\
	}								\
	EXPORT_SYMBOL_GPL(__tsan_##name)

#define DEFINE_PLAIN(prefix, size, where)						\
	DEFINE_CHECK(prefix##read##size,						\
		     check_range((unsigned long)ptr, size, false, where, _RET_IP_));	\
	DEFINE_CHECK(prefix##write##size,						\
		     check_range((unsigned long)ptr, size, true, where, _RET_IP_))

#define DEFINE_VOLATILE(prefix, size, where)							\
	DEFINE_CHECK(prefix##volatile_read##size,						\
		     check((unsigned long)ptr, size, size, false, true, where, _RET_IP_));	\
	DEFINE_CHECK(prefix##volatile_write##size,						\
		     check((unsigned long)ptr, size, size, true, true, where, _RET_IP_))

#define DEFINE_CHECKS(size)				\
	DEFINE_PLAIN(, size, MAYBE_OPEN);		\
	DEFINE_VOLATILE(, size, MAYBE_OPEN)

DEFINE_CHECKS(1);
DEFINE_CHECKS(2);
DEFINE_CHECKS(4);
DEFINE_CHECKS(8);
DEFINE_CHECKS(16);
DEFINE_PLAIN(unaligned_, 2, NEVER_OPEN);
DEFINE_PLAIN(unaligned_, 4, NEVER_OPEN);
DEFINE_PLAIN(unaligned_, 8, NEVER_OPEN);
DEFINE_PLAIN(unaligned_, 16, MAYBE_OPEN);
DEFINE_VOLATILE(unaligned_, 2, NEVER_OPEN);
DEFINE_VOLATILE(unaligned_, 4, NEVER_OPEN);
DEFINE_VOLATILE(unaligned_, 8, NEVER_OPEN);
DEFINE_VOLATILE(unaligned_, 16, NEVER_OPEN);

void __tsan_read_range(void *ptr, size_t size);
void __tsan_read_range(void *ptr, size_t size)
{
	check_range((unsigned long)ptr, size, false, MAYBE_OPEN, _RET_IP_);
}
EXPORT_SYMBOL_GPL(__tsan_read_range);

void __tsan_write_range(void *ptr, size_t size);
void __tsan_write_range(void *ptr, size_t size)
{
	check_range((unsigned long)ptr, size, true, MAYBE_OPEN, _RET_IP_);
}
EXPORT_SYMBOL_GPL(__tsan_write_range);

/* -- the compiler's own atomic operations, __atomic_add_fetch() and the like -------------- */

/* In the strictest order, which none that was asked for exceeds. */
#define DEFINE_ATOMIC(bits, result, name, write, call, ...)			\
	result __tsan_atomic##bits##_##name(__VA_ARGS__);			\
	result __tsan_atomic##bits##_##name(__VA_ARGS__)			\
	{									\
		check((unsigned long)ptr, bits / 8, bits / 8, write, true,	\
		      MAYBE_OPEN, _RET_IP_);					\
		return call;							\
	}									\
	EXPORT_SYMBOL_GPL(__tsan_atomic##bits##_##name)

#define DEFINE_FETCH(bits, name)						\
	DEFINE_ATOMIC(bits, u##bits, fetch_##name, true,			\
		      __atomic_fetch_##name(ptr, value, __ATOMIC_SEQ_CST),	\
		      volatile u##bits *ptr, u##bits value, int order)

#define DEFINE_EXCHANGE_IF(bits, strength)						\
	DEFINE_ATOMIC(bits, int, compare_exchange_##strength, true,			\
		      __atomic_compare_exchange_n(ptr, expected, value, false,		\
						  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST),	\
		      volatile u##bits *ptr, u##bits *expected, u##bits value, int order,	\
		      int failed)

#define DEFINE_ATOMICS(bits)							\
	DEFINE_ATOMIC(bits, u##bits, load, false,				\
		      __atomic_load_n(ptr, __ATOMIC_SEQ_CST),			\
		      const volatile u##bits *ptr, int order);			\
	DEFINE_ATOMIC(bits, void, store, true,					\
		      __atomic_store_n(ptr, value, __ATOMIC_SEQ_CST),		\
		      volatile u##bits *ptr, u##bits value, int order);		\
	DEFINE_ATOMIC(bits, u##bits, exchange, true,				\
		      __atomic_exchange_n(ptr, value, __ATOMIC_SEQ_CST),	\
		      volatile u##bits *ptr, u##bits value, int order);		\
	DEFINE_EXCHANGE_IF(bits, strong);					\
	DEFINE_EXCHANGE_IF(bits, weak);						\
	DEFINE_FETCH(bits, add);						\
	DEFINE_FETCH(bits, sub);						\
	DEFINE_FETCH(bits, and);						\
	DEFINE_FETCH(bits, or);							\
	DEFINE_FETCH(bits, xor);						\
	DEFINE_FETCH(bits, nand)

DEFINE_ATOMICS(8);
DEFINE_ATOMICS(16);
DEFINE_ATOMICS(32);
DEFINE_ATOMICS(64);

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
EXPORT_SYMBOL_GPL(__tsan_atomic_thread_fence);

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	barrier();
}
EXPORT_SYMBOL_GPL(__tsan_atomic_signal_fence);

/* Called by a constructor, which kernel modules do not run. */
void __tsan_init(void);
void __tsan_init(void)
{
}
EXPORT_SYMBOL_GPL(__tsan_init);
