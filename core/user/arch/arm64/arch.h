/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Implements ../arch.h: system calls, the thread pointer, copies that sanitizers do not check. */
#ifndef LIB_ARCH_ARM64_H
#define LIB_ARCH_ARM64_H

#include <stdbool.h>
#include <sys/auxv.h>

#include "../../../arch/arm64/syscalls_nr.h"

/* Returns the result, or -errno; does not touch errno. */
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/* For paths where every instruction counts. */
static inline long sys_call3(long nr, long a, long b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}

/* In old_calls.c: makes call @nr of x86-64, which arm64 lacks, by a newer one. */
long arch_old_call(long nr, const long *args);

/* Makes a call of a script, of syscalls.def. */
static inline long arch_call(long nr, const long *args)
{
	return nr >= SYSCALL_OLD_FIRST ? arch_old_call(nr, args) :
	       sys_call6(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* The processor may reorder loads with loads, and stores with stores. */
#define ARCH_KEEPS_ORDER	0

/* Advice in the error where generated code may not run: arm64 has no other engine. */
#define ARCH_WITHOUT_CODE	"allow that for scripts, or make plain calls"

/* Has the processor the atomic instructions that generated code uses (LSE, Armv8.1)? */
static inline bool arch_has_atomics(void)
{
	return getauxval(AT_HWCAP) & HWCAP_ATOMICS;
}

/* Chosen when the kernel is built. */
static inline unsigned long arch_page_size(void)
{
	return getauxval(AT_PAGESZ);
}

/* The thread pointer: differs between threads and is never 0. */
static inline unsigned long arch_thread(void)
{
	unsigned long self;

	__asm__("mrs %0, tpidr_el0" : "=r"(self));
	return self;
}

/* Not memcpy(): sanitizers must not check the script's accesses. */
static inline void arch_copy(void *to, const void *from, unsigned long n)
{
	unsigned long word;

	while (n >= sizeof(word)) {
		__asm__ volatile("ldr %2, [%1], #8; str %2, [%0], #8"
				 : "+r"(to), "+r"(from), "=&r"(word) : : "memory");
		n -= sizeof(word);
	}
	while (n--)
		__asm__ volatile("ldrb %w2, [%1], #1; strb %w2, [%0], #1"
				 : "+r"(to), "+r"(from), "=&r"(word) : : "memory");
}

/* A Valgrind client request: instructions that do nothing, which Valgrind recognises. */
static inline unsigned long valgrind_request(unsigned long code, unsigned long a, unsigned long b)
{
	unsigned long request[6] = { code, a, b };
	register unsigned long answer __asm__("x3") = 0;
	register unsigned long *p __asm__("x4") = request;

	__asm__ volatile("ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; "
			 "ror x12, x12, #61; orr x10, x10, x10"
			 : "+r"(answer) : "r"(p) : "cc", "memory");
	return answer;
}

#endif /* LIB_ARCH_ARM64_H */
