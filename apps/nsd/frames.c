/* SPDX-License-Identifier: BSD-3-Clause OR MIT */
/* frames.c -- see frames.h. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <syscript.h>

#include "frames.h"
#include "nsd.h"
#include "util.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif

#define BATCH		64	/* the most that a port takes */
#define PAUSE_MAX	64	/* s between two attempts */
#define MEMORY_LIMIT	(1 << 20)
#define TIME_LIMIT_NS	1000000000

/*
 * A packet size that every link carries unfragmented. Frames are sent with the don't-fragment flag;
 * longer replies go through the stack.
 */
#define PACKET_MAX	1280

/* The layout that datagrams.lua uses. */
struct slot {
	uint32_t place;		/* the query's number, from 1; 0: given to NSD */
	uint32_t len;		/* of the payload */
	union {
		unsigned char payload[2040];	/* of a reply */
		struct {
			struct ethhdr eth;
			struct iphdr ip;
			struct udphdr udp;
			unsigned char payload[];
		} __attribute__((packed)) v4;
		struct {
			struct ethhdr eth;
			struct ip6_hdr ip;
			struct udphdr udp;
			unsigned char payload[];
		} __attribute__((packed)) v6;
	};
};

static struct slot in[BATCH], out[BATCH];
static unsigned int in_count, out_count;
static unsigned int pause_s = 1;	/* doubled by each failure, which is logged once */
static int script = -1;
static uint32_t device_index;

__asm__(".pushsection .rodata\n"
	"datagrams_lua: .incbin \"" DATAGRAMS_LUA "\"\n"
	"datagrams_lua_end: .popsection\n");
extern const char datagrams_lua[], datagrams_lua_end[];

/* -- The packet socket -------------------------------------------------------- */

/*
 * Takes only queries that NSD would also get by a UDP socket, and answer in the same way. Unusual
 * packets are left to the stack, which knows how to handle them.
 */

/* A condition on a field of the frame. */
struct condition {
	enum { IS, IS_NOT, IS_BELOW, IS_FROM, IS_LENGTH } test;
	uint16_t size;		/* BPF_B, BPF_H or BPF_W */
	uint32_t offset, mask, value;
	const struct in6_addr *other;	/* IS_NOT: excluded address */
};

#define ALL		UINT32_MAX
#define OWN_MAX		64	/* maximum of this machine's addresses */
#define CONDITIONS_MAX	(16 + OWN_MAX)
#define SOCKETS_MAX	64

/* An address of one host, or of a broadcast, which is never a source. */
struct own {
	sa_family_t family;
	int is_local;
	union {
		struct in_addr v4;
		struct in6_addr v6;
	};
};

static struct own owns[OWN_MAX];
static unsigned int own_count;

static const char *device_name;
static const struct nsd_socket *sockets;
static size_t socket_count;
static int is_elsewhere[SOCKETS_MAX];	/* bound to another device */

static void
add_own(const struct own *own)
{
	if(own_count++ < OWN_MAX)
		owns[own_count - 1] = *own;
}

static void
add_own4(in_addr_t address, int is_local)
{
	add_own(&(struct own){ .family = AF_INET, .is_local = is_local, .v4.s_addr = address });
}

/* Addresses that no host has over a link, or that are never local. */
static int
is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	return address->sa_family == AF_INET ?
		ntohl(v4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET :
		address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* And the first and last address of its network, which are broadcasts. */
static void
add_owns(const struct ifaddrs *at)
{
	const struct sockaddr_in *v4 = (const void *)at->ifa_addr;
	const struct sockaddr_in6 *v6 = (const void *)at->ifa_addr;
	in_addr_t mask = at->ifa_netmask ?
		((const struct sockaddr_in *)at->ifa_netmask)->sin_addr.s_addr : INADDR_NONE;

	if(!at->ifa_addr || is_loopback(at->ifa_addr))
		return;
	if(v6->sin6_family == AF_INET6)
		add_own(&(struct own){ .family = AF_INET6, .is_local = 1, .v6 = v6->sin6_addr });
	if(v4->sin_family != AF_INET)
		return;
	add_own4(v4->sin_addr.s_addr, 1);
	if(mask == INADDR_NONE)
		return;
	add_own4(v4->sin_addr.s_addr & mask, 0);
	add_own4(v4->sin_addr.s_addr | ~mask, 0);
}

/* 0: there are too many, or they cannot be determined. */
static int
find_own(void)
{
	struct ifaddrs *all, *at;

	own_count = 0;
	if(getifaddrs(&all) != 0)
		return 0;
	for(at = all; at; at = at->ifa_next)
		add_owns(at);
	freeifaddrs(all);
	return own_count <= OWN_MAX;
}

/* Like a socket bound to the device, which gets its datagrams. */
static int
is_local(const struct nsd_socket *sock)
{
	const struct sockaddr_in *v4 = (const void *)&sock->addr.ai_addr;
	const struct sockaddr_in6 *v6 = (const void *)&sock->addr.ai_addr;
	const struct own *own;

	for(own = owns; own < owns + own_count; own++) {
		if(!own->is_local || own->family != sock->addr.ai_family)
			continue;
		if(own->family == AF_INET ? own->v4.s_addr == v4->sin_addr.s_addr :
		   IN6_ARE_ADDR_EQUAL(&own->v6, &v6->sin6_addr))
			return 1;
	}
	return 0;
}

/* The address may be one that this machine only forwards to. */
static int
is_for_any(const struct nsd_socket *sock)
{
	const struct sockaddr_in *v4 = (const void *)&sock->addr.ai_addr;
	const struct sockaddr_in6 *v6 = (const void *)&sock->addr.ai_addr;

	return sock->addr.ai_family == AF_INET ? !v4->sin_addr.s_addr :
		IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

/* Does the socket get nothing from the device? */
static int
is_of_another_device(const struct nsd_socket *sock)
{
	const struct sockaddr_in6 *v6 = (const void *)&sock->addr.ai_addr;
	int bound = 0;
	socklen_t len = sizeof(bound);

	if(getsockopt(sock->s, SOL_SOCKET, SO_BINDTOIFINDEX, &bound, &len) == 0 && bound &&
	   (uint32_t)bound != device_index)
		return 1;
	return sock->addr.ai_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
		v6->sin6_scope_id != device_index;
}

/* Whole datagrams without options, from one host to another. */
static unsigned int
conditions4(struct condition *to, const struct sockaddr_in *address)
{
	const struct condition all[] = {
		/* IPv4, header of 20 bytes; not a fragment, UDP */
		{ IS, BPF_W, 12, 0xffffff00, ETH_P_IP << 16 | 0x4500 },
		{ IS, BPF_W, 20, 0x3fff00ff, IPPROTO_UDP },
		{ IS, BPF_H, 36, ALL, ntohs(address->sin_port) },
		{ IS, BPF_W, 30, ALL, ntohl(address->sin_addr.s_addr) },
		/* not from network 0, not from a multicast group */
		{ IS_FROM, BPF_W, 26, ALL, 0x01000000 },
		{ IS_BELOW, BPF_W, 26, ALL, 0xe0000000 },
	};

	memcpy(to, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

/* Whole IPv6 datagrams without extension headers. */
static unsigned int
conditions6(struct condition *to, const struct sockaddr_in6 *address)
{
	const struct condition all[] = {
		{ IS, BPF_H, 12, ALL, ETH_P_IPV6 },
		{ IS, BPF_B, 20, ALL, IPPROTO_UDP },
		{ IS, BPF_H, 56, ALL, ntohs(address->sin6_port) },
		/* IP's payload is all UDP's: a length of 0 may mean that */
		{ IS_LENGTH, BPF_H, 58, 18, 0 },
		/* not ::, ::1, IPv4-mapped, or multicast */
		{ IS_NOT, BPF_B, 22, ALL, 0 },
		{ IS_NOT, BPF_B, 22, ALL, 0xff },
	};
	unsigned int i, n = sizeof(all) / sizeof(*all);

	memcpy(to, all, sizeof(all));
	for(i = 0; i < 4; i++)
		to[n + i] = (struct condition){ IS, BPF_W, 38 + 4 * i, ALL,
			ntohl(address->sin6_addr.s6_addr32[i]) };
	return n + 4;
}

/* Conditions: the source is none of this machine's addresses. */
static unsigned int
conditions_own(struct condition *to, sa_family_t family)
{
	const struct own *own;
	unsigned int n = 0;

	for(own = owns; own < owns + own_count; own++) {
		if(own->family != family)
			continue;
		to[n++] = family == AF_INET ?
			(struct condition){ IS_NOT, BPF_W, 26, ALL, ntohl(own->v4.s_addr) } :
			(struct condition){ IS_NOT, BPF_W, 22, ALL, ntohl(own->v6.s6_addr32[0]),
					    &own->v6 };
	}
	return n;
}

static unsigned int
conditions_of(struct condition *to, const struct nsd_socket *sock)
{
	unsigned int n = sock->addr.ai_family == AF_INET ?
		conditions4(to, (const void *)&sock->addr.ai_addr) :
		conditions6(to, (const void *)&sock->addr.ai_addr);

	return n + conditions_own(to + n, sock->addr.ai_family);
}

/*
 * For all frames: small enough for a slot. The module itself ensures that a frame is for this host,
 * from another one, and untagged.
 */
static const struct condition of_all = { IS_BELOW, BPF_LEN, 0, ALL, sizeof(in->payload) + 1 };

#define STATEMENT(...) (*at++ = (struct sock_filter)BPF_STMT(__VA_ARGS__))

static struct sock_filter *
write_load(struct sock_filter *at, const struct condition *c)
{
	int i;

	if(c->size == BPF_LEN) {
		STATEMENT(BPF_LD | BPF_W | BPF_LEN, 0);
		return at;
	}
	/* From the last word back: one difference satisfies the condition. */
	for(i = 3; c->other && i > 0; i--) {
		STATEMENT(BPF_LD | c->size | BPF_ABS, c->offset + 4 * i);
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			ntohl(c->other->s6_addr32[i]), 0, 2 * i);
	}
	STATEMENT(BPF_LD | c->size | BPF_ABS, c->offset);
	if(c->test == IS_LENGTH) {
		/* Compared with the field at another offset. */
		STATEMENT(BPF_ALU | BPF_ADD | BPF_K, c->value);
		STATEMENT(BPF_MISC | BPF_TAX, 0);
		STATEMENT(BPF_LD | c->size | BPF_ABS, c->mask);
	} else if(~c->mask)
		STATEMENT(BPF_ALU | BPF_AND | BPF_K, c->mask);
	return at;
}

/* Jump distances for true and false: 0, or to the block's end. */
static struct sock_filter
jump(const struct condition *c, unsigned int to_end)
{
	switch(c->test) {
	case IS_NOT:
		return (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->value, to_end, 0);
	case IS_BELOW:
		return (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, c->value, to_end, 0);
	case IS_FROM:
		return (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, c->value, 0, to_end);
	case IS_LENGTH:
		return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, to_end);
	default:
		return (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->value, 0, to_end);
	}
}

/* The end of the filter if the condition fails. */
static struct sock_filter *
write_first(struct sock_filter *at, const struct condition *c)
{
	at = write_load(at, c);
	*at++ = jump(c, 1);
	STATEMENT(BPF_JMP | BPF_JA, 1);
	STATEMENT(BPF_RET | BPF_K, 0);
	return at;
}

static int
is_loaded(const struct condition *c, const struct condition *before)
{
	return c->test != IS_LENGTH && before->test != IS_LENGTH && !c->other &&
		!before->other && c->size == before->size && c->offset == before->offset &&
		c->mask == before->mask;
}

/* Accepts if all conditions hold; otherwise continues after them. NULL if that is too far. */
static struct sock_filter *
write_block(struct sock_filter *at, const struct condition *c, unsigned int n)
{
	struct sock_filter *jumps[CONDITIONS_MAX], *begin = at;
	unsigned int i;

	for(i = 0; i < n; i++) {
		if(!i || !is_loaded(&c[i], &c[i - 1]))
			at = write_load(at, &c[i]);
		jumps[i] = at++;
	}
	STATEMENT(BPF_RET | BPF_K, UINT32_MAX);
	if(at - begin > UINT8_MAX)
		return begin;
	for(i = 0; i < n; i++)
		*jumps[i] = jump(&c[i], at - jumps[i] - 1);
	return at;
}

static int
attach(int sock, struct sock_filter *code, unsigned int n)
{
	struct sock_fprog program = { .filter = code, .len = n };

	return setsockopt(sock, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Sets the filter again when this machine's addresses change. -1: no frames are taken. */
static int
attach_filter(int sock)
{
	static struct sock_filter code[BPF_MAXINSNS];
	struct sock_filter *at = code, none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct condition conditions[CONDITIONS_MAX];
	int known = find_own(), any = 0;
	size_t i;

	at = write_first(at, &of_all);
	for(i = 0; i < socket_count; i++) {
		if(is_elsewhere[i] || is_for_any(&sockets[i]))
			continue;
		any = 1;
		if(known && is_local(&sockets[i]) && at < code + BPF_MAXINSNS - 8 * CONDITIONS_MAX)
			at = write_block(at, conditions,
					 conditions_of(conditions, &sockets[i]));
	}
	*at++ = none;
	if(!any)
		errno = EDESTADDRREQ;
	/*
	 * Detach the old one first: the kernel has no room for two large filters, and the old one
	 * is wrong now.
	 */
	return !any || attach(sock, &none, 1) < 0 ? -1 : attach(sock, code, at - code);
}

/* Bound to no protocol: it only has frames that the script takes. */
static int
bind_to_device(int sock)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(device_name),
	};

	if(!address.sll_ifindex)
		return -1;
	device_index = address.sll_ifindex;
	return bind(sock, (struct sockaddr *)&address, sizeof(address));
}

static int
set_up(int sock)
{
	int one = 1, room = 1 << 20;
	size_t i;

	if(bind_to_device(sock) < 0)
		return -1;
	for(i = 0; i < socket_count; i++)
		is_elsewhere[i] = is_of_another_device(&sockets[i]);
	if(attach_filter(sock) < 0)
		return -1;
	setsockopt(sock, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	setsockopt(sock, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
	if(setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return 0;
}

/* NSD may have been started with 0, 1 or 2 closed, and opens these numbers itself later. */
static int
open_socket(int family, int protocol)
{
	int sock = socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	int low = sock;

	if(sock >= 0 && sock < 3) {
		sock = fcntl(low, F_DUPFD_CLOEXEC, 3);
		close(low);
	}
	return sock;
}

int
frames_open(const char *device, const struct nsd_socket *of, size_t n)
{
	int sock = open_socket(AF_PACKET, 0);

	device_name = device;
	sockets = of;
	socket_count = n;
	errno = n > SOCKETS_MAX ? E2BIG : errno;
	if(sock >= 0 && n <= SOCKETS_MAX && set_up(sock) == 0)
		return sock;
	log_msg(LOG_ERR, "frames-device %s: no packet socket: %s", device, strerror(errno));
	if(sock >= 0)
		close(sock);
	return -1;
}

/* -- This machine's addresses ------------------------------------------------- */

static int watch = -1;

static int
open_watch(void)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};

	if(watch < 0)
		watch = open_socket(AF_NETLINK, NETLINK_ROUTE);
	/* It may be bound already. */
	if(watch >= 0 && (!bind(watch, (struct sockaddr *)&address, sizeof(address)) ||
			  errno == EINVAL))
		return 0;
	if(pause_s == 1)
		log_msg(LOG_ERR, "frames: this machine's addresses cannot be watched: %s",
			strerror(errno));
	return -1;
}

int
frames_watch(void)
{
	return watch;
}

void
frames_look(int sock)
{
	char event[1024];

	/* One event is enough, even one that did not fit (ENOBUFS). */
	while(recv(watch, event, sizeof(event), 0) >= 0 || errno == ENOBUFS || errno == EINTR)
		;
	attach_filter(sock);
}

/* -- The script --------------------------------------------------------------- */

void
frames_end(void)
{
	if(script >= 0)
		syscript_close(script);
	script = -1;
	in_count = out_count = 0;
}

static int
stop(int error)
{
	char text[512] = "";

	syscript_error(script, text, sizeof(text));
	if(pause_s == 1)
		log_msg(LOG_ERR, "frames: %s %s: serving by UDP sockets",
			syscript_strerror(error), text);
	frames_end();
	return -1;
}

static int
open_script(void)
{
	struct syscript_options options = {
		.size = sizeof(options),
		.name = "datagrams.lua",
		/* Only the kernel has frames. */
		.backend = SYSCRIPT_BACKEND_KERNEL,
		.memory_limit = MEMORY_LIMIT,
		.time_limit_ns = TIME_LIMIT_NS,
	};
	char error[512] = "";

	script = syscript_register(datagrams_lua, datagrams_lua_end - datagrams_lua,
				   &options, error, sizeof(error));
	if(script < 0 && pause_s == 1)
		log_msg(LOG_ERR, "frames: no script: %s %s: serving by UDP sockets; "
			"syscript doctor says what is missing",
			syscript_strerror(script), error);
	return script;
}

int
frames_begin(int sock)
{
	static time_t next;
	time_t now;

	if(sock < 0 || script >= 0 || (now = time(NULL)) < next)
		return 0;
	/*
	 * The device may have been recreated; if it was only renamed, the socket is still bound to
	 * it.
	 */
	bind_to_device(sock);
	/* In this order no change is missed. */
	if(open_watch() < 0 || attach_filter(sock) < 0 || open_script() < 0 ||
	   frames_exchange(sock, 0) < 0) {
		next = now + pause_s;
		pause_s = pause_s < PAUSE_MAX ? 2 * pause_s : PAUSE_MAX;
		return 0;
	}
	pause_s = 1;
	VERBOSITY(1, (LOG_NOTICE, "queries over UDP are taken as frames"));
	return 1;
}

int
frames_exchange(int sock, unsigned int max)
{
	int64_t args[] = {
		sock, max < BATCH ? max : BATCH, (intptr_t)in, out_count, (intptr_t)out,
	};
	int64_t received = 0;
	int ret = syscript_call(script, 5, args, 1, &received);

	out_count = 0;
	if(ret < 0)
		return stop(ret);
	in_count = received > 0 ? received : 0;
	return in_count;
}

/* -- Queries and replies ------------------------------------------------------ */

static int
is_v4(const struct slot *slot)
{
	return slot->v4.eth.h_proto == htons(ETH_P_IP);
}

static int
is_for4(const struct slot *slot, const struct sockaddr_in *to)
{
	return to->sin_family == AF_INET && to->sin_port == slot->v4.udp.dest &&
		to->sin_addr.s_addr == slot->v4.ip.daddr;
}

static int
is_for6(const struct slot *slot, const struct sockaddr_in6 *to)
{
	return to->sin6_family == AF_INET6 && to->sin6_port == slot->v6.udp.dest &&
		!memcmp(&to->sin6_addr, &slot->v6.ip.ip6_dst, sizeof(to->sin6_addr));
}

static void
give4(struct mmsghdr *msg, const struct slot *slot)
{
	struct sockaddr_in *name = msg->msg_hdr.msg_name;

	*name = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = slot->v4.udp.source,
		.sin_addr.s_addr = slot->v4.ip.saddr,
	};
	msg->msg_hdr.msg_namelen = sizeof(*name);
	memcpy(msg->msg_hdr.msg_iov->iov_base, slot->v4.payload, slot->len);
}

static void
give6(struct mmsghdr *msg, const struct slot *slot)
{
	struct sockaddr_in6 *name = msg->msg_hdr.msg_name;

	*name = (struct sockaddr_in6){
		.sin6_family = AF_INET6,
		.sin6_port = slot->v6.udp.source,
		.sin6_addr = slot->v6.ip.ip6_src,
	};
	if(IN6_IS_ADDR_LINKLOCAL(&name->sin6_addr))
		name->sin6_scope_id = device_index;
	msg->msg_hdr.msg_namelen = sizeof(*name);
	memcpy(msg->msg_hdr.msg_iov->iov_base, slot->v6.payload, slot->len);
}

int
frames_recvmmsg(const struct nsd_socket *to, struct mmsghdr *msgs, unsigned int n)
{
	unsigned int i, done = 0;

	for(i = 0; i < in_count && done < n; i++) {
		struct slot *slot = &in[i];
		int v4 = is_v4(slot);

		if(!slot->place || !(v4 ? is_for4(slot, (const void *)&to->addr.ai_addr) :
				     is_for6(slot, (const void *)&to->addr.ai_addr)))
			continue;
		if(v4)
			give4(&msgs[done], slot);
		else
			give6(&msgs[done], slot);
		msgs[done].msg_len = slot->len;
		msgs[done++].msg_hdr.msg_flags = slot->place;
		slot->place = 0;
	}
	return done;
}

static int
fits(const struct msghdr *msg)
{
	const struct sockaddr *name = msg->msg_name;
	size_t headers = name->sa_family == AF_INET ? sizeof(struct iphdr) :
			 sizeof(struct ip6_hdr);

	return msg->msg_iov->iov_len + sizeof(struct udphdr) + headers <= PACKET_MAX &&
		out_count < BATCH;
}

static void
put_reply(const struct msghdr *msg)
{
	struct slot *slot = &out[out_count++];

	slot->place = msg->msg_flags;
	slot->len = msg->msg_iov->iov_len;
	memcpy(slot->payload, msg->msg_iov->iov_base, slot->len);
}

int
frames_sendmmsg(const struct nsd_socket *from, struct mmsghdr *msgs, unsigned int n)
{
	unsigned int i;

	for(i = 0; i < n; i++) {
		/* Port 0 is not a valid source. */
		if(!((const struct sockaddr_in *)msgs[i].msg_hdr.msg_name)->sin_port)
			continue;
		if(fits(&msgs[i].msg_hdr))
			put_reply(&msgs[i].msg_hdr);
		else
			sendmsg(from->s, &msgs[i].msg_hdr, MSG_DONTWAIT);
	}
	return n;
}
