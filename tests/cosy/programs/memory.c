// SPDX-License-Identifier: GPL-2.0
/* The shared buffer: its allocator, frames of all sizes, threads, longjmp(). */
#include <cosy.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf jump;
static _Atomic int together;
static _Atomic unsigned char flags;

static long deep(int n)
{
	char buf[3000];
	long sum = n;

	COSY_START;
	memset(buf, n, sizeof(buf));
	sum += buf[n % 3000];
	COSY_END;
	return n ? sum + deep(n - 1) : sum;
}

static long large(void)
{
	char buf[100000];
	long sum = 0;

	COSY_START;
	memset(buf, 3, sizeof(buf));
	for (unsigned i = 0; i < sizeof(buf); i += 1000)
		sum += buf[i];
	COSY_END;
	return sum;
}

static void jumps_out(int n)
{
	char buf[2000];

	COSY_START;
	buf[0] = n;
	n = buf[0];
	COSY_END;
	if (n > 5)
		longjmp(jump, n);
	jumps_out(n + 1);
}

static void *thread(void *arg)
{
	long sum = 0, from = (long)arg;

	for (int i = 0; i < 1000; i++) {
		COSY_START;
		for (int k = 0; k < 10; k++)
			sum += from + k;
		together += 1;
		atomic_fetch_sub(&together, 2);
		atomic_fetch_add(&together, 2);
		COSY_END;
	}
	return (void *)sum;
}

static int atomics(void)
{
	_Atomic long v = 100;
	long old, expected = 71, sum;

	COSY_START;
	old = atomic_fetch_or(&v, 15);
	old = old * 1000 + atomic_fetch_and(&v, 127);
	old = old * 1000 + atomic_fetch_xor(&v, 40);
	old = old * 1000 + atomic_exchange(&v, 71);
	sum = atomic_compare_exchange_strong(&v, &expected, 90);
	sum += atomic_compare_exchange_strong(&v, &expected, 91) * 2 + expected;
	atomic_store(&v, atomic_load(&v) + 1);
	atomic_thread_fence(memory_order_seq_cst);
	sum += v;
	COSY_END;
	printf("atomics %ld %ld\n", old, sum);
	return 0;
}

static void allocator(void)
{
	unsigned char *blocks[64] = { 0 };
	unsigned long random = 1;
	long wrong = 0;

	for (int i = 0; i < 20000; i++) {
		unsigned slot, size;

		random = random * 6364136223846793005UL + 1442695040888963407UL;
		slot = random >> 58;
		size = random >> 40 & 1023;
		if (blocks[slot]) {
			wrong += blocks[slot][0] != slot;
			blocks[slot] = random >> 33 & 1 ? cosy_realloc(blocks[slot], size + 1) :
							  (cosy_free(blocks[slot]), NULL);
			wrong += blocks[slot] && blocks[slot][0] != slot;
		} else {
			blocks[slot] = cosy_calloc(1, size + 1);
			for (unsigned k = 0; k <= size; k++)
				wrong += blocks[slot][k];
			memset(blocks[slot], slot, size + 1);
		}
	}
	for (int i = 0; i < 64; i++)
		cosy_free(blocks[i]);
	printf("allocator %ld %d %d\n", wrong, cosy_calloc(SIZE_MAX, 2) == NULL,
	       cosy_malloc(SIZE_MAX - 5) == NULL);
}

int main(void)
{
	pthread_t threads[4];
	long sums = 0;
	int n;

	printf("deep %ld %ld\n", deep(20), deep(3));
	printf("large %ld\n", large());
	n = setjmp(jump);
	if (!n)
		jumps_out(0);
	printf("jumped %d, deep %ld\n", n, deep(2));
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 4; i++) {
		void *sum;

		pthread_join(threads[i], &sum);
		sums += (long)sum;
	}
	printf("threads %ld %d\n", sums, together);
	(void)flags;
	atomics();
	allocator();
	return 0;
}
