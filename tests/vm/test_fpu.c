// SPDX-License-Identifier: GPL-2.0
/*
 * A call preserves the caller's floating-point state, whatever the script computes, wherever it
 * blocks, and however others use the FPU meanwhile: XMM and YMM registers, MXCSR, and the x87.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"

#define THREADS	3
#define CALLS	1000

static const char source[] =
	"local x = 0.1\n"
	"function run(n, pause)\n"
	"  local a, b, c, d, e, f, g, h, i = 1, 2, 3, 4, 5, 6, 7, 8, 9\n"
	"  for k = 1, n do\n"
	"    x = 3.9 * x * (1 - x)\n"
	"    a, b, c, d = b + x, c - x, d * 1.01, math.sin(a)\n"
	"    e, f, g, h, i = f + a, g * 0.5, h - b, i + c, math.fmod(e, 3)\n"
	"    x = x + (math.log(b * b + 1) + math.exp(-c * c) + 1.5 ^ x) * 0\n"
	"  end\n"
	"  if pause > 0 then syscall.sched_yield() syscall.poll(0, 0, pause) end\n"
	"  return math.floor(x * 1000)\n"
	"end\n";

struct state {
	uint8_t ymm[16][32];
	uint8_t x87[10];
	uint32_t mxcsr;
	uint16_t control;
};

/* The call is in the middle of the assembly, because C code may change registers. */
static long call_between(int fd, struct syscript_call *call,
			 const struct state *before, struct state *after)
{
	long ret;

#define LOAD(n)	"vmovdqu " #n "*32(%[b]), %%ymm" #n "\n\t"
#define STORE(n) "vmovdqu %%ymm" #n ", " #n "*32(%[a])\n\t"
	asm volatile("ldmxcsr 524(%[b])\n\t"
		     "fninit\n\t"
		     "fldcw 528(%[b])\n\t"
		     "fldt 512(%[b])\n\t"
		     LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6)
		     LOAD(7) LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13)
		     LOAD(14) LOAD(15)
		     "syscall\n\t"
		     STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5)
		     STORE(6) STORE(7) STORE(8) STORE(9) STORE(10) STORE(11)
		     STORE(12) STORE(13) STORE(14) STORE(15)
		     "stmxcsr 524(%[a])\n\t"
		     "fnstcw 528(%[a])\n\t"
		     "fstpt 512(%[a])\n\t"
		     "fninit\n\t"
		     : "=a" (ret)
		     : "a" (16L /* ioctl */), "D" ((long)fd),
		       "S" ((unsigned long)SYSCRIPT_IOC_CALL), "d" (call),
		       [b] "r" (before), [a] "r" (after)
		     : "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3",
		       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
		       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st");
	return ret;
}

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg, i, k;
	struct state before, after;
	struct syscript_call call;
	const uint32_t normal = 0x1f80;
	int fd = abi_register_limits(source, seed % 2 ? SYSCRIPT_NOJIT : 0, 0,
				     ABI_PATIENCE);

	if (fd < 0)
		return "registration";
	for (i = 0; i < CALLS; i++) {
		memset(&before, 0, sizeof(before));
		for (k = 0; k < sizeof(before.ymm); k++)
			before.ymm[k / 32][k % 32] = (uint8_t)(seed + i + k * 7);
		memcpy(before.x87, "\x00\x01\x02\x03\x04\x05\x06\x87\xff\x3f", 10);
		/* Rounding up, flush to zero: scripts must not compute with these settings. */
		before.mxcsr = 0x1f80 | 2 << 13 | 1 << 15;
		before.control = 0x037f | 2 << 10;
		memset(&after, 0, sizeof(after));
		memset(&call, 0, sizeof(call));
		call.nargs = 2;
		call.args[0] = i % 40;
		call.args[1] = i % 100 == 0;
		if (call_between(fd, &call, &before, &after))
			return "the call failed";
		asm volatile("ldmxcsr %0" : : "m" (normal));
		if (memcmp(before.ymm, after.ymm, sizeof(before.ymm)))
			return "a vector register was changed";
		if (memcmp(before.x87, after.x87, 10) || before.control != after.control)
			return "the x87 was changed";
		/* The call itself may set exception flags. */
		if ((before.mxcsr ^ after.mxcsr) & ~0x3fU)
			return "MXCSR was changed";
		if (call.results[0] < 0 || call.results[0] > 999)
			return "the script computed nonsense";
	}
	close(fd);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uintptr_t i;
	int bad = 0;

	abi_open();
	if (!__builtin_cpu_supports("avx")) {
		puts("this CPU has no AVX");
		return 77;
	}
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (i = 0; i < THREADS; i++) {
		void *what;

		pthread_join(threads[i], &what);
		if (what) {
			printf("thread %u: %s\n", (unsigned int)i, (char *)what);
			bad = 1;
		}
	}
	return bad;
}
