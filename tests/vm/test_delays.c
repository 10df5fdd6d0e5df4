// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How a script that never ends affects others on its CPU: their packets, their signals, their share
 * of CPU time.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "abi.h"

#define SCRIPT_CPU	0
#define OUR_CPU		1
#define PACKETS		60
/*
 * Most packets must arrive within this time: a tick of 1 ms and the time that the VM takes to
 * notice it, on a busy emulated machine. It was 95 ms and more before.
 */
#define SOON		0.030
#define ROUNDS		8
#define TRIES		60
#define RPS		"/sys/class/net/lo/queues/rx-0/rps_cpus"

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -errno : 0;
}

/* The loop is in a script, or (NULL) in user space. */
static pid_t start_loop(const char *source)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	stay_on(SCRIPT_CPU);
	if (source)
		abi_call(abi_must_register(source), 0, 0, NULL);
	for (;;)
		;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static int bound_socket(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(fd, (struct sockaddr *)addr, len), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

/* The seconds that a packet takes, received in a softirq on the script's CPU. */
static double packet(int fd, const struct sockaddr_in *addr)
{
	struct pollfd readable = { fd, POLLIN, 0 };
	double begin = abi_seconds();
	char c = 'x';

	CHECK_EQ(sendto(fd, &c, 1, 0, (const struct sockaddr *)addr, sizeof(*addr)), 1);
	CHECK_EQ(poll(&readable, 1, 10000), 1);
	CHECK_EQ(recv(fd, &c, 1, MSG_DONTWAIT), 1);
	return abi_seconds() - begin;
}

/* How many packets are late while such a loop runs. */
static int late_beside(const char *source, int fd, const struct sockaddr_in *addr)
{
	pid_t pid = start_loop(source);
	int late = 0;

	abi_sleep(0.3);
	for (int i = 0; i < PACKETS; i++)
		late += packet(fd, addr) > SOON;
	end(pid);
	return late;
}

/* Only root may choose the softirq's CPU. */
static void test_softirqs(void)
{
	int fd, late, late_anyway, err = write_text(RPS, "1");
	struct sockaddr_in addr;

	if (err == -EACCES || err == -EPERM)
		return;
	CHECK_EQ(err, 0);
	fd = bound_socket(&addr);
	stay_on(OUR_CPU);
	packet(fd, &addr);
	/*
	 * Delays of emulated CPUs are not the script's fault, and may affect only one of the two
	 * measurements.
	 */
	for (int i = 0; i < ROUNDS; i++) {
		late_anyway = late_beside(NULL, fd, &addr);
		late = late_beside(ABI_LOOP, fd, &addr);
		if (late <= late_anyway + PACKETS / 4)
			break;
		printf("%d of %d packets came late, %d next to a process\n", late, PACKETS,
		       late_anyway);
	}
	CHECK(late <= late_anyway + PACKETS / 4);
	close(fd);
	CHECK_EQ(write_text(RPS, "0"), 0);
}

/* A loop that begins just when the engine's timer has stopped must end like others. */
#define LATE_LOOP	"local buf = util.buffer(65536) function run(fd, n) " \
			"for i = 1, n do syscall.pread64(fd, buf, 65536, 0) end " \
			"while true do end end"

/*
 * After several ticks during system calls the timer stops, at a moment that the script's own timers
 * vary.
 */
static void loop_late(void)
{
	const struct itimerspec often = { { 0, 1100000 }, { 0, 1100000 } };
	int zero = open("/dev/zero", O_RDONLY), timer = timerfd_create(CLOCK_MONOTONIC, 0);

	stay_on(OUR_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK_EQ(timerfd_settime(timer, 0, &often, NULL), 0);
	for (int i = 0; i < TRIES;) {
		int fd = abi_register_limits(LATE_LOOP, 0, 0, 50000000);

		/* On a busy machine its limit may be exceeded during registration. */
		if (fd == -ETIME)
			continue;
		CHECK_EQ(abi_call(fd, zero, 30 + rand() % 250, NULL), -ETIME);
		close(fd);
		i++;
	}
}

static void test_clock_off(void)
{
	int status = -1, waited = 0;
	pid_t pid = fork();

	if (!pid) {
		abi_failures = 0;
		loop_late();
		exit(!!abi_failures);
	}
	stay_on(SCRIPT_CPU);
	while (!waitpid(pid, &status, WNOHANG) && waited++ < 1000)
		abi_sleep(0.1);
	CHECK_EQ(status, 0);
}

int main(void)
{
	abi_open();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("needs two CPUs");
	test_softirqs();
	test_clock_off();
	return abi_verdict();
}
