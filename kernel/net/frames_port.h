/* SPDX-License-Identifier: GPL-2.0 */
/* A port of frames, for receiving and sending: the part that frames.h hides. */
#ifndef SYSCRIPT_FRAMES_PORT_H
#define SYSCRIPT_FRAMES_PORT_H

#include <linux/if_arp.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "net/frames.h"

struct frames_rx;

struct frames_port {
	struct frames frames;
	struct frames_port *next;	/* the program's next port */
	struct sock *sk;		/* held, or NULL */
	struct frames_rx *rx;		/* its receive handler, or NULL */
	bool nonblock;
	bool direct;			/* PACKET_QDISC_BYPASS is set on the socket */
	unsigned long inode;		/* whose inode has this number; 0: not asked yet */
};

static inline struct frames_port *frames_port_of(struct frames *frames)
{
	return container_of(frames, struct frames_port, frames);
}

/**
 * struct frames_work - a call on a port
 * @sock:  its socket, while the call lasts
 * @wait:  conditions of a receive's wait
 * @until: when the wait for the first frame ends
 */
struct frames_work {
	struct run *run;
	struct frames_port *port;
	struct socket *sock;
	const struct frames_wait *wait;
	ktime_t until;
};

/* Calls fn(work) with the port's socket. */
long frames_with_socket(struct frames_work *work, long (*fn)(struct frames_work *work));

/* As frames_with_socket(), and observers see system call @nr for @n frames. */
long frames_call(struct frames_work *work, unsigned int nr, unsigned int n,
		 long (*fn)(struct frames_work *work));

/* Ask security modules as recvmmsg(2) and sendmmsg(2) do: once a batch. */
int frames_ask_to_receive(struct socket *sock);
int frames_ask_to_send(struct socket *sock);

/* The device that @sock is bound to, or NULL.  Under RCU. */
struct net_device *frames_device(struct socket *sock);

static inline bool frames_is_ethernet(const struct net_device *dev)
{
	return (dev->type == ARPHRD_ETHER || dev->type == ARPHRD_LOOPBACK) &&
		dev->hard_header_len >= ETH_HLEN && dev->header_ops;
}

static inline bool frames_has_buffer(const struct sock *sk)
{
	return atomic_read(&sk->sk_rmem_alloc) < READ_ONCE(sk->sk_rcvbuf);
}

/* Is it the wait queue entry of a receive, which may wait for more than one frame? */
bool frames_is_waiter(const struct wait_queue_entry *entry);

/* Appends @skb to the received frames. */
void frames_give(struct frames *frames, struct sk_buff *skb);

/* Updates the frame's pointers: its memory may have moved. */
static inline void frames_look_at(struct frame *frame, struct sk_buff *skb)
{
	frame->data = skb->data;
	frame->room = min_t(unsigned int, skb->len + skb_tailroom(skb), FRAME_MAX);
}

/* Sets the length of @skb, which is linear. */
static inline void frames_set_length(struct sk_buff *skb, unsigned int len)
{
	skb->len = 0;
	skb_reset_tail_pointer(skb);
	__skb_put(skb, len);
}

static inline void frames_put(struct frame *frame)
{
	kfree_skb(frame->buffer);
	frame->buffer = NULL;
	frame->data = NULL;
}

void frames_put_received(struct frames *frames);

/* Sends the queued frames.  The caller holds the socket. */
long frames_send(struct frames_work *work);

#endif /* SYSCRIPT_FRAMES_PORT_H */
