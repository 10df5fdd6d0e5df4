/* SPDX-License-Identifier: GPL-2.0 */
/* Words of reports. */
#ifndef SAFETY_WORDS_H
#define SAFETY_WORDS_H

#include <linux/preempt.h>

static inline const char *plural(unsigned long n)
{
	return n == 1 ? "" : "s";
}

static inline const char *context(void)
{
	if (in_nmi())
		return "NMI";
	if (in_hardirq())
		return "hardirq";
	if (in_serving_softirq())
		return "softirq";
	return "task";
}

#endif
