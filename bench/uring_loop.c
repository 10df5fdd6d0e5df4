// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A UDP echo server by io_uring's BPF loop, for CAP_BPF and CAP_PERFMON, on Linux 7.1 and later. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <liburing.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "udp_server.h"
#include "uring_loop.h"

#define PROGRAM	"build/bench/programs/uring_loop.o"

static struct io_uring ring;

/* A reply is as long as its request, which the program fills in. */
static void prepare(const struct udp_server *server, unsigned int i)
{
	struct io_uring_sqe *receive = &ring.sq.sqes[LOOP_RECEIVE(i)];
	struct io_uring_sqe *send = &ring.sq.sqes[LOOP_SEND(i)];

	io_uring_prep_recvmsg(receive, server->sock, (void *)&server->in.hdr[i].msg_hdr,
			      i ? MSG_DONTWAIT : 0);
	receive->user_data = LOOP_RECEIVE(i);
	io_uring_prep_send(send, server->sock, server->in.data[i], 0, 0);
	send->addr2 = (unsigned long)&server->in.name[i];
	send->addr_len = sizeof(server->in.name[i]);
	send->flags = IOSQE_CQE_SKIP_SUCCESS;
	send->user_data = LOOP_SEND(i);
}

static void attach(const struct uring_loop_layout *layout)
{
	struct bpf_object *object = bpf_object__open_file(PROGRAM, NULL);
	struct bpf_map *constants, *ops;

	if (!object)
		measure_die("%s: %m", PROGRAM);
	constants = bpf_object__find_map_by_name(object, ".rodata");
	ops = bpf_object__find_map_by_name(object, "loop_ops");
	if (!constants || !ops ||
	    bpf_map__set_initial_value(constants, layout, sizeof(*layout)) ||
	    bpf_program__set_flags(bpf_object__find_program_by_name(object, "loop_step"),
				   BPF_F_SLEEPABLE) ||
	    bpf_object__load(object) || !bpf_map__attach_struct_ops(ops))
		measure_die("%s: cannot be loaded", PROGRAM);
}

void uring_loop_open(struct udp_server *server)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	int err = io_uring_queue_init_params(LOOP_SQES, &ring, &params);

	if (err || params.sq_entries != LOOP_SQES || params.cq_entries != LOOP_CQES)
		measure_die("io_uring: %s", strerror(-err));
	if (dup2(ring.ring_fd, LOOP_FD) < 0)
		measure_die("dup2: %m");
	for (unsigned int i = 0; i < LOOP_BATCH; i++)
		prepare(server, i);
	attach(&(struct uring_loop_layout){
		.sq_tail = params.sq_off.tail, .array = params.sq_off.array,
		.cq_head = params.cq_off.head, .cq_tail = params.cq_off.tail,
		.cqes = params.cq_off.cqes,
	});
}

void uring_loop_step(struct udp_server *server)
{
	for (unsigned int i = 0; i < BATCH; i++)
		server->in.hdr[i].msg_hdr.msg_namelen = sizeof(server->in.name[i]);
	if (syscall(SYS_io_uring_enter, ring.ring_fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0))
		measure_die("the loop: %m");
}
