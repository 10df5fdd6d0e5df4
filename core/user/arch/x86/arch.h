/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Implements ../arch.h: system calls, the thread pointer, copies that sanitizers do not check. */
#ifndef LIB_ARCH_X86_H
#define LIB_ARCH_X86_H

#include <stdbool.h>

/* Returns the result, or -errno; does not touch errno. */
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* For paths where every instruction counts. */
static inline long sys_call3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Makes a call of a script, of syscalls.def. */
static inline long arch_call(long nr, const long *args)
{
	return sys_call6(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* Advice to users, for where generated code may not run. */
#define ARCH_WITHOUT_CODE	"use engine luajit, which interprets then"

/* Has the processor the atomic instructions that generated code uses? */
static inline bool arch_has_atomics(void)
{
	return true;
}

/* Loads are not reordered with loads, nor stores with stores. */
#define ARCH_KEEPS_ORDER	1

static inline unsigned long arch_page_size(void)
{
	return 4096;
}

/* The thread pointer: differs between threads and is never 0. */
static inline unsigned long arch_thread(void)
{
	unsigned long self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self;
}

/* Not memcpy(): sanitizers must not check the script's accesses. */
static inline void arch_copy(void *to, const void *from, unsigned long n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* A Valgrind client request: instructions that do nothing, which Valgrind recognises. */
static inline unsigned long valgrind_request(unsigned long code, unsigned long a, unsigned long b)
{
	unsigned long request[6] = { code, a, b }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(request)
			 : "cc", "memory");
	return answer;
}

#endif /* LIB_ARCH_X86_H */
