// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the sending part of frames.h: a batch of frames is sent as a packet socket would
 * send each, with one check of permissions and one wake-up.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/limits.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/unistd.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "frames_port.h"
#include "kernel/run_priv.h"

/* -- Sending ------------------------------------------------------------------- */

static int check_length(const struct net_device *dev, const struct frame *frame)
{
	unsigned int most = READ_ONCE(dev->mtu) + dev->hard_header_len;

	if (frame->len < dev->hard_header_len)
		return -EINVAL;
	if (((struct ethhdr *)frame->data)->h_proto == htons(ETH_P_8021Q))
		most += VLAN_HLEN;
	return frame->len > most ? -EMSGSIZE : 0;
}

/* Clears all state that belongs to the frame's reception. */
static void scrub_frame(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_reset_redirect(skb);
	skb_clear_hash(skb);
	skb_gso_reset(skb);
	/* Timestamps requested by the sender would fill our socket's error queue. */
	skb_shinfo(skb)->tx_flags = 0;
	skb->tstamp = 0;
	skb->encapsulation = 0;
	memset(skb->cb, 0, sizeof(skb->cb));
#ifdef CONFIG_NETFILTER_SKIP_EGRESS
	skb->nf_skip_egress = 0;	/* may be set by a redirect of a peer device */
#endif
#if defined(CONFIG_NET_RX_BUSY_POLL) || defined(CONFIG_XPS)
	skb->napi_id = 0;
#endif
}

static void set_sum(struct sk_buff *skb, const struct frame *frame)
{
	skb->ip_summed = CHECKSUM_NONE;
	if (frame->sum != FRAME_SUM_PARTIAL || frame->sum_at + 2u > frame->len)
		return;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_headroom(skb) + frame->sum_start;
	skb->csum_offset = frame->sum_at - frame->sum_start;
}

static void set_headers(struct sk_buff *skb, const struct frame *frame)
{
	skb_reset_mac_header(skb);
	skb->mac_len = ETH_HLEN;
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_transport_header(skb, frame->sum == FRAME_SUM_PARTIAL ?
				 frame->sum_start : ETH_HLEN);
	skb->protocol = eth_hdr(skb)->h_proto;
}

/* Prepares the frame as packet_snd() would. */
static struct sk_buff *prepare_frame(struct frames_port *port, struct net_device *dev,
			       struct frame *frame)
{
	struct sk_buff *skb = frame->buffer;

	scrub_frame(skb);
	frames_set_length(skb, frame->len);
	set_sum(skb, frame);
	set_headers(skb, frame);
	skb->dev = dev;
	skb->priority = READ_ONCE(port->sk->sk_priority);
	skb->mark = READ_ONCE(port->sk->sk_mark);
	skb_set_owner_w(skb, port->sk);
	frame->buffer = NULL;
	return skb;
}

/* Does the device have an egress filter?  Frames then go through dev_queue_xmit(). */
static bool has_egress_filter(const struct net_device *dev)
{
#ifdef CONFIG_NETFILTER_EGRESS
	return rcu_access_pointer(dev->nf_hooks_egress);
#else
	return false;
#endif
}

static u16 pick_queue(struct net_device *dev, struct sk_buff *skb)
{
	const struct net_device_ops *ops = dev->netdev_ops;
	unsigned int n = READ_ONCE(dev->real_num_tx_queues);
	u16 queue;

	if (n == 1)
		return 0;
#ifdef CONFIG_XPS
	skb->sender_cpu = raw_smp_processor_id() + 1;
#endif
	skb_record_rx_queue(skb, raw_smp_processor_id() % n);
	queue = ops->ndo_select_queue ? ops->ndo_select_queue(dev, skb, NULL) :
					netdev_pick_tx(dev, skb, NULL);
	return queue < n ? queue : 0;
}

/* Sends through the queueing discipline or past it, as the packet socket is set. */
static int transmit(const struct frames_port *port, struct sk_buff *skb)
{
	if (port->direct && !has_egress_filter(skb->dev))
		return dev_direct_xmit(skb, pick_queue(skb->dev, skb));
	return dev_queue_xmit(skb);
}

static int send_one(struct frames_port *port, struct net_device *dev, struct frame *frame)
{
	int err = check_length(dev, frame);

	if (err) {
		frames_put(frame);
		return err;
	}
	err = transmit(port, prepare_frame(port, dev, frame));
	return err > 0 ? net_xmit_errno(err) : err;
}

/**
 * struct flush - progress of a flush
 * @err:  the first error
 * @held: bytes of the send buffer reserved by hold_buffer()
 */
struct flush {
	unsigned int next, sent;
	int err, held;
};

static bool has_room(const struct sock *sk, const struct flush *flush)
{
	return sk_wmem_alloc_get(sk) - flush->held < READ_ONCE(sk->sk_sndbuf);
}

/*
 * If half of the send buffer is free, each freed frame wakes the waiting senders, but one wake-up
 * after the section is enough.  So the flush reserves half of the buffer until then.  It does not
 * if half is in use, or reserved by another CPU: freed frames then wake no one, and two halves
 * would leave no room.
 */
static void hold_buffer(struct sock *sk, struct flush *flush)
{
	int half = READ_ONCE(sk->sk_sndbuf) / 2;
	int used = refcount_read(&sk->sk_wmem_alloc);

	/* All reservations together must not overflow the counter. */
	if (half > INT_MAX / 4)
		return;
	while (used <= half && !flush->held)
		if (atomic_try_cmpxchg_relaxed(&sk->sk_wmem_alloc.refs, &used, used + half + 1))
			flush->held = half + 1;
}

/* The file holds the socket, so this is not its last reference. */
static void release_buffer(struct sock *sk, struct flush *flush)
{
	if (!flush->held)
		return;
	WARN_ON_ONCE(refcount_sub_and_test(flush->held, &sk->sk_wmem_alloc));
	flush->held = 0;
	sk->sk_write_space(sk);
}

/*
 * Disables bottom halves once for all frames: handling 16 frames at once costs less than 16 times
 * one.
 */
static void send_section(struct frames_work *work, struct flush *flush)
{
	struct frames_port *port = work->port;
	struct net_device *dev;
	int err = 0;

	rcu_read_lock();
	local_bh_disable();
	dev = frames_device(work->sock);
	if (!dev)
		err = -ENXIO;
	else if (!frames_is_ethernet(dev))
		err = -EDESTADDRREQ;
	else if (!(dev->flags & IFF_UP))
		err = -ENETDOWN;
	hold_buffer(port->sk, flush);
	while (flush->next < port->frames.nout && has_room(port->sk, flush)) {
		struct frame *frame = &port->frames.out[flush->next++];
		int ret = err;

		if (err)
			frames_put(frame);
		else
			ret = send_one(port, dev, frame);
		frame->data = NULL;
		if (!ret)
			flush->sent++;
		else if (!flush->err)
			flush->err = ret;
	}
	release_buffer(port->sk, flush);
	local_bh_enable();
	rcu_read_unlock();
}

/* Waits as sendmmsg(2) does.  False: the remaining frames stay queued. */
static bool wait_for_room(struct frames_work *work, struct flush *flush)
{
	struct sock *sk = work->port->sk;
	long left = work->port->nonblock ? 0 : READ_ONCE(sk->sk_sndtimeo);

	set_bit(SOCK_NOSPACE, &work->sock->flags);
	left = wait_event_interruptible_timeout(*sk_sleep(sk), has_room(sk, flush), left);
	if (left > 0)
		return true;
	flush->err = flush->err ? flush->err : left ? -EINTR : -EAGAIN;
	return false;
}

/* Moves the remaining frames to the front. */
static void close_ranks(struct frames *frames, unsigned int gone)
{
	frames->nout -= gone;
	memmove(frames->out, frames->out + gone, frames->nout * sizeof(frames->out[0]));
	memset(frames->out + frames->nout, 0, gone * sizeof(frames->out[0]));
}

long frames_send(struct frames_work *work)
{
	struct frames *frames = &work->port->frames;
	struct flush flush = { .err = frames_ask_to_send(work->sock) };

	if (flush.err)
		return flush.err;
	do {
		send_section(work, &flush);
	} while (flush.next < frames->nout && wait_for_room(work, &flush));
	close_ranks(frames, flush.next);
	return flush.sent ? (long)flush.sent : flush.err;
}

/* -- Called by engines --------------------------------------------------------- */

static long flush_call(void *arg)
{
	struct frames_work *work = arg;

	return frames_call(work, __NR_sendmmsg, work->port->frames.nout, frames_send);
}

long frames_flush(struct run *run, struct frames *frames)
{
	struct frames_work work = { .run = run, .port = frames_port_of(frames) };

	return frames->nout ? run_as_syscall(run, flush_call, &work, true) : 0;
}
