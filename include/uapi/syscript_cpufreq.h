/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Programs that choose the frequency of CPUs: for CPUs whose governor is `syscript`
 * (/sys/devices/system/cpu/cpufreq/).
 *
 * The first function of a program is called every 50 ms for each group of CPUs that share
 * a frequency, with the address of a struct syscript_cpufreq.  It returns their new
 * frequency in kHz, or SYSCRIPT_CPUFREQ_DEFAULT.  The driver uses the nearest one that it
 * supports, within @min and @max.
 *
 * The machine has one such program at a time, attached at the name of a thermal zone, as in
 * /sys/class/thermal/thermal_zone0/type, or at an empty name.
 */
#ifndef _UAPI_SYSCRIPT_CPUFREQ_H
#define _UAPI_SYSCRIPT_CPUFREQ_H

#include <linux/types.h>

/* The least frequency at which the load would be 80 %: the default on errors. */
#define SYSCRIPT_CPUFREQ_DEFAULT	0

/* zone_temperature() without a zone, or if it cannot be read. */
#define SYSCRIPT_CPUFREQ_NO_TEMPERATURE	(-274000)

/**
 * struct syscript_cpufreq - CPUs that share a frequency
 * @cpu:       the first of the CPUs
 * @frequency: the current one, in kHz
 * @load:      percent of the last 50 ms in which the busiest CPU was not idle
 * @min, @max: bounds of the frequency, in kHz
 *
 * Functions that it may call, beside those of all subsystems (syscript_program.h):
 *
 *   cpu_load(cpu)       load of any CPU at its last measurement, in percent like @load; -1: no
 *                       such CPU
 *   zone_temperature()  temperature of the thermal zone, in thousandths of a degree Celsius
 */
struct syscript_cpufreq {
	__u32 cpu;
	__u32 frequency;
	__u32 load;
	__u32 min, max;
	__u32 zero;
};

#ifdef __bpf__
long cpu_load(unsigned long cpu);
long zone_temperature(void);
#endif

#endif /* _UAPI_SYSCRIPT_CPUFREQ_H */
