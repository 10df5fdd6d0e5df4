// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A run that does not end by itself delays signals, stops, the freezer, and CPU time limits. They
 * take effect after the grace time, also in a batch that moves endless data.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "abi.h"
#include "ring.h"
#include "uapi/syscript_files.h"

#define MS		1000000ULL
/* Seconds: far above the grace time of 100 ms, for busy machines; below the limit of 10. */
#define SOON		8.0
#define LONG_WAIT_MS	600

/* Loops in system calls, whose time does not count as script code. */
#define READS	"function run(fd, buf) while true do syscall.pread64(fd, buf, 64, 0) end end"
/* In script code that catches all errors. */
#define CAUGHT	"function run() while true do pcall(function() while true do end end) end end"

static volatile sig_atomic_t handled;
static char *buf;
static int zero;

static void handler(int number)
{
	(void)number;
	handled++;
}

static int registered(const char *source, uint64_t wall, uint64_t grace)
{
	struct syscript_register reg = abi_source(source);
	int fd, tries = 100;

	reg.wall_limit = wall;
	reg.grace = grace;
	/* A wall-clock limit applies to the registration, too, which a busy machine may exceed. */
	do
		fd = abi_register_struct(&reg);
	while (fd == -ETIMEDOUT && tries--);
	CHECK(fd >= 0);
	return fd;
}

static void alarm_in(double seconds)
{
	struct itimerval timer = { .it_value.tv_usec = seconds * 1e6 };

	handled = 0;
	CHECK_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* The call fails with EINTR soon after the signal, and can be repeated. */
static void check_interrupted(const char *source)
{
	int fd = registered(source, SYSCRIPT_NO_LIMIT, 0);
	struct syscript_info info;
	char text[512];

	for (int i = 0; i < 2; i++) {
		double begin = abi_seconds();

		alarm_in(0.1);
		CHECK_EQ(abi_call(fd, zero, (intptr_t)buf, NULL), -EINTR);
		CHECK(abi_seconds() - begin < SOON);
		CHECK_EQ(handled, 1);
	}
	CHECK(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)) > 0);
	CHECK(strstr(text, "a signal was pending for 100 ms"));
	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_READY);
	CHECK_EQ(info.kills, 0);
	CHECK_EQ(info.errors, 2);
	close(fd);
}

/* A script that polls can end in an orderly way. */
static void test_pending(void)
{
	int fd = registered("function run(n) local done = 0 "
			    "while not util.pending() do done = done + 1 end "
			    "for i = 1, n do done = done + 1 end "
			    "return 7 end", 0, 0);
	int64_t result = 0;

	alarm_in(0.1);
	CHECK_EQ(abi_call(fd, 1000, 0, &result), 0);
	CHECK_EQ(result, 7);
	CHECK_EQ(handled, 1);
	close(fd);
}

/* Nothing is pending: no call ends early, and util.pending() says so. */
static void test_quiet(void)
{
	int fd = registered("function run() for i = 1, 100000 do "
			    "if util.pending() then return 1 end end return 0 end", 0, 0);
	int64_t result = -1;

	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, 0);
	close(fd);
}

static int pipes[2];

static void feed(int number)
{
	handler(number);
	CHECK_EQ(write(pipes[1], "x", 1), 1);
}

/* SA_RESTART resumes a plain call.  A script's call ends, and the handler runs after the script. */
static void test_restart(void)
{
	struct sigaction action = { .sa_handler = feed, .sa_flags = SA_RESTART }, old;
	int fd = registered("local b = util.buffer(8) function run(fd, handled) "
			    "return 10 * syscall.read(fd, b, 1) + util.peek(handled) end", 0, 0);
	int64_t result = 0;

	CHECK_EQ(pipe(pipes), 0);
	CHECK_EQ(sigaction(SIGALRM, &action, &old), 0);
	alarm_in(0.1);
	CHECK_EQ(read(pipes[0], buf, 1), 1);
	CHECK_EQ(handled, 1);
	alarm_in(0.1);
	CHECK_EQ(abi_call(fd, pipes[0], (intptr_t)&handled, &result), 0);
	CHECK_EQ(result, 10 * -EINTR);
	CHECK_EQ(handled, 1);
	CHECK_EQ(sigaction(SIGALRM, &old, NULL), 0);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

static void test_grace(void)
{
	struct syscript_register reg = abi_source(READS);
	int fd = registered(READS, SYSCRIPT_NO_LIMIT, 10 * MS);
	char text[512];

	alarm_in(0.1);
	CHECK_EQ(abi_call(fd, zero, (intptr_t)buf, NULL), -EINTR);
	CHECK(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)) > 0);
	CHECK(strstr(text, "for 10 ms"));
	close(fd);
	reg.grace = SYSCRIPT_GRACE_DEFAULT + 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
}

/* Work counts against the wall-clock limit, waiting does not. */
static void test_wall_clock(void)
{
	int fd = registered(READS, 200 * MS, 0);
	double begin = abi_seconds();
	int64_t result = -1;
	char text[512];

	CHECK_EQ(abi_call(fd, zero, (intptr_t)buf, NULL), -ETIMEDOUT);
	CHECK(abi_seconds() - begin < SOON);
	CHECK(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)) > 0);
	CHECK(strstr(text, "over the wall-clock limit of 200 ms"));
	CHECK_EQ(abi_call(fd, zero, (intptr_t)buf, NULL), -ETIMEDOUT);
	close(fd);

	fd = registered(ABI_SLEEP, 200 * MS, 0);
	CHECK_EQ(abi_call(fd, LONG_WAIT_MS, 0, &result), 0);
	CHECK_EQ(result, 0);
	close(fd);
}

static pid_t start(const char *source)
{
	int ready[2];
	pid_t pid;
	char c;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		int fd = registered(source, SYSCRIPT_NO_LIMIT, 0);

		CHECK_EQ(write(ready[1], "x", 1), 1);
		exit(abi_call(fd, zero, (intptr_t)buf, NULL) == -EINTR ? 42 : 1);
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
	abi_sleep(0.1);
	return pid;
}

/* Like waitpid(2), for at most SOON seconds. */
static int wait_soon(pid_t pid, int flags)
{
	int status = -1;

	for (double end = abi_seconds() + SOON; abi_seconds() < end; abi_sleep(0.01))
		if (waitpid(pid, &status, flags | WNOHANG) == pid)
			return status;
	printf("process %d did not get there in %g s\n", pid, SOON);
	abi_failures++;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

static void test_stop(const char *source)
{
	pid_t pid = start(source);
	int status;

	kill(pid, SIGSTOP);
	status = wait_soon(pid, WUNTRACED);
	CHECK(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	status = wait_soon(pid, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static void test_quit(const char *source)
{
	pid_t pid = start(source);
	int status;

	kill(pid, SIGQUIT);
	status = wait_soon(pid, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT);
}

static void test_cpu_limit(void)
{
	struct rlimit limit = { 1, 30 };
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		signal(SIGXCPU, handler);
		setrlimit(RLIMIT_CPU, &limit);
		int fd = registered(READS, SYSCRIPT_NO_LIMIT, 0);
		int err = abi_call(fd, zero, (intptr_t)buf, NULL);

		exit(err == -EINTR && handled ? 42 : 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static int put(const char *dir, const char *file, const char *text)
{
	char path[128];
	int fd, n;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -errno : 0;
}

static bool is_frozen(const char *dir)
{
	char path[128], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.events", dir);
	f = fopen(path, "r");
	if (!f)
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return strstr(text, "frozen 1");
}

/* Exits with 42 if a script's call that waits ends with EINTR. */
static pid_t start_waiting(void)
{
	pid_t pid = fork();

	if (!pid) {
		int fd = registered(ABI_SLEEP, SYSCRIPT_NO_LIMIT, 0);
		int64_t result = 0;

		exit(!abi_call(fd, 60000, 0, &result) && result == -EINTR ? 42 : 1);
	}
	return pid;
}

/* It has ended, or is disturbed again: the last time may have been before its call. */
static bool has_ended(pid_t pid, double *end)
{
	int status;

	abi_sleep(0.1);
	if (waitpid(pid, &status, WNOHANG) != pid && abi_seconds() < *end)
		return false;
	CHECK(abi_seconds() < *end && WIFEXITED(status) && WEXITSTATUS(status) == 42);
	kill(pid, SIGKILL);
	return true;
}

/* A process that is stopped or frozen and goes on gets no signal, but EINTR. */
static void test_disturbed(void)
{
	const char *dir = "/sys/fs/cgroup/disturbed";
	double end = abi_seconds() + SOON;
	pid_t pid = start_waiting();
	char number[16];

	do {
		kill(pid, SIGSTOP);
		abi_sleep(0.01);
		kill(pid, SIGCONT);
	} while (!has_ended(pid, &end));

	/* Only root may create the group. */
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return;
	end = abi_seconds() + SOON;
	pid = start_waiting();
	snprintf(number, sizeof(number), "%d", pid);
	CHECK_EQ(put(dir, "cgroup.procs", number), 0);
	do {
		CHECK_EQ(put(dir, "cgroup.freeze", "1"), 0);
		for (double soon = abi_seconds() + 1; !is_frozen(dir) && abi_seconds() < soon;)
			abi_sleep(0.01);
		CHECK_EQ(put(dir, "cgroup.freeze", "0"), 0);
	} while (!has_ended(pid, &end));
	rmdir(dir);
}

/* Only root may create the group. */
static void test_freeze(const char *source)
{
	const char *dir = "/sys/fs/cgroup/frozen";
	bool frozen = false;
	char number[16];
	pid_t pid;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return;
	pid = start(source);
	snprintf(number, sizeof(number), "%d", pid);
	CHECK_EQ(put(dir, "cgroup.procs", number), 0);
	CHECK_EQ(put(dir, "cgroup.freeze", "1"), 0);
	for (double end = abi_seconds() + SOON; !frozen && abi_seconds() < end; abi_sleep(0.01))
		frozen = is_frozen(dir);
	CHECK(frozen);
	CHECK_EQ(put(dir, "cgroup.freeze", "0"), 0);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	rmdir(dir);
}

/* -- Batches that move data ------------------------------------------------------ */

#define ENDLESS	(1ULL << 44)
#define LARGE	(256UL << 20)
#define SLOW	"/dev/urandom"	/* accepts everything */

/* Maps pages without populating them; reading does not allocate memory for them. */
static void *untouched(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static int transfer(const char *fn, const char *flags, const char *path, size_t size,
		    uint64_t wall, struct syscript_file *f)
{
	char source[256];

	*f = (struct syscript_file){
		.path = (uintptr_t)path, .data = (uintptr_t)untouched(size), .size = size,
	};
	snprintf(source, sizeof(source), "function run(f) return fs.%s(const.AT_FDCWD, f, 1, %s) end",
		 fn, flags);
	return registered(source, wall, 0);
}

static int endless_transfer(struct syscript_file *f)
{
	return transfer("write_files", "0", SLOW, ENDLESS, SYSCRIPT_NO_LIMIT, f);
}

static void test_transfer_signal(void)
{
	struct syscript_file f;
	int fd = endless_transfer(&f);
	double begin = abi_seconds();
	int64_t result = -1;
	int err;

	alarm_in(0.3);
	err = abi_call(fd, (intptr_t)&f, 0, &result);
	/* It ends in time, with a result unless the grace time was over. */
	CHECK(err == 0 || err == -EINTR);
	CHECK(err || result == 1);
	CHECK(abi_seconds() - begin < 0.3 + SOON);
	CHECK_EQ(handled, 1);
	CHECK(f.result > 0 && f.result < (int64_t)ENDLESS);
	munmap((void *)f.data, f.size);
	close(fd);
}

static void test_transfer_kill(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct syscript_file f;

		abi_call(endless_transfer(&f), (intptr_t)&f, 0, NULL);
		exit(1);
	}
	abi_sleep(0.5);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	status = wait_soon(pid, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/*
 * A call that a wall-clock limit ends reports the number of bytes moved, and closes the file.  On a
 * busy machine a short limit may be over before the first byte: then it is doubled.
 */
static void check_timed_out(const char *fn, const char *flags, const char *path, size_t size,
			    uint64_t wall)
{
	struct syscript_file f;

	do {
		int fd = transfer(fn, flags, path, size, wall, &f);
		double begin = abi_seconds();

		CHECK_EQ(abi_call(fd, (intptr_t)&f, 0, NULL), -ETIMEDOUT);
		CHECK(abi_seconds() - begin < SOON);
		munmap((void *)f.data, f.size);
		close(fd);
		wall *= 2;
	} while (f.result <= 0 && wall < 1000 * MS);
	CHECK(f.result > 0 && f.result < (int64_t)size);
}

static int lowest_fd(void)
{
	int fd = dup(zero);

	close(fd);
	return fd;
}

static void test_transfer_wall_clock(void)
{
	const char *path = "/tmp/test_signals.large";
	int before = lowest_fd();

	check_timed_out("write_files", "0", SLOW, ENDLESS, 200 * MS);
	/* Regular files never get a descriptor: this is another loop. */
	check_timed_out("write_files", "const.O_CREAT, 384", path, LARGE, 4 * MS);
	CHECK_EQ(truncate(path, LARGE), 0);
	check_timed_out("read_files", "0", path, LARGE, 4 * MS);
	unlink(path);
	CHECK_EQ(lowest_fd(), before);
}

/* RLIMIT_CPU sends its signal by task work. */
static void test_transfer_cpu_limit(void)
{
	struct rlimit limit = { 1, 30 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct syscript_file f;
		int fd = endless_transfer(&f), err;

		signal(SIGXCPU, handler);
		handled = 0;
		setrlimit(RLIMIT_CPU, &limit);
		err = abi_call(fd, (intptr_t)&f, 0, NULL);
		exit((!err || err == -EINTR) && handled ? 42 : 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/*
 * While a script waits for 200 ms, a request completes.  That is work for the return to user mode
 * and interrupts the call, unless the ring does such work only when it is asked for completions.
 */
static void check_ring(unsigned int flags, bool interrupts)
{
	int fd = registered("function run(_, ts) return syscall.ppoll(0, 0, ts) end", 0, 0);
	int tries = 20;
	struct ring ring = { .p.flags = flags };
	struct timespec soon = { .tv_nsec = 50 * MS };
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_TIMEOUT, .addr = (uintptr_t)&soon, .len = 1,
	};
	int64_t result;

	if (!ring_open(&ring))
		return;
	/* The request may complete before the call. */
	do {
		struct timespec wait = { .tv_nsec = 200 * MS };

		ring_submit(&ring, sqe);
		CHECK_EQ(abi_call(fd, zero, (intptr_t)&wait, &result), 0);
		syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		ring_drain(&ring);
	} while (interrupts && !result && tries--);
	CHECK_EQ(result, interrupts ? -EINTR : 0);
	/* The ring stays open: the kernel interrupts the process at its end, too. */
	close(fd);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };

	abi_open();
	sigaction(SIGALRM, &action, NULL);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	buf = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	test_quiet();
	test_pending();
	check_interrupted(READS);
	check_interrupted(CAUGHT);
	test_restart();
	test_grace();
	test_wall_clock();
	test_stop(READS);
	test_stop(CAUGHT);
	test_quit(READS);
	test_cpu_limit();
	test_disturbed();
	test_freeze(READS);
	test_freeze(CAUGHT);
	test_transfer_signal();
	test_transfer_kill();
	test_transfer_wall_clock();
	test_transfer_cpu_limit();
	check_ring(0, true);
	check_ring(IORING_SETUP_COOP_TASKRUN, true);
	check_ring(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, false);
	return abi_verdict();
}
