// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See afpacket_afxdp.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "receiver.h"
#include "afpacket_afxdp.h"

#define FRAMES		64	/* of each ring; a power of two */
#define ROOM		2048	/* of a frame */
#define BLOCKS		16
#define BLOCK		8192	/* more than a batch */
#define BLOCK_MS	1	/* the least */
#define SOL_XDP_	283

/* One of AF_XDP's four rings: the kernel's and our index, and the entries. */
struct ring {
	uint32_t *producer, *consumer;
	void *entries;
};

struct rings {
	int sock;
	char *in, *out;		/* AF_PACKET's; AF_XDP has one memory area, at @in */
	unsigned int next_in, next_out;
	struct ring fill, completion, rx, tx;

	/* io_uring's */
	struct receiver *receiver;
	struct msghdr replies[RECEIVER_BUFFERS];
	struct iovec iov[RECEIVER_BUFFERS];
};

/* -- A frame ----------------------------------------------------------------- */

struct headers {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

static uint64_t add_sum(uint64_t sum, const void *bytes, size_t len)
{
	const char *at = bytes;
	uint32_t word = 0;

	for (; len >= 4; at += 4, len -= 4) {
		memcpy(&word, at, 4);
		sum += word;
	}
	word = 0;
	memcpy(&word, at, len);
	return sum + word;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void swap(void *a, void *b, size_t n)
{
	char t[ETH_ALEN];

	memcpy(t, a, n);
	memcpy(a, b, n);
	memcpy(b, t, n);
}

/* Turns a request into its reply and returns its length; 0: not a request. */
static unsigned int turn_round(char *frame, unsigned int len, rings_answer *answer)
{
	struct headers *h = (struct headers *)frame;
	unsigned int size = len < sizeof(*h) ? 0 : ntohs(h->udp.len);
	uint64_t sum;

	if (h->eth.h_proto != htons(ETH_P_IP) || h->ip.protocol != IPPROTO_UDP ||
	    size < sizeof(h->udp) || sizeof(*h) - sizeof(h->udp) + size > len)
		return 0;
	size = answer(frame + sizeof(*h), size - sizeof(h->udp));
	if (!size)
		return 0;
	size += sizeof(h->udp);
	swap(h->eth.h_dest, h->eth.h_source, ETH_ALEN);
	swap(&h->ip.saddr, &h->ip.daddr, 4);
	swap(&h->udp.source, &h->udp.dest, 2);
	h->ip.tot_len = htons(sizeof(h->ip) + size);
	h->ip.check = 0;
	h->ip.check = fold(add_sum(0, &h->ip, sizeof(h->ip)));
	h->udp.len = htons(size);
	h->udp.check = 0;
	sum = add_sum(htons(IPPROTO_UDP) + h->udp.len, &h->ip.saddr, 8);
	h->udp.check = fold(add_sum(sum, &h->udp, size));
	return sizeof(*h) - sizeof(h->udp) + size;
}

static void wait_for(struct rings *rings)
{
	struct pollfd pollfd = { .fd = rings->sock, .events = POLLIN };

	if (poll(&pollfd, 1, -1) != 1)
		measure_die("ring: %m");
}

static void *map(int sock, size_t size, off_t what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, sock, what);

	if (at == MAP_FAILED)
		measure_die("ring: %m");
	return at;
}

static void set(int sock, int level, int option, const void *value, socklen_t len)
{
	if (setsockopt(sock, level, option, value, len))
		measure_die("ring: option %d: %m", option);
}

/* -- AF_PACKET --------------------------------------------------------------- */

/* With two rings of these sizes; all versions of the structure begin with the same fields. */
static struct rings *open_packet(const char *device, int version, const struct tpacket_req3 *in,
				 const struct tpacket_req3 *out)
{
	socklen_t len = version == TPACKET_V3 ? sizeof(*in) : sizeof(struct tpacket_req);
	size_t in_size = (size_t)in->tp_block_size * in->tp_block_nr;
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(device),
	};
	struct rings *rings = calloc(1, sizeof(*rings));
	int one = 1;

	rings->sock = socket(AF_PACKET, SOCK_RAW, 0);
	set(rings->sock, SOL_PACKET, PACKET_VERSION, &version, sizeof(version));
	set(rings->sock, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	set(rings->sock, SOL_PACKET, PACKET_RX_RING, in, len);
	set(rings->sock, SOL_PACKET, PACKET_TX_RING, out, len);
	rings->in = map(rings->sock, in_size + FRAMES * ROOM, 0);
	rings->out = rings->in + in_size;
	if (bind(rings->sock, (struct sockaddr *)&address, sizeof(address)))
		measure_die("%s: %m", device);
	return rings;
}

static const struct tpacket_req3 of_frames = {
	.tp_block_size = FRAMES * ROOM, .tp_block_nr = 1,
	.tp_frame_size = ROOM, .tp_frame_nr = FRAMES,
};

struct rings *rings_open_packet(const char *device)
{
	return open_packet(device, TPACKET_V2, &of_frames, &of_frames);
}

struct rings *rings_open_blocks(const char *device)
{
	const struct tpacket_req3 of_blocks = {
		.tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = ROOM,
		.tp_frame_nr = BLOCKS * BLOCK / ROOM, .tp_retire_blk_tov = BLOCK_MS,
	};

	return open_packet(device, TPACKET_V3, &of_blocks, &of_frames);
}

static void send_out(struct rings *rings)
{
	if (send(rings->sock, NULL, 0, 0) < 0)
		measure_die("ring: send: %m");
}

static struct tpacket2_hdr *slot(char *ring, unsigned int i)
{
	return (struct tpacket2_hdr *)(ring + i % FRAMES * ROOM);
}

static uint32_t status(struct tpacket2_hdr *slot)
{
	return __atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE);
}

void rings_serve_packet(struct rings *rings, rings_answer *answer)
{
	struct tpacket2_hdr *in, *out;
	unsigned int sent = 0;

	if (!(status(slot(rings->in, rings->next_in)) & TP_STATUS_USER))
		wait_for(rings);
	while (status(in = slot(rings->in, rings->next_in)) & TP_STATUS_USER) {
		char *to;

		out = slot(rings->out, rings->next_out);
		to = (char *)out + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll);
		memcpy(to, (char *)in + in->tp_mac, in->tp_snaplen);
		out->tp_len = turn_round(to, in->tp_snaplen, answer);
		__atomic_store_n(&in->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		rings->next_in++;
		if (!out->tp_len)
			continue;
		__atomic_store_n(&out->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
		rings->next_out++;
		sent++;
	}
	if (sent)
		send_out(rings);
}

/* Copies the reply to the send ring. False: not a request. */
static bool answer_block(struct rings *rings, const struct tpacket3_hdr *in, rings_answer *answer)
{
	struct tpacket3_hdr *out = (void *)(rings->out + rings->next_out % FRAMES * ROOM);
	char *to = (char *)out + TPACKET3_HDRLEN - sizeof(struct sockaddr_ll);

	memcpy(to, (const char *)in + in->tp_mac, in->tp_snaplen);
	out->tp_next_offset = 0;
	out->tp_len = turn_round(to, in->tp_snaplen, answer);
	if (!out->tp_len)
		return false;
	__atomic_store_n(&out->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
	rings->next_out++;
	return true;
}

unsigned int rings_serve_blocks(struct rings *rings, rings_answer *answer)
{
	struct tpacket_block_desc *block = (void *)(rings->in + rings->next_in % BLOCKS * BLOCK);
	struct tpacket_hdr_v1 *head = &block->hdr.bh1;
	const struct tpacket3_hdr *in;
	unsigned int sent = 0;

	while (!(__atomic_load_n(&head->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		wait_for(rings);
	in = (const void *)((char *)block + head->offset_to_first_pkt);
	for (unsigned int i = 0; i < head->num_pkts; i++) {
		sent += answer_block(rings, in, answer);
		in = (const void *)((const char *)in + in->tp_next_offset);
	}
	__atomic_store_n(&head->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	rings->next_in++;
	if (sent)
		send_out(rings);
	return sent;
}

/* -- AF_XDP ------------------------------------------------------------------ */

static long bpf(int command, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (ret < 0)
		measure_die("bpf %d: %m", command);
	return ret;
}

/* Redirects everything from the device's only queue to the socket. */
static void redirect(int sock, unsigned int device)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4,
				.value_size = 4, .max_entries = 1 };
	int map = bpf(BPF_MAP_CREATE, &attr), key = 0;
	struct bpf_insn code[] = {
		{ BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map },
		{ 0, 0, 0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	attr = (union bpf_attr){ .map_fd = map, .key = (unsigned long)&key,
				 .value = (unsigned long)&sock };
	bpf(BPF_MAP_UPDATE_ELEM, &attr);
	attr = (union bpf_attr){ .prog_type = BPF_PROG_TYPE_XDP, .insns = (unsigned long)code,
				 .insn_cnt = sizeof(code) / sizeof(code[0]),
				 .license = (unsigned long)"GPL" };
	attr = (union bpf_attr){ .link_create = {
		.prog_fd = bpf(BPF_PROG_LOAD, &attr), .target_ifindex = device,
		.attach_type = BPF_XDP, .flags = XDP_FLAGS_SKB_MODE } };
	bpf(BPF_LINK_CREATE, &attr);	/* as long as this program runs */
}

static struct ring map_ring(int sock, const struct xdp_ring_offset *at, off_t what, size_t size)
{
	char *memory = map(sock, at->desc + FRAMES * size, what);

	return (struct ring){ (uint32_t *)(memory + at->producer),
			      (uint32_t *)(memory + at->consumer), memory + at->desc };
}

static unsigned int waiting(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - *ring->consumer;
}

static void give_back(struct rings *rings, uint64_t frame)
{
	uint64_t *entries = rings->fill.entries;
	uint32_t at = *rings->fill.producer;

	entries[at % FRAMES] = frame;
	__atomic_store_n(rings->fill.producer, at + 1, __ATOMIC_RELEASE);
}

static void map_rings(struct rings *rings)
{
	const int options[] = { XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING,
				XDP_TX_RING };
	struct xdp_mmap_offsets at;
	socklen_t len = sizeof(at);
	int sock = rings->sock, size = FRAMES;

	for (unsigned int i = 0; i < 4; i++)
		set(sock, SOL_XDP_, options[i], &size, sizeof(size));
	if (getsockopt(sock, SOL_XDP_, XDP_MMAP_OFFSETS, &at, &len))
		measure_die("AF_XDP: %m");
	rings->fill = map_ring(sock, &at.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t));
	rings->completion = map_ring(sock, &at.cr, XDP_UMEM_PGOFF_COMPLETION_RING,
				     sizeof(uint64_t));
	rings->rx = map_ring(sock, &at.rx, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc));
	rings->tx = map_ring(sock, &at.tx, XDP_PGOFF_TX_RING, sizeof(struct xdp_desc));
}

struct rings *rings_open_xdp(const char *device)
{
	struct xdp_umem_reg memory = { .len = FRAMES * ROOM, .chunk_size = ROOM };
	struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY,
		.sxdp_ifindex = if_nametoindex(device),
	};
	struct rings *rings = calloc(1, sizeof(*rings));

	rings->in = mmap(NULL, FRAMES * ROOM, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	memory.addr = (unsigned long)rings->in;
	rings->sock = socket(AF_XDP, SOCK_RAW, 0);
	set(rings->sock, SOL_XDP_, XDP_UMEM_REG, &memory, sizeof(memory));
	map_rings(rings);
	for (unsigned int i = 0; i < FRAMES; i++)
		give_back(rings, i * ROOM);
	if (bind(rings->sock, (struct sockaddr *)&address, sizeof(address)))
		measure_die("AF_XDP: %s: %m", device);
	redirect(rings->sock, address.sxdp_ifindex);
	return rings;
}

/* Returns the number of frames to send. */
static unsigned int answer_xdp(struct rings *rings, rings_answer *answer)
{
	const struct xdp_desc *in = rings->rx.entries;
	struct xdp_desc *out = rings->tx.entries;
	unsigned int sent = 0;

	for (; waiting(&rings->rx); ++*rings->rx.consumer) {
		struct xdp_desc d = in[*rings->rx.consumer % FRAMES];

		d.len = turn_round(rings->in + d.addr, d.len, answer);
		d.options = 0;
		if (d.len)
			out[(*rings->tx.producer + sent++) % FRAMES] = d;
		else
			give_back(rings, d.addr);
	}
	__atomic_store_n(rings->tx.producer, *rings->tx.producer + sent, __ATOMIC_RELEASE);
	return sent;
}

void rings_serve_xdp(struct rings *rings, rings_answer *answer)
{
	const uint64_t *done = rings->completion.entries;

	if (!waiting(&rings->rx))
		wait_for(rings);
	if (answer_xdp(rings, answer) && sendto(rings->sock, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
	    errno != EAGAIN && errno != EBUSY)
		measure_die("AF_XDP: send: %m");
	for (; waiting(&rings->completion); ++*rings->completion.consumer)
		give_back(rings, done[*rings->completion.consumer % FRAMES]);
}

/* -- io_uring: replies from the buffers that requests have come in ------------------- */

struct rings *rings_open_uring(int sock)
{
	struct rings *rings = calloc(1, sizeof(*rings));

	rings->sock = sock;
	return rings;
}

/* The buffer is returned when the reply has been sent. */
static void reply(struct rings *rings, const struct io_uring_cqe *cqe, rings_answer *answer)
{
	struct received in = receiver_take(rings->receiver, cqe);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&rings->receiver->uring);
	unsigned int i = in.buffer;

	rings->iov[i] = (struct iovec){ in.payload, answer(in.payload, in.len) };
	rings->replies[i] = (struct msghdr){
		.msg_name = in.name, .msg_namelen = sizeof(*in.name),
		.msg_iov = &rings->iov[i], .msg_iovlen = 1,
	};
	io_uring_prep_sendmsg(sqe, rings->sock, &rings->replies[i], 0);
	io_uring_sqe_set_data64(sqe, i);
}

/* Returns the number of requests. */
static unsigned int take_answer(struct rings *rings, rings_answer *answer)
{
	unsigned int head, seen = 0, n = 0;
	struct io_uring_cqe *cqe;

	io_uring_for_each_cqe(&rings->receiver->uring, head, cqe) {
		seen++;
		if (receiver_has(cqe)) {
			reply(rings, cqe, answer);
			n++;
		} else {
			if (cqe->res < 0)
				measure_die("io_uring: send: %s", strerror(-cqe->res));
			receiver_give(rings->receiver, io_uring_cqe_get_data64(cqe));
		}
	}
	io_uring_cq_advance(&rings->receiver->uring, seen);
	return n;
}

/* A receiver belongs to one thread: the first that serves. */
void rings_serve_uring(struct rings *rings, rings_answer *answer)
{
	if (!rings->receiver)
		rings->receiver = receiver_open(rings->sock, ROOM);
	do
		receiver_wait(rings->receiver);
	while (!take_answer(rings, answer));
	if (io_uring_submit(&rings->receiver->uring) < 0)
		measure_die("io_uring: %m");
}
