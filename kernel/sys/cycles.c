// SPDX-License-Identifier: GPL-2.0
/*
 * Implements cycles.h: measures the counter's frequency against the system clock when the module
 * is loaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/printk.h>

#include "compat.h"
#include "cycles.h"

#define MEASURED	(4 * NSEC_PER_MSEC)

static u64 khz __ro_after_init;
u32 cycles_mult __ro_after_init;
EXPORT_SYMBOL_NS_GPL(cycles_mult, COMPAT_NS(SYSCRIPT));

/* Cycles per ms, as this CPU's counter and the system's clock see MEASURED ns. */
static u64 __init measured_khz(void)
{
	u64 since, cycles, ns;
	ktime_t start;

	preempt_disable();
	start = ktime_get();
	since = cycles_now();
	do {
		cpu_relax();
		ns = ktime_to_ns(ktime_sub(ktime_get(), start));
		cycles = cycles_now() - since;
	} while (ns < MEASURED);
	preempt_enable();
	return div64_u64(cycles * NSEC_PER_MSEC, ns);
}

/* Takes the median of three measurements: an interrupt spoils one. */
static u64 __init frequency_khz(void)
{
	u64 a, b, c;

	if (arch_cycles_are_clock())
		return arch_cycles_khz();
	a = measured_khz();
	b = measured_khz();
	c = measured_khz();
	return max(min(a, b), min(max(a, b), c));
}

u64 cycles_in(u64 ns)
{
	return div_u64(khz * ns, NSEC_PER_MSEC);
}
EXPORT_SYMBOL_NS_GPL(cycles_in, COMPAT_NS(SYSCRIPT));

int __init cycles_init(void)
{
	khz = arch_cycles_khz() ? frequency_khz() : 0;
	if (!khz) {
		pr_err("the frequency of this machine's time-stamp counter is not known\n");
		return -ENODEV;
	}
	cycles_mult = (u32)div64_u64((u64)NSEC_PER_MSEC << 22, khz);
	return 0;
}
