/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Holding back the network receive softirq.
 *
 * What is sent to this machine itself (loopback, veth) is queued in its CPU's
 * backlog and received in a softirq that runs before the send returns: one pass
 * per packet.  Between backlog_hold() and backlog_release() packets only queue
 * up; the release receives them in one pass.
 */
#ifndef SYSCRIPT_BACKLOG_H
#define SYSCRIPT_BACKLOG_H

#include <linux/preempt.h>
#include <linux/types.h>

struct backlog_hold {
#ifdef CONFIG_PREEMPT_NOTIFIERS
	struct preempt_notifier notifier;
#endif
	bool held;
};

void backlog_init(void);
void backlog_exit(void);

/*
 * For the current task, which may sleep meanwhile: losing the CPU in any way is
 * a release.  Does nothing where the backlog is being worked on already.  What
 * may be queued in between is for the caller to bound: the queue has room for
 * net.core.netdev_max_backlog packets of everyone.
 */
void backlog_hold(struct backlog_hold *hold);
void backlog_release(struct backlog_hold *hold);

#endif /* SYSCRIPT_BACKLOG_H */
