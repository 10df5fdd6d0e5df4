// SPDX-License-Identifier: GPL-2.0
/*
 * See frames.h.  A received frame stays charged to the socket's receive buffer for as
 * long as a script has it; a sent one is charged to its send buffer.  The socket is
 * held for as long as frames charged to it are: to the end of the run, or of the next
 * one if a script keeps them.
 *
 * What a script writes to is memory of a frame that is linear and that no one else
 * has: no page cache, no copy of a tap.
 */
#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/if_packet.h>
#include <linux/if_vlan.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/sched/signal.h>
#include <linux/sctp.h>
#include <linux/security.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/unistd.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "compat.h"
#include "frames.h"
#include "frames_cut.h"
#include "frames_own.h"
#include "frames_rx.h"
#include "run_own.h"
#include "symbols.h"
#include "watchers.h"

struct frames_port {
	struct frames frames;
	struct frames_port *next;	/* of the program */
	struct sock *sk;		/* held, or NULL */
	struct frames_rx *rx;		/* takes frames from the stack, or NULL */
	bool nonblock;
};

/**
 * struct work - a call on a port
 * @sock:  its socket, while the call lasts
 * @wait:  of a receive
 * @until: when that has waited long enough for its first frame
 */
struct work {
	struct run *run;
	struct frames_port *port;
	struct socket *sock;
	const struct frames_wait *wait;
	ktime_t until;
};

/* -- Security modules ---------------------------------------------------------- */

static int may_not_send(struct socket *sock, struct msghdr *msg, int size)
{
	return -EOPNOTSUPP;
}

static int may_not_receive(struct socket *sock, struct msghdr *msg, int size, int flags)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(frames_may_send, may_not_send);
DEFINE_STATIC_CALL(frames_may_receive, may_not_receive);
static bool can_ask __ro_after_init = !IS_ENABLED(CONFIG_SECURITY_NETWORK);

void __init frames_init(void)
{
	void *send = symbols_find("security_socket_sendmsg");
	void *receive = symbols_find("security_socket_recvmsg");

	if (!send || !receive)
		return;
	static_call_update(frames_may_send, send);
	static_call_update(frames_may_receive, receive);
	can_ask = true;
}

/* Both, as recvmmsg(2) and sendmmsg(2) do: once a batch. */
static int ask_to_send(struct socket *sock)
{
	struct msghdr msg = { };

	return IS_ENABLED(CONFIG_SECURITY_NETWORK) ?
		static_call(frames_may_send)(sock, &msg, 0) : 0;
}

static int ask_to_receive(struct socket *sock)
{
	struct msghdr msg = { };

	return IS_ENABLED(CONFIG_SECURITY_NETWORK) ?
		static_call(frames_may_receive)(sock, &msg, 0, 0) : 0;
}

/* -- The socket ---------------------------------------------------------------- */

/* The device that it is bound to, under RCU, or NULL. */
static struct net_device *device_of(struct socket *sock)
{
	struct sockaddr_storage address = { };
	struct sockaddr_ll *ll = (struct sockaddr_ll *)&address;

	if (sock->ops->getname(sock, (struct sockaddr *)&address, 0) < 0)
		return NULL;
	return ll->sll_ifindex > 0 ?
		dev_get_by_index_rcu(sock_net(sock->sk), ll->sll_ifindex) : NULL;
}

static bool is_ethernet(const struct net_device *dev)
{
	return (dev->type == ARPHRD_ETHER || dev->type == ARPHRD_LOOPBACK) &&
		dev->hard_header_len >= ETH_HLEN && dev->header_ops;
}

static bool is_packet(const struct socket *sock)
{
	return sock->sk->sk_family == PF_PACKET && sock->type == SOCK_RAW;
}

static int check_socket(struct socket *sock)
{
	struct net_device *dev;
	int err;

	if (!is_packet(sock))
		return -ESOCKTNOSUPPORT;
	rcu_read_lock();
	dev = device_of(sock);
	err = dev && is_ethernet(dev) ? 0 : -EDESTADDRREQ;
	rcu_read_unlock();
	return err;
}

/* For this run, the port is this socket's. */
static int bind_port(struct frames_port *port, struct socket *sock)
{
	if (port->sk && port->sk != sock->sk)
		return -ESTALE;
	if (!is_packet(sock))
		return -ESOCKTNOSUPPORT;
	if (!port->sk) {
		sock_hold(sock->sk);
		port->sk = sock->sk;
	}
	port->nonblock = sock->file->f_flags & O_NONBLOCK;
	return 0;
}

/* Calls fn(work) with the port's socket. */
static long with_socket(struct work *work, long (*fn)(struct work *work))
{
	long ret;
	int err;

	work->sock = sockfd_lookup(work->port->frames.fd, &err);
	if (!work->sock)
		return err;
	ret = bind_port(work->port, work->sock);
	if (!ret)
		ret = fn(work);
	sockfd_put(work->sock);
	return ret;
}

/* What it stands for, to watchers, is one call for all frames. */
static long shown(struct work *work, unsigned int nr, unsigned int n,
		  long (*fn)(struct work *work))
{
	struct watchers_call call = { .nr = nr, .args = { work->port->frames.fd, 0, n } };

	if (likely(!watchers_watch()))
		return with_socket(work, fn);
	return watchers_ask(work->run, &call) ?: watchers_done(&call, with_socket(work, fn));
}

/* -- Frames -------------------------------------------------------------------- */

static void put_frame(struct frame *frame)
{
	kfree_skb(frame->buffer);
	frame->buffer = NULL;
	frame->data = NULL;
}

static void put_received(struct frames *frames)
{
	unsigned int i;

	for (i = 0; i < frames->n; i++)
		if (frames->in[i].buffer)
			put_frame(&frames->in[i]);
	frames_next_batch(frames);
}

static void put_queued(struct frames *frames)
{
	while (frames->nout)
		put_frame(&frames->out[--frames->nout]);
}

/* What has the frame's memory may have moved it. */
static void look_at(struct frame *frame, struct sk_buff *skb)
{
	frame->data = skb->data;
	frame->room = min_t(unsigned int, skb->len + skb_tailroom(skb), FRAME_MAX);
}

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

static void give_frame(struct frames *frames, struct sk_buff *skb)
{
	struct frame *frame = &frames->in[frames->n++];

	frame->len = skb->len;
	frame->udp = 0;
	frame->vlan = skb_vlan_tag_present(skb) ?
		(u32)ntohs(skb->vlan_proto) << 16 | skb_vlan_tag_get(skb) : 0;
	frame->buffer = skb;
	look_at(frame, skb);
	look_at_sum(frame, skb);
}

/* -- Receiving ----------------------------------------------------------------- */

/* Counted where what there was no room for is, see SO_MEMINFO. */
static void drop(struct sock *sk, struct sk_buff *skb)
{
	compat_sk_drops_add(sk, 1);
	kfree_skb(skb);
}

static bool has_buffer(const struct sock *sk)
{
	return atomic_read(&sk->sk_rmem_alloc) < READ_ONCE(sk->sk_rcvbuf);
}

/* To the queue's head, where what they are pieces of was. */
static unsigned int put_back(struct sock *sk, struct sk_buff_head *pieces)
{
	unsigned int n = skb_queue_len(pieces);

	if (!n)
		return 0;
	spin_lock_irq(&sk->sk_receive_queue.lock);
	skb_queue_splice(pieces, &sk->sk_receive_queue);
	spin_unlock_irq(&sk->sk_receive_queue.lock);
	return n;
}

/*
 * One frame that stands for several, in pieces which are charged like what came by
 * itself: as many as there are to be are the script's, others the queue's.  What the
 * socket's buffer has no room for is dropped, but the first is not: others may have
 * taken the whole's place meanwhile.  Returns how many are in the queue.
 */
static unsigned int take_pieces(struct frames_port *port, struct sk_buff *skb,
				unsigned int max)
{
	struct sk_buff_head rest;
	struct sock *sk = port->sk;
	struct frames_cut cut;
	struct sk_buff *piece;

	if (!frames_cut_begin(&cut, skb)) {
		drop(sk, skb);
		return 0;
	}
	__skb_queue_head_init(&rest);
	skb_orphan(skb);
	while ((!cut.at || has_buffer(sk)) && (piece = frames_cut_next(&cut))) {
		skb_set_owner_r(piece, sk);
		if (port->frames.n < max)
			give_frame(&port->frames, piece);
		else
			__skb_queue_tail(&rest, piece);
	}
	compat_sk_drops_add(sk, frames_cut_left(&cut));
	consume_skb(skb);
	return put_back(sk, &rest);
}

static bool has_length(const struct sk_buff *skb)
{
	return skb->len >= ETH_HLEN && skb->len <= FRAME_MAX;
}

/* An SCTP checksum is no sum, and nothing here completes it later.  False: it cannot be. */
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
 * Makes it the script's alone: who peeks at the queue has it as well, taps and
 * senders may have its bytes, and fragments may be of files.  Nor does it know any
 * more where it came from: from next to a ring (PACKET_COPY_THRESH) come frames with a
 * device that they do not hold, and with a route.
 */
static bool own(struct sock *sk, struct sk_buff *skb)
{
	if (!compat_skb_frags_readable(skb) || skb_linearize_cow(skb) || !complete_sctp(skb))
		return false;
	skb->dev = NULL;
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	if (unlikely(skb->sk != sk))
		skb_set_owner_r(skb, sk);
	return true;
}

/* How many it has become, in the queue. */
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
	else if (has_length(ours) && own(port->sk, ours))
		give_frame(&port->frames, ours);
	else
		drop(port->sk, ours);
	return 0;
}

/* One that stands for several is taken alone: its pieces come before what came after it. */
static unsigned int dequeue(struct sk_buff_head *queue, struct sk_buff_head *taken,
			    unsigned int max)
{
	unsigned int n = 0;
	struct sk_buff *skb;

	spin_lock_irq(&queue->lock);
	while (n < max && (skb = skb_peek(queue))) {
		bool whole = skb_is_gso(skb);

		if (whole && n)
			break;
		__skb_unlink(skb, queue);
		__skb_queue_tail(taken, skb);
		n++;
		if (whole)
			break;
	}
	spin_unlock_irq(&queue->lock);
	return n;
}

/* False: there was none.  @left: how many more to look at. */
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
 * Those that are not for us do not count, and others may be there; but no more than
 * there are now, as they may come faster than this.
 */
static void take(struct frames_port *port, unsigned int max)
{
	long left = skb_queue_len_lockless(&port->sk->sk_receive_queue);

	while (port->frames.n < max && take_some(port, max, &left)) {
		if (left <= 0 || signal_pending(current))
			break;
		cond_resched();
	}
}

/* -- Waiting ------------------------------------------------------------------- */

/* Sleeps until there are enough: a wake-up for each frame would be the batch's end. */
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

static int wake(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct waiter *waiter = container_of(entry, struct waiter, entry);

	return has_enough(waiter) ? autoremove_wake_function(entry, mode, sync, key) : 0;
}

/* 0, -EINTR, or -ETIME after @until. */
static int wait_for(struct sock *sk, unsigned int enough, ktime_t until)
{
	struct waiter waiter = { .sk = sk, .enough = enough };
	int ret = 0;

	if (has_enough(&waiter))
		return 0;
	waiter.entry.private = current;
	waiter.entry.func = wake;
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

static int wait_for_first(struct work *work)
{
	if (!work->wait->timeout || work->port->nonblock)
		return -ETIME;
	return wait_for(work->port->sk, 1, work->until);
}

static void wait_for_more(struct work *work)
{
	const struct frames_wait *wait = work->wait;

	if (wait->hold && wait->enough > 1)
		wait_for(work->port->sk, min(wait->enough, wait->max),
			 ktime_add_us(ktime_get(), wait->hold));
}

/* What ends a wait without frames. */
static int end_of_wait(const struct frames_port *port)
{
	int err = sock_error(port->sk);

	return err || !port->rx || !frames_rx_ended(port->rx) ? err : -ENXIO;
}

/* None that was taken is for us: on, unless that has kept us busy for too long. */
static int go_on(const struct work *work)
{
	if (run_is_over(work->run, true) || signal_pending(current))
		return -EINTR;
	return ktime_before(ktime_get(), work->until) ? 0 : -ETIME;
}

static long receive(struct work *work)
{
	struct frames_port *port = work->port;
	struct sock *sk = port->sk;
	int err = ask_to_receive(work->sock);

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
		take(port, work->wait->max);
		if (port->frames.n)
			return port->frames.n;
		err = go_on(work);
	}
	return err == -ETIME ? 0 : err;
}

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

/* All that it brought along from where it was received is gone then. */
static void scrub(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_reset_redirect(skb);
	skb_clear_hash(skb);
	skb_gso_reset(skb);
	/* Time stamps that the sender asked for would go to our error queue, and fill it. */
	skb_shinfo(skb)->tx_flags = 0;
	skb->tstamp = 0;
	skb->encapsulation = 0;
#if defined(CONFIG_NET_RX_BUSY_POLL) || defined(CONFIG_XPS)
	skb->napi_id = 0;
#endif
}

static void set_length(struct sk_buff *skb, unsigned int len)
{
	skb->len = 0;
	skb_reset_tail_pointer(skb);
	__skb_put(skb, len);
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

/* As packet_snd() would have made it. */
static struct sk_buff *prepare(struct frames_port *port, struct net_device *dev,
			       struct frame *frame)
{
	struct sk_buff *skb = frame->buffer;

	scrub(skb);
	set_length(skb, frame->len);
	set_sum(skb, frame);
	set_headers(skb, frame);
	skb->dev = dev;
	skb->priority = READ_ONCE(port->sk->sk_priority);
	skb->mark = READ_ONCE(port->sk->sk_mark);
	skb_set_owner_w(skb, port->sk);
	frame->buffer = NULL;
	return skb;
}

static int send_one(struct frames_port *port, struct net_device *dev, struct frame *frame)
{
	int err = check_length(dev, frame);

	if (err) {
		put_frame(frame);
		return err;
	}
	err = dev_queue_xmit(prepare(port, dev, frame));
	return err > 0 ? net_xmit_errno(err) : err;
}

/* How far a flush is. */
struct flush {
	unsigned int next, sent;
	int err;	/* the first */
};

static bool has_room(const struct sock *sk)
{
	return sk_wmem_alloc_get(sk) < READ_ONCE(sk->sk_sndbuf);
}

/* Bottom halves once for all: what they do with 16 frames costs less than 16 times. */
static void send_section(struct work *work, struct flush *flush)
{
	struct frames_port *port = work->port;
	struct net_device *dev;
	int err = 0;

	rcu_read_lock();
	local_bh_disable();
	dev = device_of(work->sock);
	if (!dev)
		err = -ENXIO;
	else if (!is_ethernet(dev))
		err = -EDESTADDRREQ;
	else if (!(dev->flags & IFF_UP))
		err = -ENETDOWN;
	while (flush->next < port->frames.nout && has_room(port->sk)) {
		struct frame *frame = &port->frames.out[flush->next++];
		int ret = err;

		if (err)
			put_frame(frame);
		else
			ret = send_one(port, dev, frame);
		frame->data = NULL;
		if (!ret)
			flush->sent++;
		else if (!flush->err)
			flush->err = ret;
	}
	local_bh_enable();
	rcu_read_unlock();
}

/* As sendmmsg(2) waits.  False: what is left stays where it is. */
static bool wait_for_room(struct work *work, struct flush *flush)
{
	struct sock *sk = work->port->sk;
	long left = work->port->nonblock ? 0 : READ_ONCE(sk->sk_sndtimeo);

	set_bit(SOCK_NOSPACE, &work->sock->flags);
	left = wait_event_interruptible_timeout(*sk_sleep(sk), has_room(sk), left);
	if (left > 0)
		return true;
	flush->err = flush->err ? flush->err : left ? -EINTR : -EAGAIN;
	return false;
}

/* Those that are left come first next time. */
static void close_ranks(struct frames *frames, unsigned int gone)
{
	frames->nout -= gone;
	memmove(frames->out, frames->out + gone, frames->nout * sizeof(frames->out[0]));
	memset(frames->out + frames->nout, 0, gone * sizeof(frames->out[0]));
}

static long send_all(struct work *work)
{
	struct frames *frames = &work->port->frames;
	struct flush flush = { .err = ask_to_send(work->sock) };

	if (flush.err)
		return flush.err;
	do {
		send_section(work, &flush);
	} while (flush.next < frames->nout && wait_for_room(work, &flush));
	close_ranks(frames, flush.next);
	return flush.sent ? (long)flush.sent : flush.err;
}

/* -- What engines call --------------------------------------------------------- */

static struct frames_port *port_of(struct frames *frames)
{
	return container_of(frames, struct frames_port, frames);
}

static long receive_call(void *arg)
{
	struct work *work = arg;
	struct frames *frames = &work->port->frames;

	put_received(frames);
	if (frames->nout) {
		shown(work, __NR_sendmmsg, frames->nout, send_all);
		if (work->run->doom)
			return work->run->doom;
	}
	return shown(work, __NR_recvmmsg, work->wait->max, receive);
}

long frames_receive(struct run *run, struct frames *frames, const struct frames_wait *wait)
{
	struct work work = { .run = run, .port = port_of(frames), .wait = wait };

	return run_as_syscall(run, receive_call, &work, true);
}

static long flush_call(void *arg)
{
	struct work *work = arg;

	return shown(work, __NR_sendmmsg, work->port->frames.nout, send_all);
}

long frames_flush(struct run *run, struct frames *frames)
{
	struct work work = { .run = run, .port = port_of(frames) };

	return frames->nout ? run_as_syscall(run, flush_call, &work, true) : 0;
}

/* A frame in the making, and one that needs more room. */
struct room {
	struct work work;
	struct frame *frame;
	unsigned int room;
};

static long build(struct work *work)
{
	const struct room *room = container_of(work, struct room, work);
	struct frames *frames = &work->port->frames;
	struct sock *sk = work->port->sk;
	struct sk_buff *skb;

	if (frames->n == FRAMES_MAX || !has_buffer(sk))
		return -ENOBUFS;
	skb = alloc_skb(LL_MAX_HEADER + room->room, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_set_owner_r(skb, sk);
	give_frame(frames, skb);
	return frames->n - 1;
}

static long build_call(void *arg)
{
	return with_socket(arg, build);
}

long frames_build(struct run *run, struct frames *frames, unsigned int room)
{
	struct room new = { .work = { .run = run, .port = port_of(frames) }, .room = room };

	return room > FRAME_MAX ? -ENOBUFS : run_outside(run, build_call, &new.work);
}

/* Charged anew, for what it takes then. */
static long grow(void *arg)
{
	struct room *room = arg;
	struct sk_buff *skb = room->frame->buffer;
	struct sock *sk = room->work.port->sk;
	int err;

	if (!has_buffer(sk))
		return -ENOBUFS;
	set_length(skb, room->frame->len);
	skb_orphan(skb);
	err = pskb_expand_head(skb, 0, room->room - skb->len - skb_tailroom(skb), GFP_KERNEL);
	skb_set_owner_r(skb, sk);
	look_at(room->frame, skb);
	return err;
}

/* Room in front of the frame will do: most devices leave some there. */
static bool move_up(struct frame *frame, unsigned int room)
{
	unsigned int by = round_up(room - frame->room, 16), len = frame->len;
	struct sk_buff *skb = frame->buffer;

	set_length(skb, len);
	if (by > skb_headroom(skb))
		return false;
	memmove(skb->data - by, skb->data, len);
	__skb_push(skb, by);
	set_length(skb, len);
	look_at(frame, skb);
	return true;
}

long frames_grow(struct run *run, struct frames *frames, struct frame *frame,
		 unsigned int room)
{
	struct room more = { .work = { .run = run, .port = port_of(frames) },
			     .frame = frame, .room = room };

	if (room > FRAME_MAX)
		return -ENOBUFS;
	if (room <= frame->room || move_up(frame, room))
		return 0;
	return run_outside(run, grow, &more);
}

/* -- Ports --------------------------------------------------------------------- */

static struct frames_port *find_port(struct run *run, int fd)
{
	struct frames_port *port = run_own(run)->ports;

	while (port && port->frames.fd != fd)
		port = port->next;
	return port;
}

static long add_port(struct work *work, int fd)
{
	struct run_own *own = run_own(work->run);
	struct frames_port *port;
	unsigned int n = 0;

	for (port = own->ports; port; port = port->next)
		n++;
	if (n >= FRAMES_PORTS)
		return -EMFILE;
	port = kvzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return -ENOMEM;
	port->frames.fd = fd;
	port->next = own->ports;
	own->ports = port;
	work->port = port;
	return 0;
}

struct open {
	struct work work;
	int fd, take;
};

static long open_port(struct open *open)
{
	struct work *work = &open->work;
	struct socket *sock;
	int err;

	if (!can_ask)
		return -EOPNOTSUPP;
	sock = sockfd_lookup(open->fd, &err);
	if (!sock)
		return err;
	err = check_socket(sock);
	if (!err)
		work->port = find_port(work->run, open->fd);
	if (!err && !work->port)
		err = add_port(work, open->fd);
	sockfd_put(sock);
	return err;
}

/* 0: it takes frames from the stack, or does not, as it should. */
static long has_to_change(struct work *work)
{
	const struct open *open = container_of(work, struct open, work);
	const struct frames_rx *rx = work->port->rx;

	return open->take ? !frames_rx_serves(rx, work->sock) : !!rx;
}

static void stop_taking(struct frames_port *port)
{
	if (port->rx)
		frames_rx_detach(port->rx);
	port->rx = NULL;
}

static long change(struct work *work)
{
	const struct open *open = container_of(work, struct open, work);

	stop_taking(work->port);
	return open->take ? frames_rx_attach(&work->port->rx, work->sock) : 0;
}

/* Asked without a hold on the socket: who watches may end the task. */
static long set_taking(struct open *open)
{
	struct work *work = &open->work;
	struct watchers_call call = { .nr = __NR_setsockopt, .args = { open->fd, SOL_PACKET } };
	long ret = with_socket(work, has_to_change);

	if (ret <= 0)
		return ret;
	if (likely(!watchers_watch()))
		return with_socket(work, change);
	return watchers_ask(work->run, &call) ?: watchers_done(&call, with_socket(work, change));
}

static long open_call(void *arg)
{
	struct open *open = arg;
	struct watchers_call call = { .nr = __NR_getsockname, .args = { open->fd } };
	long ret;

	if (likely(!watchers_watch()))
		ret = open_port(open);
	else
		ret = watchers_ask(open->work.run, &call) ?:
		      watchers_done(&call, open_port(open));
	return ret || (!open->take && !open->work.port->rx) ? ret : set_taking(open);
}

long frames_open(struct run *run, int fd, int take, struct frames **frames)
{
	struct open open = { .work = { .run = run }, .fd = fd, .take = take };
	long ret = run_as_syscall(run, open_call, &open, take);

	if (!ret)
		*frames = &open.work.port->frames;
	return ret;
}

/* -- The end of a run, and of a program ---------------------------------------- */

/*
 * 1. The frames of all ports: one may wait to be sent by another.
 * 2. The sockets that they were charged to.  What was received is its own port's.  One
 *    that the process has closed takes no more frames from its device.
 */
void frames_end_run(struct frames_port *ports, bool may_keep)
{
	struct frames_port *port;

	for (port = ports; port; port = port->next) {
		if (!may_keep || !port->frames.keep)
			put_received(&port->frames);
		port->frames.keep = 0;
		put_queued(&port->frames);
	}
	for (port = ports; port; port = port->next) {
		if (port->rx && unlikely(frames_rx_orphaned(port->rx)))
			stop_taking(port);
		if (!port->sk || port->frames.n)
			continue;
		sock_put(port->sk);
		port->sk = NULL;
	}
}

void frames_release(struct frames_port *ports)
{
	frames_end_run(ports, false);
	while (ports) {
		struct frames_port *next = ports->next;

		stop_taking(ports);
		kvfree(ports);
		ports = next;
	}
}
