// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See measure.h. */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "measure.h"

#define CPUID_HYPERVISOR	0x40000000
#define CPUID_1_ECX_HYPERVISOR	(1u << 31)
#define CALIBRATIONS		4

void measure_pin(int cpu)
{
	int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < last ? cpu : last, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		measure_die("cannot stay on one CPU: %m");
}

void measure_first(bool first)
{
	const struct sched_param how = { .sched_priority = first };

	if (sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &how))
		measure_die("priority: %m");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double measure_quantile(double *samples, size_t n, double q)
{
	double at = q * (n - 1);
	size_t below = at;

	qsort(samples, n, sizeof(*samples), compare);
	if (below + 1 >= n)
		return samples[n - 1];
	return samples[below] + (at - below) * (samples[below + 1] - samples[below]);
}

static uint64_t shortest(uint64_t (*sample)(void *of, uint64_t count), void *of,
			 uint64_t count)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < CALIBRATIONS; i++) {
		uint64_t took = sample(of, count);

		if (took < best)
			best = took;
	}
	return best;
}

uint64_t measure_calibrate(uint64_t (*sample)(void *of, uint64_t count), void *of,
			   uint64_t least)
{
	uint64_t count = 1, took;

	while ((took = shortest(sample, of, count)) < least)
		count = took < least / 4 ? count * 2 : count * least / took + 1;
	return count;
}

#ifdef __x86_64__
const char *measure_accel(void)
{
	static char signature[13];
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & CPUID_1_ECX_HYPERVISOR))
		return "none";
	__cpuid(CPUID_HYPERVISOR, eax, ebx, ecx, edx);
	memcpy(signature, &ebx, 4);
	memcpy(signature + 4, &ecx, 4);
	memcpy(signature + 8, &edx, 4);
	if (!strcmp(signature, "TCGTCGTCGTCG"))
		return "tcg";
	if (!strcmp(signature, "KVMKVMKVM"))
		return "kvm";
	return signature;
}
#else
/* QEMU's processor "max" is of implementer 0, which no real one is; the kernel emulates the read. */
const char *measure_accel(void)
{
	unsigned long id;

	__asm__("mrs %0, midr_el1" : "=r"(id));
	return id >> 24 & 0xff ? "none" : "tcg";
}
#endif

static char directory[] = "/tmp/measure-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_directory(void)
{
	nftw(directory, remove_one, 20, FTW_DEPTH | FTW_PHYS);
}

const char *measure_directory(void)
{
	if (!mkdtemp(directory))
		measure_die("cannot make a directory in /tmp: %m");
	atexit(remove_directory);
	return directory;
}

const char *measure_kernel(void)
{
	static struct utsname name;

	return uname(&name) ? "unknown" : name.release;
}

void measure_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}
