/* SPDX-License-Identifier: GPL-2.0 */
/* The cpufreq governor `syscript`, whose policy is a program: uapi/syscript_cpufreq.h. */
#ifndef SYSCRIPT_EMBED_CPUFREQ_H
#define SYSCRIPT_EMBED_CPUFREQ_H

#ifdef CONFIG_CPU_FREQ
int cpufreq_init(void);
void cpufreq_exit(void);
#else
static inline int cpufreq_init(void) { return 0; }
static inline void cpufreq_exit(void) { }
#endif

#endif /* SYSCRIPT_EMBED_CPUFREQ_H */
