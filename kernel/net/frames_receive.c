// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the receiving part of frames.h: takes frames off the socket's queue.  A script may
 * write to a frame, so its memory is made linear and private: not shared with the page cache or a
 * tap.
 */
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/if_vlan.h>
#include <linux/sched/signal.h>
#include <linux/sctp.h>
#include <linux/skbuff.h>
#include <linux/unistd.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "compat.h"
#include "frames_cut.h"
#include "frames_port.h"
#include "frames_rx.h"
#include "kernel/run_priv.h"

/* -- Frames -------------------------------------------------------------------- */

static void look_at_sum(struct frame *frame, const struct sk_buff *skb)
{
	int start = skb_checksum_start_offset(skb);
	int at = start + skb->csum_offset;

	frame->sum = FRAME_SUM_UNKNOWN;
	if (skb->ip_summed == CHECKSUM_UNNECESSARY) {
		frame->sum = FRAME_SUM_GOOD;
	} else if (skb->ip_summed == CHECKSUM_PARTIAL && start >= 0 &&
		   at + 2 <= (int)skb->len) {
		frame->sum = FRAME_SUM_PARTIAL;
		frame->sum_start = start;
		frame->sum_at = at;
	}
}

void frames_give(struct frames *frames, struct sk_buff *skb)
{
	struct frame *frame = &frames->in[frames->n++];

	frame->len = skb->len;
	frame->udp = 0;
	frame->vlan = skb_vlan_tag_present(skb) ?
		(u32)ntohs(skb->vlan_proto) << 16 | skb_vlan_tag_get(skb) : 0;
	frame->buffer = skb;
	frames_look_at(frame, skb);
	look_at_sum(frame, skb);
}

/* -- Receiving ----------------------------------------------------------------- */

/* Counted in SO_MEMINFO's drops, as packets that found no room in the queue. */
static void drop_frame(struct sock *sk, struct sk_buff *skb)
{
	compat_sk_drops_add(sk, 1);
	kfree_skb(skb);
}

/*
 * Returns pieces to the head of the queue, where the whole frame was.  Wakes waiters, which may
 * have missed them.
 */
static unsigned int put_back(struct sock *sk, struct sk_buff_head *pieces)
{
	unsigned int n = skb_queue_len(pieces);

	if (!n)
		return 0;
	spin_lock_irq(&sk->sk_receive_queue.lock);
	skb_queue_splice(pieces, &sk->sk_receive_queue);
	spin_unlock_irq(&sk->sk_receive_queue.lock);
	sk->sk_data_ready(sk);
	return n;
}

/*
 * Cuts up a GSO frame into pieces, which are charged like single frames: up to @max go to the
 * script, the others back to the queue.  Pieces for which the socket's buffer has no room are
 * dropped, except the first, because other frames may have taken the whole frame's room
 * meanwhile.  Returns the number of pieces put back.
 */
static unsigned int take_pieces(struct frames_port *port, struct sk_buff *skb,
				unsigned int max)
{
	struct sk_buff_head rest;
	struct sock *sk = port->sk;
	struct frames_cut cut;
	struct sk_buff *piece;

	if (!frames_cut_begin(&cut, skb)) {
		drop_frame(sk, skb);
		return 0;
	}
	__skb_queue_head_init(&rest);
	skb_orphan(skb);
	while ((!cut.at || frames_has_buffer(sk)) && (piece = frames_cut_next(&cut))) {
		skb_set_owner_r(piece, sk);
		if (port->frames.n < max)
			frames_give(&port->frames, piece);
		else
			__skb_queue_tail(&rest, piece);
	}
	compat_sk_drops_add(sk, frames_cut_left(&cut));
	consume_skb(skb);
	return put_back(sk, &rest);
}

/*
 * SCTP's checksum is a CRC, which nothing here can complete later.  False if it cannot be
 * completed now.
 */
static bool complete_sctp(struct sk_buff *skb)
{
	int start = skb_checksum_start_offset(skb);

	if (!skb_csum_is_sctp(skb))
		return true;
	if (skb->ip_summed != CHECKSUM_PARTIAL || start < 0 ||
	    start + sizeof(struct sctphdr) > skb->len)
		return false;
	return !skb_csum_hwoffload_help(skb, 0) && !skb_csum_is_sctp(skb);
}

/*
 * Makes the frame private: readers with MSG_PEEK may share it, taps and senders its bytes, and
 * its fragments may be pages of files.  Also clears its device and route: a frame of a socket
 * with a ring (PACKET_COPY_THRESH) still has both, without a reference.
 */
static bool make_private(struct sock *sk, struct sk_buff *skb)
{
	if (!compat_skb_frags_readable(skb) || skb_linearize_cow(skb) || !complete_sctp(skb))
		return false;
	if (unlikely(skb->dev)) {
		skb->dev = NULL;
		skb_dst_drop(skb);
		nf_reset_ct(skb);
	}
	if (unlikely(skb->sk != sk))
		skb_set_owner_r(skb, sk);
	return true;
}

/* Returns the number of frames put back into the queue. */
static unsigned int take_one(struct frames_port *port, struct sk_buff *skb, unsigned int max)
{
	struct sk_buff *ours;

	if (!frames_wants(&port->frames, skb->pkt_type)) {
		consume_skb(skb);
		return 0;
	}
	ours = skb_share_check(skb, GFP_KERNEL);
	if (!ours)
		compat_sk_drops_add(port->sk, 1);
	else if (skb_is_gso(ours))
		return take_pieces(port, ours, max);
	else if (ours->len >= ETH_HLEN && ours->len <= FRAME_MAX && make_private(port->sk, ours))
		frames_give(&port->frames, ours);
	else
		drop_frame(port->sk, ours);
	return 0;
}

/* A GSO packet is dequeued alone: its segments precede later frames. */
static unsigned int count_next(const struct sk_buff_head *queue, unsigned int max)
{
	struct sk_buff *skb;
	unsigned int n = 0;

	skb_queue_walk(queue, skb) {
		if (n == max || (n && skb_is_gso(skb)))
			break;
		n++;
		if (skb_is_gso(skb))
			break;
	}
	return n;
}

static unsigned int dequeue(struct sk_buff_head *queue, struct sk_buff_head *taken,
			    unsigned int max)
{
	unsigned int n, i;

	spin_lock_irq(&queue->lock);
	n = count_next(queue, max);
	if (n == skb_queue_len(queue))
		skb_queue_splice_tail_init(queue, taken);
	else
		for (i = 0; i < n; i++)
			__skb_queue_tail(taken, __skb_dequeue(queue));
	spin_unlock_irq(&queue->lock);
	return n;
}

/* False if the queue was empty.  @left: how many more may be examined. */
static bool take_some(struct frames_port *port, unsigned int max, long *left)
{
	struct sk_buff_head taken;
	struct sk_buff *skb;
	unsigned int n;

	__skb_queue_head_init(&taken);
	n = dequeue(&port->sk->sk_receive_queue, &taken, max - port->frames.n);
	*left -= n;
	while ((skb = __skb_dequeue(&taken)))
		*left += take_one(port, skb, max);
	return n;
}

/*
 * Frames that are not for the script do not count.  Examines at most as many frames as are queued
 * now, because more may arrive faster than they are taken.
 */
static void take_frames(struct frames_port *port, unsigned int max)
{
	long left = skb_queue_len_lockless(&port->sk->sk_receive_queue);

	while (port->frames.n < max && take_some(port, max, &left)) {
		if (left <= 0 || signal_pending(current))
			break;
		cond_resched();
	}
}

/* -- Waiting ------------------------------------------------------------------- */

/* Sleeps until there are enough frames: to be woken for each would undo the batch. */
struct waiter {
	struct wait_queue_entry entry;
	struct sock *sk;
	unsigned int enough;
};

static bool has_enough(const struct waiter *waiter)
{
	return skb_queue_len_lockless(&waiter->sk->sk_receive_queue) >= waiter->enough ||
		READ_ONCE(waiter->sk->sk_err);
}

static int wake_if_enough(struct wait_queue_entry *entry, unsigned int mode, int sync,
			  void *key)
{
	struct waiter *waiter = container_of(entry, struct waiter, entry);

	return has_enough(waiter) ? autoremove_wake_function(entry, mode, sync, key) : 0;
}

bool frames_is_waiter(const struct wait_queue_entry *entry)
{
	return entry->func == wake_if_enough;
}

/* 0, -EINTR, or -ETIME after @until. */
static int wait_for(struct sock *sk, unsigned int enough, ktime_t until)
{
	struct waiter waiter = { .sk = sk, .enough = enough };
	int ret = 0;

	if (has_enough(&waiter))
		return 0;
	waiter.entry.private = current;
	waiter.entry.func = wake_if_enough;
	INIT_LIST_HEAD(&waiter.entry.entry);
	for (;;) {
		prepare_to_wait(sk_sleep(sk), &waiter.entry, TASK_INTERRUPTIBLE);
		if (has_enough(&waiter))
			break;
		ret = signal_pending(current) ? -EINTR : ret;
		if (ret)
			break;
		if (!schedule_hrtimeout_range(until == KTIME_MAX ? NULL : &until, 0,
					      HRTIMER_MODE_ABS))
			ret = -ETIME;
	}
	finish_wait(sk_sleep(sk), &waiter.entry);
	return ret;
}

static int wait_for_first(struct frames_work *work)
{
	if (!work->wait->timeout || work->port->nonblock)
		return -ETIME;
	return wait_for(work->port->sk, 1, work->until);
}

static void wait_for_more(struct frames_work *work)
{
	const struct frames_wait *wait = work->wait;

	if (wait->hold && wait->enough > 1)
		wait_for(work->port->sk, min(wait->enough, wait->max),
			 ktime_add_us(ktime_get(), wait->hold));
}

/* The result of a wait that ended without frames. */
static int end_of_wait(const struct frames_port *port)
{
	int err = sock_error(port->sk);

	return err || !port->rx || !frames_rx_ended(port->rx) ? err : -ENXIO;
}

/* None of the frames taken was for the script: continue, unless this has taken too long. */
static int go_on(const struct frames_work *work)
{
	if (run_is_over(work->run, true) || signal_pending(current))
		return -EINTR;
	return ktime_before(ktime_get(), work->until) ? 0 : -ETIME;
}

static long receive_frames(struct frames_work *work)
{
	struct frames_port *port = work->port;
	struct sock *sk = port->sk;
	int err = frames_ask_to_receive(work->sock);

	if (work->wait->timeout)
		work->until = work->wait->timeout < 0 ? KTIME_MAX :
			      ktime_add_ms(ktime_get(), work->wait->timeout);
	while (!err) {
		if (skb_queue_empty_lockless(&sk->sk_receive_queue)) {
			err = end_of_wait(port);
			err = err ? err : wait_for_first(work);
		}
		if (err)
			break;
		wait_for_more(work);
		take_frames(port, work->wait->max);
		if (port->frames.n)
			return port->frames.n;
		err = go_on(work);
	}
	return err == -ETIME ? 0 : err;
}

/* -- Called by engines --------------------------------------------------------- */

static long receive_call(void *arg)
{
	struct frames_work *work = arg;
	struct frames *frames = &work->port->frames;

	frames_put_received(frames);
	if (frames->nout) {
		frames_call(work, __NR_sendmmsg, frames->nout, frames_send);
		if (work->run->stop_reason)
			return work->run->stop_reason;
	}
	return frames_call(work, __NR_recvmmsg, work->wait->max, receive_frames);
}

long frames_receive(struct run *run, struct frames *frames, const struct frames_wait *wait)
{
	struct frames_work work = { .run = run, .port = frames_port_of(frames), .wait = wait };

	return run_as_syscall(run, receive_call, &work, true);
}
