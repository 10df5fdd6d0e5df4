// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure.h"
#include "testnet.h"

#define UNKNOWN_PROTOCOL	0x88b5

struct datagram {
	struct virtio_net_hdr card;
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	char payload[];
};

_Static_assert(offsetof(struct datagram, ip) == 24, "no padding");

static int nets[TESTNET_FAR + 1];
static pid_t far_pid;

/* -- Namespaces -------------------------------------------------------------- */

void testnet_enter(enum testnet_end end)
{
	if (setns(nets[end], CLONE_NEWNET))
		measure_die("setns: %m");
}

static int open_net(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void testnet_init(void)
{
	int ready[2];
	char byte;

	if (unshare(CLONE_NEWNET) || pipe(ready))
		measure_die("namespace: %m");
	nets[TESTNET_NEAR] = open_net(getpid());
	far_pid = fork();
	if (!far_pid) {
		/* Also when the bench dies: it would hold the pipe of a reader. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) || write(ready[1], "+", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		measure_die("namespace: %m");
	nets[TESTNET_FAR] = open_net(far_pid);
}

void testnet_end(void)
{
	kill(far_pid, SIGKILL);
}

/* -- Devices ----------------------------------------------------------------- */

__attribute__((format(printf, 1, 2)))
static void command(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (system(line))
		measure_die("failed: %s", line);
}

uint32_t testnet_address(unsigned int n, enum testnet_end end)
{
	return htonl(0x0a000000 + (n << 8) + end);
}

static void write_mac(unsigned char *mac, unsigned int n, enum testnet_end end)
{
	const unsigned char bytes[ETH_ALEN] = { 2, 0, 0, 0, n, end };

	memcpy(mac, bytes, ETH_ALEN);
}

static void set_up_far(unsigned int n, bool stack, const char *device)
{
	command("echo 1 >/proc/sys/net/ipv6/conf/%s/disable_ipv6", device);
	if (stack) {
		command("ip address add 10.0.%u.2/24 dev %s", n, device);
		command("ip link set %s up", device);
		command("ip neigh add 10.0.%u.1 lladdr 02:00:00:00:%02x:01 dev %s", n, n, device);
	} else {
		/*
		 * Requests that a script answers must not reach the stack; the script's socket sees
		 * them first.
		 */
		command("ip link set %s up && tc qdisc add dev %s ingress && "
			"tc filter add dev %s parent ffff: protocol all u32 match u32 0 0 "
			"action drop", device, device, device);
	}
}

void testnet_make_pair(unsigned int n, bool stack, char *device)
{
	snprintf(device, TESTNET_NAME, "far%u", n);
	testnet_enter(TESTNET_NEAR);
	command("ip link add name near%u address 02:00:00:00:%02x:01 type veth "
		"peer name far%u address 02:00:00:00:%02x:02 netns %d", n, n, n, n, far_pid);
	command("echo 1 >/proc/sys/net/ipv6/conf/near%u/disable_ipv6", n);
	command("ip address add 10.0.%u.1/24 dev near%u && ip link set near%u up", n, n, n);
	command("ip neigh add 10.0.%u.2 lladdr 02:00:00:00:%02x:02 dev near%u", n, n, n);
	testnet_enter(TESTNET_FAR);
	set_up_far(n, stack, device);
}

int testnet_make_tap(unsigned int n, bool stack, char *device)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int tap;

	snprintf(device, TESTNET_NAME, "tap%u", n);
	testnet_enter(TESTNET_FAR);
	strcpy(request.ifr_name, device);
	command("modprobe tun");
	tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	/* A network card verifies checksums. */
	if (tap < 0 || ioctl(tap, TUNSETIFF, &request) || ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM))
		measure_die("tap: %m");
	command("ip link set %s address 02:00:00:00:%02x:02", device, n);
	set_up_far(n, stack, device);
	return tap;
}

/* -- Frames by hand ---------------------------------------------------------- */

static uint16_t sum(uint32_t start, const void *bytes, size_t len)
{
	const uint16_t *words = bytes;
	uint32_t sum = start;

	for (size_t i = 0; i < len / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

unsigned int testnet_frame(char *to, unsigned int n, bool odd, uint16_t port,
			   const char *payload, unsigned int len)
{
	struct datagram d = {
		.card = {
			.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
			.csum_start = offsetof(struct datagram, udp) - sizeof(d.card),
			.csum_offset = offsetof(struct udphdr, check),
		},
		.eth.h_proto = htons(odd ? UNKNOWN_PROTOCOL : ETH_P_IP),
		.ip = {
			.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
			.tot_len = htons(sizeof(d.ip) + sizeof(d.udp) + len),
			.saddr = testnet_address(n, TESTNET_NEAR),
			.daddr = testnet_address(n, TESTNET_FAR),
		},
		.udp = {
			.source = htons(TESTNET_PORT), .dest = htons(port),
			.len = htons(sizeof(d.udp) + len),
		},
	};

	write_mac(d.eth.h_dest, n, TESTNET_FAR);
	write_mac(d.eth.h_source, n, TESTNET_NEAR);
	d.ip.check = ~sum(0, &d.ip, sizeof(d.ip));
	d.udp.check = sum(htons(IPPROTO_UDP) + d.udp.len, &d.ip.saddr, 8);
	memcpy(to, &d, sizeof(d));
	memcpy(to + sizeof(d), payload, len);
	return sizeof(d) + len;
}

int testnet_read(int tap, char *frame, size_t size, const char **payload)
{
	const struct datagram *d = (const void *)frame;
	struct pollfd pollfd = { .fd = tap, .events = POLLIN };
	ssize_t len;

	if (poll(&pollfd, 1, 10000) != 1)
		measure_die("tap: a reply is missing");
	len = read(tap, frame, size);
	if (len < 0)
		measure_die("tap: %m");
	if (len < (ssize_t)sizeof(*d) || d->eth.h_proto != htons(ETH_P_IP))
		return -1;
	*payload = d->payload;
	return len - sizeof(*d);
}

unsigned int testnet_next(int tap, char *frame, size_t size, const char **payload)
{
	int len;

	do {
		len = testnet_read(tap, frame, size, payload);
	} while (len < 0);
	return len;
}
