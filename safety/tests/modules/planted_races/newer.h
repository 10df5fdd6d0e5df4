/* SPDX-License-Identifier: GPL-2.0 */
/* Names of timers' functions that kernels after 6.12 have changed. */
#ifndef NEWER_H
#define NEWER_H

#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <linux/version.h>

static inline void newer_hrtimer_setup(struct hrtimer *timer,
				       enum hrtimer_restart (*fn)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = fn;
#endif
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define newer_timer_delete_sync	timer_delete_sync
#else
#define newer_timer_delete_sync	del_timer_sync
#endif

#endif
