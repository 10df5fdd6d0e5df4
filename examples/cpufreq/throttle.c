/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For CPUs whose governor is `syscript`: fast while there is work, slow while there is none, and
 * slowest while the CPU is hot.
 *
 *   syscript load throttle throttle.o --for cpufreq --at x86_pkg_temp
 */
#include <linux/syscript_cpufreq.h>

#define HOT	80000	/* thousandths of a degree; cool again below: */
#define COOL	70000

static __u32 is_hot;

static long throttle(unsigned int cpu, unsigned int frequency, unsigned int load,
		     unsigned int min, unsigned int max)
{
	long temperature = zone_temperature();

	if (temperature >= HOT)
		is_hot = 1;
	else if (temperature < COOL)
		is_hot = 0;
	if (is_hot)
		return min;
	if (load > 80)
		return max;
	return load < 20 ? frequency / 2 : frequency;
}

long govern(const struct syscript_cpufreq *cpus)
{
	return throttle(cpus->cpu, cpus->frequency, cpus->load, cpus->min, cpus->max);
}
