// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/net/frames.h in a process, through recvmmsg(2) and sendmmsg(2). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/frames.h"
#include "syscalls_nr.h"
#include "sys.h"
#include "user.h"

#define ADDRESSES_LEN	12	/* addresses of Ethernet; a VLAN tag follows them */
#define TAG_LEN		4

struct frames_port {
	struct frames frames;
	struct frames_port *next;
	char memory[2 * FRAMES_MAX][FRAME_MAX];	/* buffers of all frames of a port */
};

/* A frame's sender and control data, as the kernel reports them. */
struct arrival {
	struct sockaddr_ll from;
	struct iovec iov;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
};

/* The parts of a frame as it is sent, its VLAN tag inserted again. */
struct departure {
	struct iovec iov[3];
	unsigned char tag[TAG_LEN];
};

#define frames_syscall(run, nr, ...) \
	run_plain_syscall(run, nr, (const long [6]){ __VA_ARGS__ })

/* -- Receiving --------------------------------------------------------------- */

static const struct tpacket_auxdata *find_auxdata(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	for (; cmsg; cmsg = CMSG_NXTHDR(msg, cmsg))
		if (cmsg->cmsg_level == SOL_PACKET && cmsg->cmsg_type == PACKET_AUXDATA)
			return (const struct tpacket_auxdata *)CMSG_DATA(cmsg);
	return NULL;
}

/* Finds the checksum of a UDP datagram that the sender left to its device to complete. */
static void find_sum(struct frame *frame)
{
	unsigned int type = frame->len < ETH_HLEN ? 0 : frame->data[12] << 8 | frame->data[13];

	if (type != ETH_P_IP && type != ETH_P_IPV6)
		return;
	frame->sum_start = ETH_HLEN + (type == ETH_P_IP ? 20 : 40);
	frame->sum_at = frame->sum_start + 6;
	if (frame->sum_at + 2u <= frame->len &&
	    frame->data[type == ETH_P_IP ? 23 : 20] == IPPROTO_UDP)
		frame->sum = FRAME_SUM_PARTIAL;
}

static void look_at(struct frame *frame, struct msghdr *msg, unsigned int len)
{
	const struct tpacket_auxdata *aux = find_auxdata(msg);

	frame->data = frame->buffer;
	frame->len = len;
	frame->room = FRAME_MAX;
	frame->vlan = 0;
	frame->udp = 0;
	frame->sum = FRAME_SUM_UNKNOWN;
	if (!aux)
		return;
	if (aux->tp_status & TP_STATUS_VLAN_VALID)
		frame->vlan = (aux->tp_status & TP_STATUS_VLAN_TPID_VALID ?
			       aux->tp_vlan_tpid : (unsigned int)ETH_P_8021Q) << 16 |
			      aux->tp_vlan_tci;
	if (aux->tp_status & TP_STATUS_CSUMNOTREADY)
		find_sum(frame);
	else if (aux->tp_status & TP_STATUS_CSUM_VALID)
		frame->sum = FRAME_SUM_GOOD;
}

static bool is_whole(const struct mmsghdr *msg)
{
	return msg->msg_len >= ETH_HLEN && !(msg->msg_hdr.msg_flags & MSG_TRUNC);
}

static void exchange(struct frame *a, struct frame *b)
{
	struct frame t = *a;

	*a = *b;
	*b = t;
}

/* Moves the wanted frames to the front, over the unwanted. */
static void keep(struct frames *frames, struct mmsghdr *msgs, const struct arrival *arrivals,
		 long n)
{
	unsigned int first = frames->n;

	for (long i = 0; i < n; i++) {
		if (!frames_wants(frames, arrivals[i].from.sll_pkttype) || !is_whole(&msgs[i]))
			continue;
		exchange(&frames->in[frames->n], &frames->in[first + i]);
		look_at(&frames->in[frames->n++], &msgs[i].msg_hdr, msgs[i].msg_len);
	}
}

static long take_arrivals(struct run *run, struct frames *frames, unsigned int max)
{
	struct mmsghdr msgs[FRAMES_MAX];
	struct arrival arrivals[FRAMES_MAX];
	long n;

	for (unsigned int i = 0; i < max - frames->n; i++) {
		struct arrival *arrival = &arrivals[i];

		arrival->iov = (struct iovec){ frames->in[frames->n + i].buffer, FRAME_MAX };
		msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &arrival->from, .msg_namelen = sizeof(arrival->from),
			.msg_iov = &arrival->iov, .msg_iovlen = 1,
			.msg_control = &arrival->control,
			.msg_controllen = sizeof(arrival->control),
		};
	}
	n = frames_syscall(run, SYS_recvmmsg, frames->fd, (long)msgs, max - frames->n,
			   MSG_DONTWAIT);
	keep(frames, msgs, arrivals, n);
	return n;
}

static long wait_for_first(struct run *run, struct frames *frames, int timeout)
{
	struct pollfd pollfd = { .fd = frames->fd, .events = POLLIN };

	return frames_syscall(run, __NR_poll, (long)&pollfd, 1, timeout);
}

/* The kernel does not report how many frames are queued, so this waits for the whole of @hold. */
static void wait_for_more(struct run *run, struct frames *frames,
			  const struct frames_wait *wait)
{
	struct timespec hold = { wait->hold / 1000000, wait->hold % 1000000 * 1000L };

	if (frames->n >= wait->enough || !wait->hold)
		return;
	frames_syscall(run, SYS_nanosleep, (long)&hold, 0);
	if (frames->n < wait->max)
		take_arrivals(run, frames, wait->max);
}

static void drop_received(struct frames *frames)
{
	for (unsigned int i = 0; i < frames->n; i++)
		frames->in[i].data = NULL;
	frames_next_batch(frames);
}

static bool is_nonblocking(struct run *run, int fd)
{
	long flags = frames_syscall(run, SYS_fcntl, fd, F_GETFL, 0);

	return flags > 0 && flags & O_NONBLOCK;
}

static unsigned long milliseconds(void)
{
	return sys_now(CLOCK_MONOTONIC) / 1000000;
}

/* Returns -EAGAIN if no frame has come yet; unwanted frames do not count. */
static long receive(struct run *run, struct frames *frames, const struct frames_wait *wait)
{
	unsigned long until = milliseconds() + wait->timeout;
	long ret, left = wait->timeout;

	for (;;) {
		ret = take_arrivals(run, frames, wait->max);
		if (frames->n || (ret < 0 && ret != -EAGAIN))
			return frames->n ? 0 : ret;
		if (wait->timeout >= 0)
			left = (long)(until - milliseconds());
		if (!wait->timeout || (wait->timeout > 0 && left <= 0))
			return -EAGAIN;
		ret = wait_for_first(run, frames, (int)left);
		if (ret < 0)
			return ret;
	}
}

long frames_receive(struct run *run, struct frames *frames, const struct frames_wait *wait)
{
	struct frames_wait once = *wait;
	long ret;

	drop_received(frames);
	frames_flush(run, frames);
	if (wait->timeout && is_nonblocking(run, frames->fd))
		once.timeout = 0;
	ret = receive(run, frames, &once);
	if (!ret)
		wait_for_more(run, frames, &once);
	return frames->n ? (long)frames->n : ret == -EAGAIN ? 0 : ret;
}

/* -- Sending ----------------------------------------------------------------- */

static unsigned int cut(struct departure *departure, struct frame *frame)
{
	struct iovec *iov = departure->iov;

	if (!frame->vlan || frame->len < ADDRESSES_LEN) {
		iov[0] = (struct iovec){ frame->data, frame->len };
		return 1;
	}
	departure->tag[0] = frame->vlan >> 24;
	departure->tag[1] = frame->vlan >> 16;
	departure->tag[2] = frame->vlan >> 8;
	departure->tag[3] = frame->vlan;
	iov[0] = (struct iovec){ frame->data, ADDRESSES_LEN };
	iov[1] = (struct iovec){ departure->tag, TAG_LEN };
	iov[2] = (struct iovec){ frame->data + ADDRESSES_LEN, frame->len - ADDRESSES_LEN };
	return 3;
}

static void close_ranks(struct frames *frames, unsigned int gone)
{
	for (unsigned int i = 0; i < frames->nout; i++) {
		if (i < gone)
			frames->out[i].data = NULL;
		if (i + gone < frames->nout)
			exchange(&frames->out[i], &frames->out[i + gone]);
	}
	frames->nout -= gone;
}

/* A refused frame is lost, and sending goes on with the next. */
static long send_all(struct run *run, struct frames *frames, struct mmsghdr *msgs)
{
	unsigned int next = 0, sent = 0;
	long ret, err = 0;

	while (next < frames->nout) {
		ret = frames_syscall(run, SYS_sendmmsg, frames->fd, (long)(msgs + next),
				     frames->nout - next, MSG_NOSIGNAL);
		if (ret == -EAGAIN || ret == -EINTR || run->stop_reason) {
			err = err ? err : ret;
			break;
		}
		if (ret < 0)
			err = err ? err : ret;
		sent += ret > 0 ? ret : 0;
		next += ret > 0 ? ret : 1;
	}
	close_ranks(frames, next);
	return sent ? (long)sent : err;
}

long frames_flush(struct run *run, struct frames *frames)
{
	struct mmsghdr msgs[FRAMES_MAX];
	struct departure departures[FRAMES_MAX];

	for (unsigned int i = 0; i < frames->nout; i++) {
		struct departure *departure = &departures[i];

		frame_complete(&frames->out[i]);
		msgs[i].msg_hdr = (struct msghdr){
			.msg_iov = departure->iov,
			.msg_iovlen = cut(departure, &frames->out[i]),
		};
	}
	return send_all(run, frames, msgs);
}

/* -- Ports ------------------------------------------------------------------- */

long frames_build(struct run *run, struct frames *frames, unsigned int room)
{
	struct frame *frame = &frames->in[frames->n];

	(void)run;
	if (frames->n == FRAMES_MAX || room > FRAME_MAX)
		return -ENOBUFS;
	*frame = (struct frame){
		.data = frame->buffer, .room = FRAME_MAX, .buffer = frame->buffer,
	};
	return frames->n++;
}

long frames_grow(struct run *run, struct frames *frames, struct frame *frame,
		 unsigned int room)
{
	(void)run;
	(void)frames;
	return room <= frame->room ? 0 : -ENOBUFS;
}

unsigned int frames_spare(const struct frame *frame)
{
	return frame->room;
}

static long check_socket(struct run *run, int fd)
{
	struct sockaddr_ll address = { 0 };
	socklen_t len = sizeof(address), size = sizeof(int);
	int type = 0, one = 1;
	long ret = frames_syscall(run, SYS_getsockname, fd, (long)&address, (long)&len);

	if (ret < 0)
		return ret;
	ret = frames_syscall(run, SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type,
			     (long)&size);
	if (address.sll_family != AF_PACKET || type != SOCK_RAW)
		return -ESOCKTNOSUPPORT;
	if (address.sll_ifindex <= 0 ||
	    (address.sll_hatype != ARPHRD_ETHER && address.sll_hatype != ARPHRD_LOOPBACK))
		return -EDESTADDRREQ;
	/* VLAN tags and checksum state. */
	return frames_syscall(run, SYS_setsockopt, fd, SOL_PACKET, PACKET_AUXDATA, (long)&one,
			      sizeof(one));
}

static void share_out(struct frames_port *port)
{
	for (unsigned int i = 0; i < FRAMES_MAX; i++) {
		port->frames.in[i].buffer = port->memory[2 * i];
		port->frames.out[i].buffer = port->memory[2 * i + 1];
	}
}

static struct frames_port *add_port(struct run_priv *own, int fd)
{
	/* Not malloc(), which a signal handler that calls a script may have interrupted. */
	struct frames_port *port = mmap(NULL, sizeof(*port), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (port == MAP_FAILED)
		return NULL;
	share_out(port);
	port->frames.fd = fd;
	port->next = own->ports;
	own->ports = port;
	return port;
}

long frames_open(struct run *run, int fd, enum frames_take take, struct frames **frames)
{
	struct run_priv *own = run_priv(run);
	struct frames_port *port = own->ports;
	long ret = check_socket(run, fd);
	unsigned int n = 0;

	if (ret < 0)
		return ret;
	/*
	 * Receiving copies would not do: the stack sees the frames, too, and would also answer
	 * them.
	 */
	if (take)
		return -ENOSYS;
	for (; port && port->frames.fd != fd; port = port->next)
		n++;
	if (!port && n >= FRAMES_PORTS)
		return -EMFILE;
	port = port ? port : add_port(own, fd);
	if (!port)
		return -ENOMEM;
	*frames = &port->frames;
	return 0;
}

void frames_end_run(struct frames_port *ports, bool may_keep)
{
	for (; ports; ports = ports->next) {
		if (!may_keep || !ports->frames.keep)
			drop_received(&ports->frames);
		ports->frames.keep = 0;
		close_ranks(&ports->frames, ports->frames.nout);
	}
}

void frames_release(struct frames_port *ports)
{
	while (ports) {
		struct frames_port *next = ports->next;

		munmap(ports, sizeof(*ports));
		ports = next;
	}
}
