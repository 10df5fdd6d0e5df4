// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See rings.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
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
#include "rings.h"

#define FRAMES		64	/* of each ring; a power of two */
#define ROOM		2048	/* of a frame */
#define SOL_XDP_	283
/* Of a received datagram: struct io_uring_recvmsg_out, name, payload. */
#define NAME_AT		sizeof(struct io_uring_recvmsg_out)
#define PAYLOAD_AT	(NAME_AT + sizeof(struct sockaddr_in))

/* One of AF_XDP's four: where the kernel's and our indices are, and the entries. */
struct ring {
	uint32_t *producer, *consumer;
	void *entries;
};

struct rings {
	int sock;
	char *in, *out;		/* AF_PACKET's; AF_XDP has one memory, at @in */
	unsigned int next_in, next_out;
	struct ring fill, completion, rx, tx;

	/* io_uring's */
	bool begun;
	struct io_uring uring;
	struct io_uring_buf_ring *buffers;
	struct msghdr format, replies[FRAMES];
	struct iovec iov[FRAMES];
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

/* Makes of a request its reply, and returns its length; 0: it is none. */
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

struct rings *rings_open_packet(const char *device)
{
	struct tpacket_req size = {
		.tp_block_size = FRAMES * ROOM, .tp_block_nr = 1,
		.tp_frame_size = ROOM, .tp_frame_nr = FRAMES,
	};
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(device),
	};
	struct rings *rings = calloc(1, sizeof(*rings));
	int version = TPACKET_V2, one = 1;

	rings->sock = socket(AF_PACKET, SOCK_RAW, 0);
	set(rings->sock, SOL_PACKET, PACKET_VERSION, &version, sizeof(version));
	set(rings->sock, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	set(rings->sock, SOL_PACKET, PACKET_RX_RING, &size, sizeof(size));
	set(rings->sock, SOL_PACKET, PACKET_TX_RING, &size, sizeof(size));
	rings->in = map(rings->sock, 2 * FRAMES * ROOM, 0);
	rings->out = rings->in + FRAMES * ROOM;
	if (bind(rings->sock, (struct sockaddr *)&address, sizeof(address)))
		measure_die("%s: %m", device);
	return rings;
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
	if (sent && send(rings->sock, NULL, 0, 0) < 0)
		measure_die("ring: send: %m");
}

/* -- AF_XDP ------------------------------------------------------------------ */

static long bpf(int command, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (ret < 0)
		measure_die("bpf %d: %m", command);
	return ret;
}

/* Of the device's only queue all goes to the socket. */
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
	bpf(BPF_LINK_CREATE, &attr);	/* for as long as this program runs */
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

/* Returns how many are to be sent. */
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

/* -- io_uring: multishot receive into our buffers, replies from there -------------- */

static void receive_on(struct rings *rings)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&rings->uring);

	io_uring_prep_recvmsg_multishot(sqe, rings->sock, &rings->format, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	io_uring_sqe_set_data64(sqe, FRAMES);
}

static void give_buffer(struct rings *rings, unsigned int i)
{
	io_uring_buf_ring_add(rings->buffers, rings->in + i * ROOM, ROOM, i,
			      io_uring_buf_ring_mask(FRAMES), 0);
	io_uring_buf_ring_advance(rings->buffers, 1);
}

struct rings *rings_open_uring(int sock)
{
	struct rings *rings = calloc(1, sizeof(*rings));

	rings->sock = sock;
	rings->in = malloc(FRAMES * ROOM);
	rings->format.msg_namelen = sizeof(struct sockaddr_in);
	return rings;
}

/* A ring is one thread's. */
static void begin(struct rings *rings)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_CQSIZE,
		.cq_entries = 4 * FRAMES,
	};
	struct io_uring_buf_reg reg = { .ring_entries = FRAMES };

	if (posix_memalign((void **)&rings->buffers, 4096, FRAMES * sizeof(struct io_uring_buf)))
		measure_die("io_uring: no memory");
	reg.ring_addr = (unsigned long)rings->buffers;
	if (io_uring_queue_init_params(2 * FRAMES, &rings->uring, &params) ||
	    io_uring_register_buf_ring(&rings->uring, &reg, 0))
		measure_die("io_uring: there is none");
	io_uring_buf_ring_init(rings->buffers);
	for (unsigned int i = 0; i < FRAMES; i++)
		give_buffer(rings, i);
	receive_on(rings);
	rings->begun = true;
}

/* From the buffer that it has come in, which is back when the reply has gone out. */
static void reply(struct rings *rings, const struct io_uring_cqe *cqe, rings_answer *answer)
{
	unsigned int i = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	char *buffer = rings->in + i * ROOM;
	struct io_uring_sqe *sqe;

	if (cqe->res < (int)PAYLOAD_AT)
		measure_die("io_uring: received %d", cqe->res);
	rings->iov[i].iov_base = buffer + PAYLOAD_AT;
	rings->iov[i].iov_len = answer(buffer + PAYLOAD_AT, cqe->res - PAYLOAD_AT);
	rings->replies[i] = (struct msghdr){
		.msg_name = buffer + NAME_AT, .msg_namelen = sizeof(struct sockaddr_in),
		.msg_iov = &rings->iov[i], .msg_iovlen = 1,
	};
	sqe = io_uring_get_sqe(&rings->uring);
	io_uring_prep_sendmsg(sqe, rings->sock, &rings->replies[i], 0);
	io_uring_sqe_set_data64(sqe, i);
	if (!(cqe->flags & IORING_CQE_F_MORE))
		receive_on(rings);
}

/* Returns how many were requests. */
static unsigned int take(struct rings *rings, rings_answer *answer)
{
	unsigned int head, seen = 0, n = 0;
	struct io_uring_cqe *cqe;

	io_uring_for_each_cqe(&rings->uring, head, cqe) {
		seen++;
		if (io_uring_cqe_get_data64(cqe) < FRAMES) {
			if (cqe->res < 0)
				measure_die("io_uring: send: %s", strerror(-cqe->res));
			give_buffer(rings, io_uring_cqe_get_data64(cqe));
		} else {
			reply(rings, cqe, answer);
			n++;
		}
	}
	io_uring_cq_advance(&rings->uring, seen);
	return n;
}

void rings_serve_uring(struct rings *rings, rings_answer *answer)
{
	if (!rings->begun)
		begin(rings);
	do {
		if (io_uring_submit_and_wait(&rings->uring, 1) < 0)
			measure_die("io_uring: %m");
	} while (!take(rings, answer));
	if (io_uring_submit(&rings->uring) < 0)
		measure_die("io_uring: %m");
}
