// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Frames of a device in C: a compound that echoes datagrams, by the batches of
 * syscript_image_batch.h; and the same batches with numbers out of range, and with records that
 * another thread rewrites.
 *
 *   frames echo DEVICE PORT COUNT    prints the number of replies
 *   frames numbers DEVICE            prints the result of each attempt
 *   frames rewrite DEVICE ROUNDS     prints a line at the end
 *
 * In a network namespace of the process's own: tests/vm/test_cosy.py.
 */
#include <arpa/inet.h>
#include <cosy.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../../include/uapi/syscript_image.h"
#include "../../../include/uapi/syscript_image_batch.h"

#define BATCH(op, batch) \
	((long (*)(long, long))IMAGE_CALL_BATCH)(op, (long)(batch))
#define FRAMES	64
#define SIZE	(FRAMES * 2048)

static struct image_batch_open open_;
static struct image_batch_port port;
static struct image_batch_fetch fetch;
static struct image_batch_place place;
static struct image_batch_slots slots;
static struct image_batch_frame in[FRAMES];
static struct image_batch_out out[FRAMES];
static char bytes[SIZE];

static int open_socket(const char *device)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(device),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || bind(fd, (void *)&address, sizeof(address))) {
		perror(device);
		exit(1);
	}
	return fd;
}

/* -- An echo ------------------------------------------------------------------------- */

/* The destination port follows the source port in the UDP header. */
static int is_for(const struct image_batch_frame *frame, unsigned int number)
{
	const unsigned char *udp = (const unsigned char *)frame->at + frame->found;

	return frame->found && (udp[2] << 8 | udp[3]) == (int)number;
}

/* Until @count frames are answered, or none arrives for a second. */
static long echo(unsigned int number, long count)
{
	long answered = 0, n, i;

	COSY_START;
	port.port = BATCH(IMAGE_BATCH_FRAMES_OPEN, &open_);
	port.out = (unsigned long)out;
	port.max = 16;
	port.timeout = 1000;
	port.enough = 16;
	port.hold = 200;
	fetch.port = port.port;
	fetch.records = (unsigned long)in;
	fetch.bytes = (unsigned long)bytes;
	fetch.size = SIZE;
	while (answered < count) {
		n = BATCH(IMAGE_BATCH_FRAMES_RECEIVE, &port);
		port.n = 0;
		if (n <= 0)
			break;
		n = BATCH(IMAGE_BATCH_FRAMES_FETCH, &fetch);
		for (i = 0; i < n; i++) {
			if (!is_for(&in[i], number))
				continue;
			out[port.n++] = (struct image_batch_out){
				.at = in[i].at, .len = in[i].found + 8 + in[i].found_len,
				.port = port.port, .place = i, .udp = in[i].found, .reply = 1,
			};
			answered++;
		}
		BATCH(IMAGE_BATCH_FRAMES_FLUSH, &port);
		port.n = 0;
	}
	COSY_END;
	return answered;
}

/* -- Numbers --------------------------------------------------------------------------- */

/* Each segment is one call: the frames that it got are used by the next. */
static long batch(long op, void *at)
{
	long ret;

	COSY_START;
	BATCH(IMAGE_BATCH_FRAMES_KEEP, 1);
	/* Makes the segment use the variables, so that they are in the arena. */
	bytes[SIZE - 1] = open_.take | port.port | fetch.port | place.port | slots.port;
	ret = BATCH(op, at);
	COSY_END;
	return ret;
}

static void reset(void)
{
	port = (struct image_batch_port){
		.out = (unsigned long)out, .port = 1, .max = 1, .enough = 1,
	};
	place = (struct image_batch_place){ .port = 1, .room = 100 };
	slots = (struct image_batch_slots){ (unsigned long)bytes, 1, 2048, 4, 0, 0 };
	fetch = (struct image_batch_fetch){
		(unsigned long)in, (unsigned long)bytes, SIZE, 1,
	};
	memset(out, 0, sizeof(out));
	for (int i = 0; i < FRAMES; i++)
		out[i] = (struct image_batch_out){
			.at = (unsigned long)bytes, .len = 60, .port = 1,
		};
}

#define TRY(what, statement, op, at) do {	\
	reset();				\
	statement;				\
	printf("%s %ld\n", what, batch(op, at));	\
} while (0)

#define WILD	0xdead000000000000UL

static void try_numbers(void)
{
	TRY("no port", port.port = 0, IMAGE_BATCH_FRAMES_STATE, &port);
	TRY("another", port.port = 9, IMAGE_BATCH_FRAMES_STATE, &port);
	TRY("not opened", port.port = 2, IMAGE_BATCH_FRAMES_RECEIVE, &port);
	TRY("keep none", (void)0, IMAGE_BATCH_FRAMES_KEEP, (void *)9L);
	TRY("receive none", port.max = 0, IMAGE_BATCH_FRAMES_RECEIVE, &port);
	TRY("receive too many", port.max = 65, IMAGE_BATCH_FRAMES_RECEIVE, &port);
	TRY("wait too long", port.timeout = 1000000001, IMAGE_BATCH_FRAMES_RECEIVE, &port);
	TRY("before now", port.timeout = -2, IMAGE_BATCH_FRAMES_RECEIVE, &port);
	TRY("hold too long", port.hold = ~0U, IMAGE_BATCH_FRAMES_RECEIVE, &port);
	TRY("too many to send", port.n = 65, IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("build too much", place.room = 10241, IMAGE_BATCH_FRAMES_BUILD, &place);
	TRY("grow none", place.place = ~0U, IMAGE_BATCH_FRAMES_GROW, &place);
	TRY("build", (void)0, IMAGE_BATCH_FRAMES_BUILD, &place);
	TRY("grow", place.room = 2000, IMAGE_BATCH_FRAMES_GROW, &place);
	TRY("grow too much", place.room = ~0U, IMAGE_BATCH_FRAMES_GROW, &place);
	TRY("no room", fetch.size = 1, IMAGE_BATCH_FRAMES_FETCH, &fetch);
	TRY("room beyond", fetch.size = ~0UL, IMAGE_BATCH_FRAMES_FETCH, &fetch);
	TRY("fetch", (void)0, IMAGE_BATCH_FRAMES_FETCH, &fetch);
	TRY("slots nowhere", slots.addr = WILD, IMAGE_BATCH_FRAMES_REPLY, &slots);
	TRY("slots too small", slots.size = 7, IMAGE_BATCH_FRAMES_REPLY, &slots);
	TRY("too many slots", slots.n = ~0U, IMAGE_BATCH_FRAMES_REPLY, &slots);
	TRY("another place", port.n = 64; memset(out, 0xff, sizeof(out)),
	    IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("bytes beyond", port.n = 1; out[0].at = -4UL, IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("a reply to nothing", port.n = 1; out[0].reply = 1; out[0].udp = 33,
	    IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("a reply beyond", port.n = 1; out[0].reply = 1; out[0].udp = 54,
	    IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("a sum beyond", port.n = 2; out[0].sum_start = 14; out[0].sum_at = 59,
	    IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("sent before", port.n = 1, IMAGE_BATCH_FRAMES_FLUSH, &port);
	TRY("no take", open_.take = 3, IMAGE_BATCH_FRAMES_OPEN, &open_);
}

/* -- While another writes -------------------------------------------------------------- */

static volatile int over;

static void *rewrite(void *unused)
{
	unsigned int seed = 1;

	while (!over) {
		struct image_batch_out *one = &out[rand_r(&seed) % FRAMES];

		one->len = rand_r(&seed) % 4 ? rand_r(&seed) % 1500 : ~0U;
		one->at = rand_r(&seed) % 4 ? (unsigned long)bytes : -8UL;
		one->udp = rand_r(&seed) % 2 ? 34 : rand_r(&seed);
		one->place = rand_r(&seed) % 4 ? one - out : rand_r(&seed);
		one->reply = rand_r(&seed);
		one->port = rand_r(&seed) % 3;
		one->sum_start = rand_r(&seed);
		one->sum_at = rand_r(&seed);
		in[rand_r(&seed) % FRAMES].at = WILD;
		port.n = rand_r(&seed);
		fetch.size = rand_r(&seed);
		place.place = rand_r(&seed);
	}
	return unused;
}

static void try_while_another_writes(long rounds)
{
	pthread_t thread;

	pthread_create(&thread, NULL, rewrite, NULL);
	while (rounds--) {
		for (int i = 0; i < 8; i++) {
			place.port = 1;
			place.room = 100 * i;
			batch(IMAGE_BATCH_FRAMES_BUILD, &place);
			batch(IMAGE_BATCH_FRAMES_GROW, &place);
		}
		reset();
		port.n = FRAMES;
		batch(IMAGE_BATCH_FRAMES_WRITE, &port);
		batch(IMAGE_BATCH_FRAMES_FETCH, &fetch);
		port.n = FRAMES;
		batch(IMAGE_BATCH_FRAMES_FLUSH, &port);
		batch(IMAGE_BATCH_FRAMES_RECEIVE, &port);
	}
	over = 1;
	pthread_join(thread, NULL);
	printf("over\n");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	open_.fd = open_socket(argv[2]);
	if (!strcmp(argv[1], "echo")) {
		printf("%ld\n", echo(atoi(argv[3]), atoi(argv[4])));
		return 0;
	}
	printf("open %ld\n", batch(IMAGE_BATCH_FRAMES_OPEN, &open_));
	if (!strcmp(argv[1], "numbers"))
		try_numbers();
	else
		try_while_another_writes(atol(argv[3]));
	return 0;
}
