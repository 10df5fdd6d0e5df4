/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Shared by all measuring programs, in bench/ and consolidate's replays: a clock, pinning to a CPU,
 * statistics, and facts about the machine.
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

/* Pins the calling thread to one CPU, or to the last one that exists. */
void measure_pin(int cpu);

/* Gives the calling thread real-time priority, or removes it; needs RLIMIT_RTPRIO. */
void measure_first(bool first);

/* The value below which a share @q of the @n samples lies; sorts them. */
double measure_quantile(double *samples, size_t n, double q);

/*
 * The count for which @sample(@of, count), which returns its time, takes @least ns. Also warms up.
 * The shortest of several samples counts, because other load only adds time.
 */
uint64_t measure_calibrate(uint64_t (*sample)(void *of, uint64_t count), void *of,
			   uint64_t least);

/* "tcg" (emulated), "kvm", another hypervisor's signature, or "none". */
const char *measure_accel(void);

/* A new directory, removed with its contents when the program ends. */
const char *measure_directory(void);

/* The running kernel's release. */
const char *measure_kernel(void);

/* Ends the program with a message, formatted like printf(). */
_Noreturn void measure_die(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
