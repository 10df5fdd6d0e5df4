/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Marks for counter.c, which counts a guest's instructions between mark_begin() and mark_end(). On
 * real hardware both do nothing.
 */
#ifndef MARK_H
#define MARK_H

/* nopl MARK(%rax,%rax,1) on x86-64; the displacement identifies the mark. */
#define MARK_OPCODE	0x0f, 0x1f, 0x84, 0x00
#define MARK_BEGIN	0x6265676e
#define MARK_END	0x656e646d
/* movz xzr, #MARK on arm64; its two high bytes. */
#define MARK_ARM64(mark)	(0xd280001fU | ((mark) >> 16) << 5)

#ifndef __ASSEMBLER__

#ifdef __aarch64__
#define MARK_NOP(n)	asm volatile("movz xzr, %0" : : "i" ((n) >> 16) : "memory")
#else
#define MARK_TEXT(...)	#__VA_ARGS__
#define MARK_NOP(n)	asm volatile("nopl " MARK_TEXT(n) "(%%rax,%%rax,1)" ::: "memory")
#endif

static inline void mark_begin(void)
{
	MARK_NOP(MARK_BEGIN);
}

static inline void mark_end(void)
{
	MARK_NOP(MARK_END);
}

#endif /* __ASSEMBLER__ */
#endif
