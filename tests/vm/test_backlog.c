// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Holding back the receive softirq: several messages to this machine take one
 * pass, and whoever holds cannot keep the packets of others from arriving.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "abi.h"

#define BATCH	64
#define BATCHES	40
#define CPU	0

static const char source[] =
	"function run(fd, addr) return net.send(fd, addr, 64) end\n";

static struct mmsghdr msgs[BATCH];
static struct iovec iov;
static char payload[1024];

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(CPU, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void fill(size_t len)
{
	iov = (struct iovec){ payload, len };
	for (int i = 0; i < BATCH; i++)
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
}

static long send_batch(int script, int fd)
{
	int64_t result = 0;
	long ret = abi_call(script, fd, (intptr_t)msgs, &result);

	return ret < 0 ? ret : result;
}

/* A UDP socket that sends to itself. */
static int self_socket(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 1 << 20;
	socklen_t len = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static int drain(int fd)
{
	char got[sizeof(payload)];
	int n = 0;

	while (recv(fd, got, sizeof(got), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

/* How often this CPU ran the receive softirq. */
static unsigned long passes(void)
{
	unsigned long n = 0;
	char line[4096];
	FILE *file = fopen("/proc/softirqs", "r");

	CHECK(file != NULL);
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " NET_RX: %lu", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

static void test_fewer_passes(void)
{
	int script = abi_must_register(source), fd = self_socket(), arrived = 0;
	unsigned long before;

	fill(40);
	CHECK_EQ(send_batch(script, fd), BATCH);
	drain(fd);
	before = passes();
	for (int i = 0; i < BATCHES; i++) {
		CHECK_EQ(send_batch(script, fd), BATCH);
		usleep(1000);
		arrived += drain(fd);
	}
	CHECK_EQ(arrived, BATCHES * BATCH);
	/* One a batch, or more where batches are preempted; and others' own. */
	CHECK(passes() - before < BATCHES * BATCH / 2);
	close(fd);
	close(script);
}

/* As many messages as the socket's buffer does not hold: it blocks in a hold. */
static pid_t blocked_sender(int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	int script = abi_must_register(source);

	fill(sizeof(payload));
	for (;;)
		send_batch(script, out);
}

static bool sleeps(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(file);
	}
	return state == 'S';
}

static void test_others_receive(void)
{
	int fds[2], fd = self_socket(), status;
	char got[8];
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pid = blocked_sender(fds[0]);
	for (int i = 0; i < 100; i++) {
		/* Wakes it, so that it blocks again in a hold of its own. */
		while (recv(fds[1], payload, sizeof(payload), MSG_DONTWAIT) > 0)
			continue;
		for (int j = 0; j < 10000 && !sleeps(pid); j++)
			usleep(100);
		CHECK(sleeps(pid));
		CHECK_EQ(send(fd, "packet", 6, 0), 6);
		CHECK_EQ(recv(fd, got, sizeof(got), 0), 6);
	}
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(send(fd, "packet", 6, 0), 6);
	CHECK_EQ(recv(fd, got, sizeof(got), 0), 6);
	close(fds[0]);
	close(fds[1]);
	close(fd);
}

/* Many hold at once, on every CPU, and are killed wherever they are. */
static void test_storm(void)
{
	int fd = self_socket();
	pid_t pids[6];
	char got[8];

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 6; i++) {
			pids[i] = fork();
			if (pids[i])
				continue;
			cpu_set_t all;

			memset(&all, 0xff, sizeof(all));
			sched_setaffinity(0, sizeof(all), &all);
			int script = abi_must_register(source), own = self_socket();

			fill(i % 2 ? 8 : 1000);
			for (;;) {
				send_batch(script, own);
				drain(own);
			}
		}
		usleep(100000);
		for (int i = 0; i < 6; i++)
			kill(pids[i], SIGKILL);
		for (int i = 0; i < 6; i++)
			waitpid(pids[i], NULL, 0);
		CHECK_EQ(send(fd, "packet", 6, 0), 6);
		CHECK_EQ(recv(fd, got, sizeof(got), 0), 6);
	}
	close(fd);
}

int main(void)
{
	abi_open();
	pin();
	test_fewer_passes();
	test_others_receive();
	test_storm();
	return abi_verdict();
}
