/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The functions of libm that scripts call: CORE-MATH's, compiled twice, with the CPU's fused
 * multiply-add and with that of math.c. Both round correctly, so all CPUs compute the same
 * results; the first is 10 to 100 times as fast.
 *
 * FMA instructions are VEX encoded: they clear their destination's bits beyond the lower 128,
 * which in the kernel belong to the task. kernel/fpu.h saves only the lower 128 bits of XMM0 to
 * XMM7, the registers that this code may use; the upper bits are saved here.
 */
#include <stdint.h>

static void cpuid(uint32_t leaf, uint32_t sub, uint32_t *r)
{
	__asm__("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
		: "0"(leaf), "2"(sub));
}

static uint32_t xgetbv(uint32_t index)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
	return low;
}

#define BIT(n)		(1u << (n))
#define XCR0_AVX	(BIT(1) | BIT(2))
#define STATE_YMM	BIT(2)		/* upper halves of YMM registers */
#define STATE_ZMM	BIT(6)		/* upper halves of ZMM registers */

/* The CPU's features; reading them twice is harmless. */
static int cpu;

enum { CPU_ASKED = 1, CPU_FMA = 2, CPU_IN_USE = 4, CPU_ZMM = 8 };

static int ask_cpu(void)
{
	uint32_t r[4];
	int found = CPU_ASKED;

	cpuid(1, 0, r);
	/* FMA, SSE4.1 and XSAVE that the operating system has switched on. */
	if ((r[2] & (BIT(12) | BIT(19) | BIT(27))) == (BIT(12) | BIT(19) | BIT(27)) &&
	    (xgetbv(0) & XCR0_AVX) == XCR0_AVX) {
		found |= CPU_FMA;
		if (xgetbv(0) & STATE_ZMM)
			found |= CPU_ZMM;
		cpuid(13, 1, r);
		if (r[0] & BIT(2))
			found |= CPU_IN_USE;	/* XGETBV(1) */
	}
	cpu = found;
	return found;
}

static inline int has_fma(void)
{
	return (cpu ? cpu : ask_cpu()) & CPU_FMA;
}

#ifdef LUAJIT_KERNEL

/* The whole of ZMM0 to ZMM7, or of YMM0 to YMM7. */
struct kept {
	uint32_t state;
	uint8_t registers[8][64] __attribute__((aligned(64)));
};

#define EACH(op)	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)
#define SAVE_ZMM(n)	"vmovups %%zmm" #n ", " #n "*64(%0)\n\t"
#define SAVE_YMM(n)	"vmovups %%ymm" #n ", " #n "*64(%0)\n\t"
#define LOAD_ZMM(n)	"vmovups " #n "*64(%0), %%zmm" #n "\n\t"
#define LOAD_YMM(n)	"vmovups " #n "*64(%0), %%ymm" #n "\n\t"
#define REGISTERS	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"

/* Which upper halves are in use; all if the CPU does not report it. */
static uint32_t in_use(void)
{
	uint32_t all = cpu & CPU_ZMM ? STATE_YMM | STATE_ZMM : STATE_YMM;

	return cpu & CPU_IN_USE ? xgetbv(1) & all : all;
}

static inline void keep(struct kept *kept)
{
	kept->state = in_use();
	if (kept->state & STATE_ZMM)
		__asm__ volatile(EACH(SAVE_ZMM) : : "r"(kept->registers) : "memory");
	else if (kept->state)
		__asm__ volatile(EACH(SAVE_YMM) : : "r"(kept->registers) : "memory");
}

static inline void restore(struct kept *kept)
{
	if (kept->state & STATE_ZMM)
		__asm__ volatile(EACH(LOAD_ZMM) : : "r"(kept->registers)
				 : "memory", REGISTERS);
	else if (kept->state)
		__asm__ volatile(EACH(LOAD_YMM) : : "r"(kept->registers)
				 : "memory", REGISTERS);
	else
		__asm__ volatile("vzeroupper");	/* as before: not in use */
}

#define KEPT(expression)				\
	({						\
		struct kept kept;			\
		double result;				\
							\
		keep(&kept);				\
		result = (expression);			\
		/* Out of the vector registers before they change. */	\
		__asm__ volatile("" : "+m"(result));	\
		restore(&kept);				\
		result;					\
	})

#else
#define KEPT(expression)	(expression)
#endif

#define FUNCTION1(name)						\
	double name##_fused(double x);				\
	double name##_plain(double x);				\
	double name(double x);					\
	double name(double x)					\
	{							\
		return has_fma() ? KEPT(name##_fused(x)) : name##_plain(x); \
	}

#define FUNCTION2(name)						\
	double name##_fused(double x, double y);		\
	double name##_plain(double x, double y);		\
	double name(double x, double y);			\
	double name(double x, double y)				\
	{							\
		return has_fma() ? KEPT(name##_fused(x, y)) : name##_plain(x, y); \
	}

FUNCTION1(sin)
FUNCTION1(cos)
FUNCTION1(tan)
FUNCTION1(asin)
FUNCTION1(acos)
FUNCTION1(atan)
FUNCTION1(sinh)
FUNCTION1(cosh)
FUNCTION1(tanh)
FUNCTION1(exp)
FUNCTION1(log)
FUNCTION1(log2)
FUNCTION1(log10)
FUNCTION2(atan2)
FUNCTION2(pow)
