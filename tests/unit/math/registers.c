// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks that fused.c is safe in the kernel: its VEX instructions preserve the upper parts of the
 * vector registers, including those of AVX-512.
 */
#define LUAJIT_KERNEL
#include "../../../engine/luajit/shim/fused.c"

#include <stdio.h>
#include <string.h>

/* A version that clears as much as possible. */
double sin_fused(double x)
{
	__asm__ volatile("vxorps %%xmm1, %%xmm1, %%xmm1\n\t"
			 "vxorps %%ymm2, %%ymm2, %%ymm2\n\t"
			 "vmovaps %%xmm3, %%xmm3\n\t"
			 "vmovaps %%xmm0, %%xmm0\n\t"
			 "vxorps %%xmm7, %%xmm7, %%xmm7"
			 : : : "xmm1", "xmm2", "xmm3", "xmm7");
	return 2 * x;
}

#define STAND_IN(name)						\
	double name##_fused(double x) { return x; }		\
	double name##_plain(double x) { return x; }
STAND_IN(cos)
STAND_IN(tan)
STAND_IN(asin)
STAND_IN(acos)
STAND_IN(atan)
STAND_IN(sinh)
STAND_IN(cosh)
STAND_IN(tanh)
STAND_IN(exp)
STAND_IN(log)
STAND_IN(log2)
STAND_IN(log10)
double sin_plain(double x) { return x; }
double pow_fused(double x, double y) { return x + y; }
double pow_plain(double x, double y) { return x + y; }
double atan2_fused(double x, double y) { return x + y; }
double atan2_plain(double x, double y) { return x + y; }

struct registers {
	uint8_t r[8][64];
} __attribute__((aligned(64)));

/* Loads a register's full width, calls sin(1.5), stores the full width. */
#define BETWEEN(width, before, after, result)				\
	__asm__ volatile(EACH(LOAD_##width)				\
			 "movlpd %2, %%xmm0\n\t"			\
			 "sub $256, %%rsp\n\t"				\
			 "call sin\n\t"					\
			 "add $256, %%rsp\n\t"				\
			 "mov %1, %0\n\t"				\
			 EACH(SAVE_##width)				\
			 "movsd %%xmm0, %3\n\t"				\
			 "vzeroupper"					\
			 : "+&b"(to), "+&r"(from) : "m"(arg), "m"(*result) \
			 : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", \
			   "r10", "r11", REGISTERS)

static int check(int zmm)
{
	static struct registers before, after;
	void *to = &before, *from = &after;
	const double arg = 1.5;
	double result = 0;
	size_t width = zmm ? 64 : 32;

	for (size_t i = 0; i < sizeof(before); i++)
		before.r[i / 64][i % 64] = 7 * i + 3;
	if (zmm)
		BETWEEN(ZMM, &before, &after, &result);
	else
		BETWEEN(YMM, &before, &after, &result);
	for (int n = 0; n < 8; n++) {
		if (memcmp(before.r[n] + 16, after.r[n] + 16, width - 16)) {
			printf("%s%d: its upper part was changed\n", zmm ? "zmm" : "ymm", n);
			return 1;
		}
	}
	if (result != 3) {
		printf("sin() returned %g\n", result);
		return 1;
	}
	return 0;
}

int main(void)
{
	if (!has_fma()) {
		puts("this CPU has no FMA");
		return 77;
	}
	return check(0) || (cpu & CPU_ZMM && check(1));
}
