/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What every measuring program needs, those of bench/ and consolidate's replays: a clock, a
 * CPU of its own, statistics, the machine it runs on.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t measure_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* The calling thread's time on a CPU: other load does not count. */
static inline uint64_t measure_cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Keeps the calling thread on one CPU, or on the last one there is. */
void measure_pin(int cpu);

/* Whether the calling thread runs before all that have no such priority; needs RLIMIT_RTPRIO. */
void measure_first(bool first);

/* The value below which the share @q of the @n samples lies; sorts them. */
double measure_quantile(double *samples, size_t n, double q);

/*
 * The count for which @sample(@of, count), which returns what it took, takes @least ns.
 * Warms up, too.  Of several samples the shortest one counts: what else the machine does
 * only ever adds.
 */
uint64_t measure_calibrate(uint64_t (*sample)(void *of, uint64_t count), void *of,
			   uint64_t least);

/* "tcg" (emulated), "kvm", another hypervisor's signature, or "none". */
const char *measure_accel(void);

/* A new directory, which is gone with all that is in it when the program ends. */
const char *measure_directory(void);

/* The running kernel's release. */
const char *measure_kernel(void);

/* Ends the program with a message, as printf() writes it. */
_Noreturn void measure_die(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
