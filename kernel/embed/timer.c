// SPDX-License-Identifier: GPL-2.0
/* Programs that are called periodically, by <linux/syscript_program.h> and nothing else. */
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/syscript_program.h>
#include <linux/workqueue.h>

#include "events.h"
#include "uapi/syscript_events.h"

#define FUEL	16384	/* 0.8 ms at most */
#define MS_MIN	10
#define MS_MAX	3600000

struct timer {
	struct delayed_work work;
	struct syscript_hook *hook;
	u64 number;
	u32 ms;
};

static void periodic_call(struct work_struct *work)
{
	struct timer *timer = container_of(to_delayed_work(work), struct timer, work);
	struct syscript_event event;
	u32 ms = timer->ms;

	if (syscript_hook_begin(timer->hook, &event)) {
		*(struct syscript_timer *)syscript_event_view(&event) = (struct syscript_timer){
			.number = timer->number++, .now = (u64)jiffies * TICK_NSEC,
		};
		syscript_hook_run(&event);
	}
	if (event.result)
		ms = max_t(u32, event.result, MS_MIN);
	schedule_delayed_work(&timer->work, msecs_to_jiffies(ms));
}

static int periodic_attach(struct syscript_hook *hook, struct net *net, const char *where,
			     char *error, size_t len)
{
	struct timer *timer;
	u32 ms;

	if (kstrtou32(where, 10, &ms) || ms < MS_MIN || ms > MS_MAX) {
		scnprintf(error, len, "a timer has %u to %u ms, and not '%s'", MS_MIN, MS_MAX,
			  where);
		return -EINVAL;
	}
	timer = kzalloc(sizeof(*timer), GFP_KERNEL_ACCOUNT);
	if (!timer)
		return -ENOMEM;
	INIT_DELAYED_WORK(&timer->work, periodic_call);
	timer->hook = hook;
	timer->ms = ms;
	syscript_hook_set_private(hook, timer);
	schedule_delayed_work(&timer->work, msecs_to_jiffies(ms));
	return 0;
}

static void periodic_detach(struct syscript_hook *hook)
{
	struct timer *timer = syscript_hook_private(hook);

	cancel_delayed_work_sync(&timer->work);
	kfree(timer);
}

static const struct syscript_prog_type prog_type = {
	.name = "timer", .owner = THIS_MODULE,
	.view_size = sizeof(struct syscript_timer), .fuel = FUEL,
	.low = 0, .high = MS_MAX,
	.attach = periodic_attach, .detach = periodic_detach,
};

int embed_timer_init(void)
{
	return syscript_prog_type_register(&prog_type);
}

void embed_timer_exit(void)
{
	syscript_prog_type_unregister(&prog_type);
}
