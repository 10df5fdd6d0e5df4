// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See receiver.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "receiver.h"

#define DATAGRAM	UINT64_MAX	/* as its user data */

static void request(struct receiver *receiver)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&receiver->uring);

	io_uring_prep_recvmsg_multishot(sqe, receiver->sock, &receiver->format, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	io_uring_sqe_set_data64(sqe, DATAGRAM);
}

void receiver_give(struct receiver *receiver, unsigned int buffer)
{
	io_uring_buf_ring_add(receiver->buffers, receiver->memory + buffer * receiver->size,
			      receiver->size, buffer, io_uring_buf_ring_mask(RECEIVER_BUFFERS), 0);
	io_uring_buf_ring_advance(receiver->buffers, 1);
}

static void make_rings(struct receiver *receiver)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_CQSIZE,
		.cq_entries = 4 * RECEIVER_BUFFERS,
	};
	struct io_uring_buf_reg reg = {
		.ring_addr = (unsigned long)receiver->buffers, .ring_entries = RECEIVER_BUFFERS,
	};
	int err = io_uring_queue_init_params(2 * RECEIVER_BUFFERS, &receiver->uring, &params);

	if (!err)
		err = io_uring_register_buf_ring(&receiver->uring, &reg, 0);
	if (err)
		measure_die("io_uring: %s", strerror(-err));
	io_uring_buf_ring_init(receiver->buffers);
}

struct receiver *receiver_open(int sock, size_t payload)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));
	size_t ring = RECEIVER_BUFFERS * sizeof(struct io_uring_buf);

	if (!receiver || posix_memalign((void **)&receiver->buffers, 4096, ring))
		measure_die("no memory for io_uring");
	receiver->sock = sock;
	receiver->format.msg_namelen = sizeof(struct sockaddr_in);
	receiver->size = sizeof(struct io_uring_recvmsg_out) + sizeof(struct sockaddr_in) + payload;
	receiver->memory = malloc(RECEIVER_BUFFERS * receiver->size);
	if (!receiver->memory)
		measure_die("no memory for io_uring");
	make_rings(receiver);
	for (unsigned int i = 0; i < RECEIVER_BUFFERS; i++)
		receiver_give(receiver, i);
	request(receiver);
	return receiver;
}

void receiver_wait(struct receiver *receiver)
{
	int err = io_uring_submit_and_wait(&receiver->uring, 1);

	if (err < 0)
		measure_die("io_uring_enter: %s", strerror(-err));
}

bool receiver_has(const struct io_uring_cqe *cqe)
{
	return io_uring_cqe_get_data64(cqe) == DATAGRAM;
}

struct received receiver_take(struct receiver *receiver, const struct io_uring_cqe *cqe)
{
	unsigned int buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	struct io_uring_recvmsg_out *out;

	if (cqe->res < 0)
		measure_die("io_uring: recvmsg: %s", strerror(-cqe->res));
	out = io_uring_recvmsg_validate(receiver->memory + buffer * receiver->size, cqe->res,
					&receiver->format);
	if (!out)
		measure_die("io_uring: a message without its header");
	if (!(cqe->flags & IORING_CQE_F_MORE))
		request(receiver);
	return (struct received){
		.buffer = buffer, .len = out->payloadlen, .name = io_uring_recvmsg_name(out),
		.payload = io_uring_recvmsg_payload(out, &receiver->format),
	};
}
