// SPDX-License-Identifier: GPL-2.0 OR MIT
/* scripts/send_batch.lua and scripts/recv_batch.lua on real UDP sockets. */
#include "lib_test.h"

#define BATCH	16
#define PACKET	1024
#define ADDRESS	28

static char packets[BATCH][PACKET], addresses[BATCH][ADDRESS];
static socklen_t address_lens[BATCH];
static int lens[BATCH];
static int send_batch, recv_batch;

static void fill(const struct sockaddr_in *to, int n)
{
	for (int i = 0; i < n; i++) {
		lens[i] = 20 + i;
		memset(packets[i], 'a' + i, lens[i]);
		memcpy(addresses[i], to, sizeof(*to));
		address_lens[i] = sizeof(*to);
	}
}

static void check_received(const struct sockaddr_in *from, int n)
{
	for (int i = 0; i < n; i++) {
		CHECK_EQ(lens[i], 20 + i);
		CHECK_EQ(packets[i][0], 'a' + i);
		CHECK_EQ(packets[i][lens[i] - 1], 'a' + i);
		CHECK_EQ(address_lens[i], sizeof(*from));
		CHECK(!memcmp(addresses[i], from, 8));
	}
}

static long receive(int in, int max)
{
	return lua_syscall(recv_batch, 6, in, packets, addresses, address_lens, lens, max);
}

static long transmit(int out, int n)
{
	return lua_syscall(send_batch, 6, out, packets, addresses, address_lens, lens, n);
}

int main(void)
{
	struct sockaddr_in here, there;
	int in = udp_socket(&here), out = udp_socket(&there);

	send_batch = load_file("scripts/send_batch.lua");
	recv_batch = load_file("scripts/recv_batch.lua");

	CHECK_EQ(receive(in, BATCH), 0);

	fill(&here, 10);
	CHECK_EQ(transmit(out, 10), 10);
	/* Too short for a request: must be dropped. */
	CHECK_EQ(sendto(out, "12345678", 8, 0, (struct sockaddr *)&here, sizeof(here)), 8);
	memset(packets, 0, sizeof(packets));
	memset(lens, 0, sizeof(lens));
	memset(addresses, 0, sizeof(addresses));
	memset(address_lens, 0, sizeof(address_lens));
	CHECK_EQ(receive(in, 6), 6);
	check_received(&there, 6);
	CHECK_EQ(receive(in, BATCH), 4);
	CHECK_EQ(packets[0][0], 'a' + 6);
	CHECK_EQ(receive(in, BATCH), 0);

	CHECK_EQ(receive(-1, 1), -EBADF);
	CHECK_EQ(lua_syscall(recv_batch, 6, in, packets, addresses, 8, lens, 1), -EPROTO);
	fill(&here, 3);
	address_lens[0] = 1;
	CHECK_EQ(transmit(out, 3), -EINVAL);
	address_lens[0] = sizeof(here);
	address_lens[2] = 1;
	CHECK_EQ(transmit(out, 3), 2);
	return 0;
}
