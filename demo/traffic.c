// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See traffic.h. */
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "traffic.h"

#define SENDER_CPU	0
#define SEED		2463534242u
/* What the kernel charges to a socket's buffer for a packet of the largest size. */
#define PACKET_CHARGE	2304
/* Between bursts; and within one, after some packets. */
#define PAUSE_US_MIN	100
#define PAUSE_US_MAX	1500
#define GAP_US		20
#define GAP_EVERY	32

static uint32_t xorshift(uint32_t x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}

int traffic_random(struct traffic *traffic, int from, int to)
{
	traffic->random = xorshift(traffic->random);
	return from + traffic->random % (to - from + 1);
}

int traffic_packet(unsigned char *packet, unsigned int number)
{
	uint32_t x = xorshift(SEED ^ number * 2654435761u);
	int len = PACKET_MIN + x % (PACKET_MAX - PACKET_MIN + 1);

	memcpy(packet, &number, sizeof(number));
	for (int i = sizeof(number); i < len; i++) {
		x = xorshift(x);
		packet[i] = x >> 24;
	}
	return len;
}

static void wait_us(int us)
{
	struct timespec ts = { 0, us * 1000L };

	nanosleep(&ts, NULL);
}

static void send_burst(struct traffic *traffic, int sock, int n)
{
	unsigned char packet[PACKET_MAX];

	wait_us(traffic_random(traffic, PAUSE_US_MIN, PAUSE_US_MAX));
	while (n--) {
		int len = traffic_packet(packet, traffic->sent++);

		if (traffic_random(traffic, 1, GAP_EVERY) == 1)
			wait_us(GAP_US);
		if (send(sock, packet, len, 0) != len)
			measure_die("sending failed: %m");
	}
}

/* Orders are numbers of packets; each is answered once they are sent. */
static void sender(struct traffic *traffic, int sock, int orders)
{
	int n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	measure_pin(SENDER_CPU);
	while (read(orders, &n, sizeof(n)) == sizeof(n)) {
		send_burst(traffic, sock, n);
		if (write(orders, &n, sizeof(n)) != sizeof(n))
			break;
	}
	_exit(0);
}

static int open_socket(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (sock < 0 || bind(sock, (struct sockaddr *)addr, len) ||
	    getsockname(sock, (struct sockaddr *)addr, &len))
		measure_die("no UDP socket on loopback: %m");
	return sock;
}

/* Nothing is lost for lack of room. */
static void size_buffer(int sock)
{
	int size = BURST_MAX * PACKET_CHARGE, got;
	socklen_t len = sizeof(got);

	if (setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) ||
	    getsockopt(sock, SOL_SOCKET, SO_RCVBUF, &got, &len))
		measure_die("cannot size the socket's buffer: %m");
	if (got < size)
		measure_die("the socket's buffer has %d bytes: sysctl net.core.rmem_max=%d", got,
			    size);
}

void traffic_start(struct traffic *traffic)
{
	struct sockaddr_in to;
	int ends[2], sock;

	*traffic = (struct traffic){ .random = SEED };
	traffic->sock = open_socket(&to);
	size_buffer(traffic->sock);
	sock = open_socket(&traffic->from);
	if (connect(sock, (struct sockaddr *)&to, sizeof(to)) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		measure_die("no connection to the sender: %m");
	traffic->sender = fork();
	if (traffic->sender < 0)
		measure_die("no sender process: %m");
	if (!traffic->sender) {
		close(ends[0]);
		sender(traffic, sock, ends[1]);
	}
	close(sock);
	close(ends[1]);
	traffic->orders = ends[0];
}

unsigned int traffic_burst(struct traffic *traffic, int n)
{
	unsigned int first = traffic->sent;

	if (write(traffic->orders, &n, sizeof(n)) != sizeof(n) ||
	    read(traffic->orders, &n, sizeof(n)) != sizeof(n))
		measure_die("the sender process has ended");
	traffic->sent += n;
	return first;
}

void traffic_stop(struct traffic *traffic)
{
	int status;

	close(traffic->orders);
	if (waitpid(traffic->sender, &status, 0) != traffic->sender || status)
		measure_die("the sender process failed");
	close(traffic->sock);
}
