// SPDX-License-Identifier: GPL-2.0
/*
 * Measures time per line: the time between two checks on a CPU counts for the first, including its
 * own. Time in another task or in user mode counts for none: a lap ends with its system call, or
 * with a page fault from user mode.
 *
 * The table of times by address is allocated at the first use, and stays.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>
#include <asm/tsc.h>

#include "profile.h"
#include "tracepoints.h"

#define TIMES_BITS	14
#define TIMES		(1u << TIMES_BITS)
#define PROBES		32

struct time {
	const struct kgcc_site *site;	/* NULL: free */
	atomic64_t cycles;
};

/* The time that the CPU's last check has started to measure. */
struct lap {
	const struct kgcc_site *site;	/* NULL: nothing */
	const struct task_struct *task;
	unsigned long switches;		/* the task's switches until then */
	u64 since;
};

/* Used by the assembly, too. */
struct static_key_false kgcc_timing = STATIC_KEY_FALSE_INIT;

static struct time *times;
static DEFINE_PER_CPU(struct lap, laps);

static struct time *find(const struct kgcc_site *site, bool add)
{
	unsigned int start = hash_ptr((void *)site, TIMES_BITS);

	for (unsigned int i = 0; i < PROBES; i++) {
		struct time *time = &times[(start + i) % TIMES];
		const struct kgcc_site *is = READ_ONCE(time->site);

		if (is == site)
			return time;
		if (is)
			continue;
		if (!add)
			return NULL;
		is = cmpxchg(&time->site, NULL, site);
		if (!is || is == site)
			return time;
	}
	return NULL;
}

static unsigned long switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static void end_lap(struct lap *lap, u64 now)
{
	struct time *time;

	if (!lap->site || lap->task != current || lap->switches != switches_of(current))
		return;
	time = find(lap->site, true);
	if (time)
		atomic64_add(now - lap->since, &time->cycles);
}

void kgcc_profile_hit(struct kgcc_site *site)
{
	u64 now = get_cycles();
	unsigned long flags;
	struct lap *lap;

	/* Checks in interrupts must not come between. */
	local_irq_save(flags);
	lap = this_cpu_ptr(&laps);
	end_lap(lap, now);
	lap->site = site;
	lap->task = current;
	lap->switches = switches_of(current);
	lap->since = get_cycles();
	local_irq_restore(flags);
}

u64 kgcc_profile_ns(const struct kgcc_site *site)
{
	const struct time *time = times ? find(site, false) : NULL;

	return time ? mul_u64_u32_div(atomic64_read(&time->cycles), USEC_PER_SEC, tsc_khz) : 0;
}

/* The entry stays occupied: a search for later ones goes on past it. */
void kgcc_profile_forget(unsigned long start, unsigned long end)
{
	for (unsigned int i = 0; times && i < TIMES; i++) {
		unsigned long site = (unsigned long)times[i].site;

		if (site < start || site >= end)
			continue;
		atomic64_set(&times[i].cycles, 0);
		WRITE_ONCE(times[i].site, (void *)1);
	}
}

/* -- to user mode, and from there -------------------------------------------------- */

static void on_exit(void *data, struct pt_regs *regs, long result)
{
	unsigned long flags;

	local_irq_save(flags);
	end_lap(this_cpu_ptr(&laps), get_cycles());
	this_cpu_write(laps.site, NULL);
	local_irq_restore(flags);
}

/* The CPU has been in user mode since the lap began. */
static void on_fault(void *data, unsigned long address, struct pt_regs *regs,
		     unsigned long error)
{
	this_cpu_write(laps.site, NULL);
}

static struct tracepoint_probe probes[] = {
	{ "sys_exit", on_exit },
	{ "page_fault_user", on_fault },
};

int kgcc_profile_on(void)
{
	int err;

	if (!times)
		times = kvcalloc(TIMES, sizeof(*times), GFP_KERNEL);
	if (!times)
		return -ENOMEM;
	err = tracepoint_probes_on(probes, ARRAY_SIZE(probes));
	if (!err)
		static_branch_enable(&kgcc_timing);
	return err;
}

void kgcc_profile_off(void)
{
	static_branch_disable(&kgcc_timing);
	tracepoint_probes_off(probes, ARRAY_SIZE(probes));
}

void kgcc_profile_exit(void)
{
	kvfree(times);
}
