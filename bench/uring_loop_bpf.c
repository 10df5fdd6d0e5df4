// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring's BPF loop as a UDP echo server, which uring_loop.c loads: each step of the loop sees what
 * has completed, and submits what comes next, without a return to user space. The process has
 * prepared a receive and a send for each message; user data says which.
 */
#include <linux/bpf.h>

#include "uring_loop.h"

#define SEC(name)	__attribute__((section(name), used))
#define U32(base, at)	(*(__u32 *)((base) + (at)))

enum { REGION_RINGS = 1, REGION_SQES = 2 };
enum { LOOP_CONTINUE, LOOP_STOP };

struct iou_ctx {};
struct iou_loop_params {
	__u32 cq_wait_idx;
};

struct io_uring_bpf_ops {
	int (*loop_step)(struct iou_ctx *uring, struct iou_loop_params *params);
	__u32 ring_fd;
	void *priv;
};

extern int bpf_io_uring_submit_sqes(struct iou_ctx *uring, __u32 n) SEC(".ksyms");
extern __u8 *bpf_io_uring_get_region(struct iou_ctx *uring, __u32 region,
				     const __u64 rdwr_buf_size) SEC(".ksyms");

const volatile struct uring_loop_layout layout;
int asked, answered;

static void submit(__u8 *rings, __u32 tail, __u32 n, __u32 sqe)
{
	U32(rings, layout.array + ((tail + n) % LOOP_SQES) * 4) = sqe;
}

/* Asks for a batch; the first message is waited for. */
static __u32 receive(__u8 *rings, __u32 tail)
{
	for (__u32 i = 0; i < LOOP_BATCH; i++)
		submit(rings, tail, i, LOOP_RECEIVE(i));
	return LOOP_BATCH;
}

/*
 * Sends back what has come; sends that succeed do not complete. Without branches, whose combinations
 * the verifier would follow: what did not come is written, too, but not counted.
 */
static __u32 answer(__u8 *rings, __u8 *sqes, __u32 tail)
{
	__u32 head = U32(rings, layout.cq_head), came = U32(rings, layout.cq_tail) - head, n = 0;

	for (__u32 i = 0; i < LOOP_SQES && i < came; i++) {
		__u32 cqe = layout.cqes + ((head + i) % LOOP_CQES) * 16;
		__u32 sqe = U32(rings, cqe) % LOOP_SQES, len = U32(rings, cqe + 8);

		U32(sqes, (sqe | 1) * 64 + 24) = len;
		submit(rings, tail, n, sqe | 1);
		n += ~(sqe | len >> 31) & 1;
	}
	U32(rings, layout.cq_head) = head + came;
	return n;
}

SEC("struct_ops/loop_step")
int loop_step(unsigned long long *args)
{
	struct iou_ctx *uring = (void *)args[0];
	struct iou_loop_params *params = (void *)args[1];
	__u8 *rings = bpf_io_uring_get_region(uring, REGION_RINGS, LOOP_PAGE);
	__u8 *sqes = bpf_io_uring_get_region(uring, REGION_SQES, LOOP_SQES * 64);
	__u32 tail, n;

	if (!rings || !sqes)
		return LOOP_STOP;
	tail = U32(rings, layout.sq_tail);
	if (asked) {
		n = answer(rings, sqes, tail);
		answered += n;
	} else {
		n = receive(rings, tail);
		asked = 1;
	}
	if (n) {
		U32(rings, layout.sq_tail) = tail + n;
		bpf_io_uring_submit_sqes(uring, n);
	}
	if (answered) {
		asked = 0;
		answered = 0;
		return LOOP_STOP;
	}
	params->cq_wait_idx = U32(rings, layout.cq_head) + 1;
	return LOOP_CONTINUE;
}

SEC(".struct_ops")
struct io_uring_bpf_ops loop_ops = {
	.loop_step = (void *)loop_step,
	.ring_fd = LOOP_FD,
};

char _license[] SEC("license") = "GPL";
