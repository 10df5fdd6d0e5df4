// SPDX-License-Identifier: GPL-2.0
/*
 * Implements frames_rx.h. The handler does what packet_rcv() does, except for the copy, because
 * no one else gets the frame, and for needless wake-ups.
 *
 * Wake-ups.  The frame at the queue's head records whether waiters were woken since it became the
 * head, that is, since a frame was last taken.  If so, waiters for a non-empty queue already
 * know.
 *
 * Lifetimes.  The socket is held from attach to detach, so handlers never meet a freed one;
 * SOCK_DEAD tells them whether it is still open.  The device is not held: it is @dev until detach
 * or NETDEV_UNREGISTER, which also comes when a device moves to another namespace.  Both run
 * under RTNL, and netdev_rx_handler_unregister() waits for handlers that are under way.
 */
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "compat.h"
#include "frames_port.h"
#include "frames_rules.h"
#include "frames_rx.h"

#define CROWD	64	/* number of a socket's waiters that are checked */

/**
 * struct frames_rx - a device whose frames go to a socket
 * @dev:     NULL once it has gone; written under RTNL
 * @ifindex: the device's, in the socket's namespace
 * @heeds:   leave frames to the stack that it might filter
 * @rules:   rules of the stack, checked once a tick
 */
struct frames_rx {
	struct sock *sk;
	struct net_device *dev;
	int ifindex;
	bool heeds;
	struct frames_rules rules;
};

/* -- Frames ---------------------------------------------------------------------- */

/**
 * struct queued - control block of a frame in the queue
 * @from: its sender, where af_packet.c looks for it
 * @told: the socket, if waiters were woken since this frame became the queue's head
 */
struct queued {
	struct sockaddr_ll from;
	const struct sock *told;
};

static struct queued *queued(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct queued) > sizeof(skb->cb) - sizeof(struct sock_skb_cb));
	return (struct queued *)skb->cb;
}

/*
 * Sets the sender for recvfrom(2): af_packet.c expects the frame's length in place of
 * ->sll_family and ->sll_protocol, which it fills in itself.
 */
static void set_sender(struct sk_buff *skb)
{
	struct sockaddr_ll *from = &queued(skb)->from;

	*(unsigned int *)from = skb->len;
	from->sll_ifindex = skb->dev->ifindex;
	from->sll_hatype = skb->dev->type;
	from->sll_pkttype = skb->pkt_type;
	from->sll_halen = ETH_ALEN;
	memcpy(from->sll_addr, eth_hdr(skb)->h_source, ETH_ALEN);
}

/* The frame may stay in the queue for long: drops its references to device, route and sender. */
static bool make_independent(struct sk_buff *skb)
{
	if (skb_orphan_frags_rx(skb, GFP_ATOMIC))
		return false;
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb_clear_delivery_time(skb);
	skb->dev = NULL;
	return true;
}

/*
 * Are there waiters that need a wake-up for each frame: exclusive ones, which take one frame
 * each, or those that wait for several frames?  All others check the queue before they sleep.  Of
 * more than CROWD waiters some are assumed to, because they cannot all be checked with interrupts
 * off.
 */
static bool has_counting_waiters(struct sock *sk)
{
	struct socket_wq *wq = rcu_dereference(sk->sk_wq);
	struct wait_queue_entry *entry;
	unsigned int n = 0;
	unsigned long flags;
	bool counts = false;

	if (!wq)
		return false;
	spin_lock_irqsave(&wq->wait.lock, flags);
	list_for_each_entry(entry, &wq->wait.head, entry) {
		counts = entry->flags & WQ_FLAG_EXCLUSIVE || frames_is_waiter(entry) ||
			 ++n == CROWD;
		if (counts)
			break;
	}
	spin_unlock_irqrestore(&wq->wait.lock, flags);
	return counts;
}

/* Returns whether the waiters know already that the queue has frames. */
static bool append(struct sock *sk, struct sk_buff *skb)
{
	struct sk_buff_head *queue = &sk->sk_receive_queue;
	struct queued *head;
	bool told;

	queued(skb)->told = NULL;
	spin_lock(&queue->lock);
	sock_skb_set_dropcount(sk, skb);
	__skb_queue_tail(queue, skb);
	head = queued(skb_peek(queue));
	told = head->told == sk;
	head->told = sk;
	spin_unlock(&queue->lock);
	return told;
}

/* Queues the first @len bytes of the frame. */
static void enqueue(struct sock *sk, struct sk_buff *skb, unsigned int len)
{
	set_sender(skb);
	if (atomic_read(&sk->sk_rmem_alloc) >= READ_ONCE(sk->sk_rcvbuf) ||
	    pskb_trim(skb, len) || !make_independent(skb)) {
		compat_sk_drops_add(sk, 1);
		kfree_skb(skb);
		return;
	}
	skb_set_owner_r(skb, sk);
	if (!append(sk, skb) || sock_flag(sk, SOCK_FASYNC) || has_counting_waiters(sk))
		sk->sk_data_ready(sk);
}

/* As run_filter() of af_packet.c: how many bytes of the frame the socket wants. */
static unsigned int filter(const struct sock *sk, struct sk_buff *skb)
{
	const struct sk_filter *filter = rcu_dereference(sk->sk_filter);
	unsigned int len = skb->len;

	if (filter) {
		if (unlikely(filter->prog->cb_access))
			memset(bpf_skb_cb(skb), 0, BPF_SKB_CB_LEN);
		len = min_t(unsigned int, len, bpf_prog_run(filter->prog, skb));
	}
	return len;
}

/* Is the socket gone, or the frame not for sockets? */
static bool is_out_of_question(const struct sock *sk, const struct sk_buff *skb)
{
	return sock_flag(sk, SOCK_DEAD) || skb->pkt_type == PACKET_LOOPBACK ||
		skb_pfmemalloc(skb) || !compat_skb_frags_readable(skb) ||
		skb_mac_offset(skb) > -ETH_HLEN;
}

static inline bool is_stacks(struct frames_rx *rx, const struct sk_buff *skb)
{
	return rx->heeds && (!frames_rules_is_ordinary(skb) ||
			     frames_rules_filter(&rx->rules, rx->sk, skb));
}

/* Called in softirq, under RCU. */
static rx_handler_result_t handle(struct sk_buff **pskb)
{
	struct frames_rx *rx = rcu_dereference((*pskb)->dev->rx_handler_data);
	unsigned int header, len;
	struct sk_buff *skb;

	if (unlikely(is_out_of_question(rx->sk, *pskb)))
		return RX_HANDLER_PASS;
	/* A shared skb's data must not move. */
	skb = skb_share_check(*pskb, GFP_ATOMIC);
	if (!skb)
		return RX_HANDLER_CONSUMED;
	*pskb = skb;
	header = -skb_mac_offset(skb);
	__skb_push(skb, header);
	len = filter(rx->sk, skb);
	if (!len || is_stacks(rx, skb)) {
		__skb_pull(skb, header);
		return RX_HANDLER_PASS;
	}
	enqueue(rx->sk, skb, len);
	return RX_HANDLER_CONSUMED;
}

/* -- Devices --------------------------------------------------------------------- */

/* Called under RTNL. */
static void leave_device(struct frames_rx *rx)
{
	if (!rx->dev)
		return;
	netdev_rx_handler_unregister(rx->dev);
	WRITE_ONCE(rx->dev, NULL);
}

/* Reports as af_packet.c does to sockets that receive by themselves. */
static void report_down(struct sock *sk)
{
	WRITE_ONCE(sk->sk_err, ENETDOWN);
	if (!sock_flag(sk, SOCK_DEAD))
		sk_error_report(sk);
}

static int on_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct frames_rx *rx;

	if (rtnl_dereference(dev->rx_handler) != handle)
		return NOTIFY_DONE;
	rx = rtnl_dereference(dev->rx_handler_data);
	if (event == NETDEV_UNREGISTER)
		leave_device(rx);
	if (event == NETDEV_UNREGISTER || event == NETDEV_DOWN)
		report_down(rx->sk);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_event };

int __init frames_rx_init(void)
{
	return register_netdevice_notifier(&notifier);
}

/* No script is left, so no handler is registered. */
void frames_rx_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}

/* -- Ports ----------------------------------------------------------------------- */

static bool get_binding(struct socket *sock, struct sockaddr_ll *ll)
{
	struct sockaddr_storage address = { };

	if (sock->ops->getname(sock, (struct sockaddr *)&address, 0) < 0)
		return false;
	memcpy(ll, &address, sizeof(*ll));
	return ll->sll_ifindex > 0;
}

bool frames_rx_serves(const struct frames_rx *rx, struct socket *sock, bool heeds)
{
	struct sockaddr_ll ll;

	return rx && rx->sk == sock->sk && rx->heeds == heeds && !frames_rx_ended(rx) &&
		get_binding(sock, &ll) && ll.sll_ifindex == rx->ifindex;
}

bool frames_rx_ended(const struct frames_rx *rx)
{
	return !READ_ONCE(rx->dev);
}

bool frames_rx_orphaned(const struct frames_rx *rx)
{
	return sock_flag(rx->sk, SOCK_DEAD);
}

/* Called under RTNL, so that the device stays. */
static int join_device(struct frames_rx *rx, struct socket *sock)
{
	struct net_device *dev = NULL;
	struct sockaddr_ll ll;
	int err;

	if (get_binding(sock, &ll))
		dev = __dev_get_by_index(sock_net(sock->sk), ll.sll_ifindex);
	if (!dev)
		return -EDESTADDRREQ;
	if (ll.sll_protocol)
		return -EPROTOTYPE;
	err = netdev_rx_handler_register(dev, handle, rx);
	if (err)
		return err;
	rx->dev = dev;
	rx->ifindex = dev->ifindex;
	return 0;
}

static int join(struct frames_rx *rx, struct socket *sock)
{
	int err = compat_rtnl_lock_killable();

	if (err)
		return err;
	err = join_device(rx, sock);
	rtnl_unlock();
	return err;
}

static void free_rx(struct frames_rx *rx)
{
	frames_rules_exit(&rx->rules);
	kfree(rx);
}

int frames_rx_attach(struct frames_rx **rx, struct socket *sock, bool heeds)
{
	struct frames_rx *new;
	int err;

	if (!ns_capable(sock_net(sock->sk)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	new->sk = sock->sk;
	new->heeds = heeds;
	err = frames_rules_init(&new->rules) ?: join(new, sock);
	if (err) {
		free_rx(new);
		return err;
	}
	sock_hold(new->sk);
	*rx = new;
	return 0;
}

/*
 * 1. Leaves the device: no handler runs after that.  2. Empties the queue, if the socket was
 *    closed: a handler that had not seen that yet may have queued a frame after close(2) emptied
 *    it.
 * 3. The socket.
 */
void frames_rx_detach(struct frames_rx *rx)
{
	rtnl_lock();
	leave_device(rx);
	rtnl_unlock();
	if (frames_rx_orphaned(rx))
		skb_queue_purge(&rx->sk->sk_receive_queue);
	sock_put(rx->sk);
	free_rx(rx);
}
