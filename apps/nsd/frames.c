/* SPDX-License-Identifier: BSD-3-Clause OR MIT */
/* frames.c -- see frames.h. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
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

#define BATCH		64	/* all that a port has */
#define PAUSE_MAX	64	/* s, between two tries */
#define MEMORY_LIMIT	(1 << 20)
#define TIME_LIMIT_NS	1000000000

/*
 * A packet that every link carries in one piece.  Frames are sent with the flag that
 * forbids to cut them on the way; longer replies are the stack's.
 */
#define PACKET_MAX	1280

/* As datagrams.lua has it. */
struct slot {
	uint32_t place;		/* the query's, from 1 on; 0: has been given to NSD */
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

/* What a frame has at an offset, if it is for a UDP socket. */
struct condition {
	uint16_t size;		/* BPF_B, BPF_H or BPF_W */
	uint32_t offset, mask, value;
};

#define CONDITIONS_MAX 9
#define SOCKETS_MAX 64
#define NO_TAG { BPF_H, SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT, ~0u, 0 }

/* Whole datagrams without options. */
static unsigned int
conditions4(struct condition *to, const struct sockaddr_in *address)
{
	const struct condition all[] = {
		NO_TAG,
		/* IPv4, a header of 20 bytes; no fragment, UDP */
		{ BPF_W, 12, 0xffffff00, ETH_P_IP << 16 | 0x4500 },
		{ BPF_W, 20, 0x3fff00ff, IPPROTO_UDP },
		{ BPF_H, 36, ~0u, ntohs(address->sin_port) },
		{ BPF_W, 30, ~0u, ntohl(address->sin_addr.s_addr) },
	};

	memcpy(to, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

/* The same without extension headers. */
static unsigned int
conditions6(struct condition *to, const struct sockaddr_in6 *address)
{
	const struct condition all[] = {
		NO_TAG,
		{ BPF_H, 12, ~0u, ETH_P_IPV6 },
		{ BPF_B, 20, ~0u, IPPROTO_UDP },
		{ BPF_H, 56, ~0u, ntohs(address->sin6_port) },
	};
	unsigned int i;

	memcpy(to, all, sizeof(all));
	for(i = 0; i < 4; i++)
		to[4 + i] = (struct condition){ BPF_W, 38 + 4 * i, ~0u,
			ntohl(address->sin6_addr.s6_addr32[i]) };
	return 8;
}

/* 0: it is for any address, and so may be what this machine only forwards. */
static unsigned int
conditions_of(struct condition *to, const struct nsd_socket *sock)
{
	const struct sockaddr_in *v4 = (const void *)&sock->addr.ai_addr;
	const struct sockaddr_in6 *v6 = (const void *)&sock->addr.ai_addr;

	if(sock->addr.ai_family == AF_INET)
		return v4->sin_addr.s_addr ? conditions4(to, v4) : 0;
	return IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ? 0 : conditions6(to, v6);
}

/* Accepts if all are met; else goes on after it. */
static struct sock_filter *
write_block(struct sock_filter *at, const struct condition *c, unsigned int n)
{
	struct sock_filter *jumps[CONDITIONS_MAX];
	unsigned int i;

	for(i = 0; i < n; i++, c++) {
		*at++ = (struct sock_filter)BPF_STMT(BPF_LD | c->size | BPF_ABS, c->offset);
		if(~c->mask)
			*at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask);
		jumps[i] = at;
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->value, 0, 0);
	}
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	for(i = 0; i < n; i++)
		jumps[i]->jf = at - jumps[i] - 1;
	return at;
}

static int
attach_filter(int sock, const struct nsd_socket *sockets, size_t n)
{
	static struct sock_filter code[(3 * CONDITIONS_MAX + 1) * SOCKETS_MAX + 1];
	struct sock_filter *at = code;
	struct condition conditions[CONDITIONS_MAX];
	struct sock_fprog program = { .filter = code };
	size_t i;

	if(n > SOCKETS_MAX) {
		errno = E2BIG;
		return -1;
	}
	for(i = 0; i < n; i++) {
		unsigned int count = conditions_of(conditions, &sockets[i]);

		if(count)
			at = write_block(at, conditions, count);
	}
	if(at == code) {
		errno = EDESTADDRREQ;
		return -1;
	}
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	program.len = at - code;
	return setsockopt(sock, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* To no protocol: it has nothing but what the script takes. */
static int
set_up(int sock, const char *device, const struct nsd_socket *sockets, size_t n)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(device),
	};
	int one = 1, room = 1 << 20;

	if(!address.sll_ifindex || attach_filter(sock, sockets, n) < 0 ||
	   bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	setsockopt(sock, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	setsockopt(sock, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
	if(setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	device_index = address.sll_ifindex;
	return 0;
}

int
frames_open(const char *device, const struct nsd_socket *sockets, size_t n)
{
	int sock = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if(sock >= 0 && set_up(sock, device, sockets, n) == 0)
		return sock;
	log_msg(LOG_ERR, "frames-device %s: no packet socket: %s", device, strerror(errno));
	if(sock >= 0)
		close(sock);
	return -1;
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
		/* Only there are frames. */
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
	if(open_script() < 0 || frames_exchange(sock, 0) < 0) {
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
		/* No one can have asked from port 0. */
		if(!((const struct sockaddr_in *)msgs[i].msg_hdr.msg_name)->sin_port)
			continue;
		if(fits(&msgs[i].msg_hdr))
			put_reply(&msgs[i].msg_hdr);
		else
			sendmsg(from->s, &msgs[i].msg_hdr, MSG_DONTWAIT);
	}
	return n;
}
