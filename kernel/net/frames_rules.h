/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the stack would ask about a datagram, or about a reply to it, and a frame that is
 * taken from it escapes: see net.frames(fd, all, "unfiltered").
 */
#ifndef SYSCRIPT_FRAMES_RULES_H
#define SYSCRIPT_FRAMES_RULES_H

#include <linux/types.h>

struct sk_buff;
struct sock;

/*
 * Does anything filter what comes by @skb's device for @sk's process, or what that sends?
 * Under RCU.
 */
bool frames_rules_filter(struct sock *sk, const struct sk_buff *skb);

#endif /* SYSCRIPT_FRAMES_RULES_H */
