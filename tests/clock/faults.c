// SPDX-License-Identifier: GPL-2.0
/*
 * Injects faults into clock.c and watchdog.c of engine/luajit/kernel in the shipped module, by
 * kprobes on its functions. A module parameter turns each fault on.
 *
 *   window_us  delays entering script code, after the run has asked whether
 *              the clock sees it
 *   hasty      the clock stops at the first tick that finds no script code, not after several
 *              in a row
 *   blind      clock_watch() does nothing: no clock sees any run
 *   stolen_us  delays each tick
 *   leaving_us delays leaving a stretch of script code that had a tick
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "engine/luajit/kernel/atomic.h"
#include "engine/luajit/kernel/clock.h"

static uint window_us, stolen_us, leaving_us;
module_param(window_us, uint, 0644);
module_param(stolen_us, uint, 0644);
module_param(leaving_us, uint, 0644);
static bool hasty, blind;
module_param(hasty, bool, 0644);
module_param(blind, bool, 0644);

/* Interrupts are off: those pending arrive right after. */
static void wait(uint us)
{
	while (us--)
		udelay(1);
}

static int enters(struct kprobe *probe, struct pt_regs *regs)
{
	wait(READ_ONCE(window_us));
	return 0;
}

/* A post handler makes the probe a breakpoint: a tick comes after it, not within it. */
static void entered(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static int ticks(struct kprobe *probe, struct pt_regs *regs)
{
	struct hrtimer *timer = (struct hrtimer *)regs->di;

	wait(READ_ONCE(stolen_us));
	if (READ_ONCE(hasty))
		container_of(timer, struct clock, timer)->idle = UINT_MAX / 2;
	return 0;
}

static int accounts(struct kprobe *probe, struct pt_regs *regs)
{
	const struct atomic_run *atomic = (const struct atomic_run *)regs->di;

	if (!atomic->samples.timed)
		wait(READ_ONCE(leaving_us));
	return 0;
}

static noinline notrace void nothing(void)
{
	barrier();
}

/* Called instead of the probed function. */
static int watches(struct kprobe *probe, struct pt_regs *regs)
{
	if (!READ_ONCE(blind))
		return 0;
	regs->ip = (unsigned long)nothing;
	return 1;
}

static struct kprobe probes[] = {
	{ .symbol_name = "syscript_luajit:atomic_stack_on", .pre_handler = enters, .post_handler = entered },
	{ .symbol_name = "syscript_luajit:clock_tick", .pre_handler = ticks },
	{ .symbol_name = "syscript_luajit:clock_watch", .pre_handler = watches },
	{ .symbol_name = "syscript_luajit:account", .pre_handler = accounts },
};

static int __init faults_init(void)
{
	struct kprobe *all[] = { &probes[0], &probes[1], &probes[2], &probes[3] };

	return register_kprobes(all, ARRAY_SIZE(all));
}

static void __exit faults_exit(void)
{
	struct kprobe *all[] = { &probes[0], &probes[1], &probes[2], &probes[3] };

	unregister_kprobes(all, ARRAY_SIZE(all));
}

module_init(faults_init);
module_exit(faults_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Faults for syscript's clock, for tests");
