// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Several threads on one script and on many: turns, parallel runs, close() and SIGKILL in the
 * middle, and lists walked while scripts are created and destroyed.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "abi.h"

#define MS		1000000ULL
#define THREADS		4
#define STORM_SECONDS	3
/* Seconds, for work that takes ms even on a busy machine; less than a loop may take. */
#define SOON		8
/* For operations without a limit of their own. */
#define HANG		60
/*
 * A call that the test ends by a byte in a pipe; a counted system call shows that it was reached.
 */
#define READ		"local b = util.buffer(8) function run(fd) " \
			"syscall.getppid() return syscall.read(fd, b, 1) end"

/* One thread's part in a test. */
struct part {
	pthread_t thread;
	int fd;
	int err;
	int64_t arg, result;
	long done;
	pid_t tid;
	bool ended;
};

static bool stop;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void start(struct part *part, void *(*body)(void *))
{
	if (pthread_create(&part->thread, NULL, body, part)) {
		printf("cannot make a thread\n");
		exit(1);
	}
}

static void join(struct part *part)
{
	CHECK_EQ(pthread_join(part->thread, NULL), 0);
}

/* Runs @n parts for @seconds. */
static void run_for(struct part *parts, int n, void *(*body)(void *),
		    double seconds)
{
	int i;

	stop = false;
	for (i = 0; i < n; i++)
		start(&parts[i], body);
	abi_sleep(seconds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < n; i++)
		join(&parts[i]);
}

static void *call_once(void *arg)
{
	struct part *part = arg;

	__atomic_store_n(&part->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	part->err = abi_call(part->fd, part->arg, 0, &part->result);
	__atomic_store_n(&part->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool ended(struct part *part)
{
	return __atomic_load_n(&part->ended, __ATOMIC_ACQUIRE);
}

/* Waiting in its call, or for its turn, which only SIGKILL ends. */
static bool is_asleep(pid_t tid)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return strstr(text, ") S ") || strstr(text, ") D ");
}

/* Starts a thread, and returns when it waits in its call. */
static void start_waiting(struct part *part)
{
	double end = abi_seconds() + HANG;
	pid_t tid;

	start(part, call_once);
	do {
		abi_sleep(0.01);
		tid = __atomic_load_n(&part->tid, __ATOMIC_ACQUIRE);
	} while (!(tid && is_asleep(tid)) && !ended(part) && abi_seconds() < end);
	CHECK(tid && is_asleep(tid));
	CHECK(!ended(part));
}

/* Counts in the script: turns that are not exclusive would lose counts. */
static void *call_on(void *arg)
{
	struct part *part = arg;

	while (!stopped()) {
		part->err = abi_call(part->fd, 0, 0, &part->result);
		if (part->err)
			break;
		part->done++;
	}
	return NULL;
}

static int64_t shared;

static void *write_on(void *arg)
{
	while (!stopped())
		__atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED);
	return arg;
}

/* What a script reads twice is not the same, while another thread writes there. */
static void test_memory_changes(void)
{
	int fd = abi_must_register("function run(at) local first = util.peek(at, 'i8') "
				   "for i = 1, 1000 do "
				   "if util.peek(at, 'i8') ~= first then return 1 end end "
				   "return 0 end");
	double end = abi_seconds() + HANG;
	struct part writer = { 0 };
	int64_t changed = 0;

	CHECK_EQ(abi_call(fd, (intptr_t)&shared, 0, &changed), 0);
	CHECK_EQ(changed, 0);
	stop = false;
	start(&writer, write_on);
	while (!changed && abi_seconds() < end)
		CHECK_EQ(abi_call(fd, (intptr_t)&shared, 0, &changed), 0);
	CHECK_EQ(changed, 1);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	join(&writer);
	close(fd);
}

static void test_turns(void)
{
	struct part parts[THREADS] = { 0 };
	long total = 0, least = -1, most = 0;
	int64_t n = 0;
	int i, fd;

	fd = abi_must_register("n = 0 function run() local old = n "
			       "for i = 1, 300 do old = math.max(old, i - i) end "
			       "n = old + 1 return n end");
	for (i = 0; i < THREADS; i++)
		parts[i].fd = fd;
	run_for(parts, THREADS, call_on, STORM_SECONDS);
	for (i = 0; i < THREADS; i++) {
		CHECK_EQ(parts[i].err, 0);
		total += parts[i].done;
		if (least < 0 || parts[i].done < least)
			least = parts[i].done;
		if (parts[i].done > most)
			most = parts[i].done;
	}
	CHECK_EQ(abi_call(fd, 0, 0, &n), 0);
	CHECK_EQ(n, total + 1);
	/* Every thread gets its turn, however the scheduler distributes CPU time. */
	CHECK(least > 0 && least * 20 > most);
	close(fd);
}

/* A long run of one thread only makes the next one wait. */
static void test_wait(void)
{
	struct part sleeper = { 0 }, waiter = { 0 };
	struct syscript_info info;
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	sleeper.arg = waiter.arg = fds[0];
	sleeper.fd = waiter.fd = abi_must_register(READ);
	start_waiting(&sleeper);
	start_waiting(&waiter);
	/* Both wait: one in its run, the other for its turn. */
	CHECK_EQ(abi_info(sleeper.fd, &info), 0);
	CHECK_EQ(info.syscalls, 1);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	join(&sleeper);
	abi_sleep(0.1);
	CHECK(!ended(&waiter));
	CHECK_EQ(write(fds[1], "x", 1), 1);
	join(&waiter);
	CHECK_EQ(sleeper.err, 0);
	CHECK_EQ(waiter.err, 0);
	CHECK_EQ(sleeper.result + waiter.result, 2);
	close(sleeper.fd);
	close(fds[0]);
	close(fds[1]);
}

/* Two scripts sleep at the same time. */
static void test_parallel(void)
{
	struct part parts[2] = { 0 };
	struct syscript_info info;
	int fds[2], i;

	CHECK_EQ(pipe(fds), 0);
	for (i = 0; i < 2; i++) {
		parts[i].fd = abi_must_register(READ);
		parts[i].arg = fds[0];
		start_waiting(&parts[i]);
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(abi_info(parts[i].fd, &info), 0);
		CHECK_EQ(info.state, SYSCRIPT_STATE_RUNNING);
		CHECK_EQ(info.syscalls, 1);
	}
	CHECK_EQ(write(fds[1], "xx", 2), 2);
	for (i = 0; i < 2; i++) {
		join(&parts[i]);
		CHECK_EQ(parts[i].err, 0);
		CHECK_EQ(parts[i].result, 1);
		close(parts[i].fd);
	}
	close(fds[0]);
	close(fds[1]);
}

/* Counters can be read in the middle of a run, text only after it. */
static void test_info_does_not_wait(void)
{
	struct syscript_info info, listed;
	struct part sleeper = { 0 };
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	sleeper.arg = fds[0];
	sleeper.fd = abi_must_register(READ);
	start_waiting(&sleeper);
	/* If these waited, it would be for ever. */
	CHECK_EQ(abi_info(sleeper.fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_RUNNING);
	CHECK_EQ(abi_next(info.id - 1, &listed), 0);
	CHECK_EQ(listed.id, info.id);
	CHECK_EQ(listed.state, SYSCRIPT_STATE_RUNNING);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	join(&sleeper);
	CHECK_EQ(abi_info(sleeper.fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_READY);
	close(sleeper.fd);
	close(fds[0]);
	close(fds[1]);
}

/* The call completes, and the script is freed with it. */
static void test_close_during_call(void)
{
	struct part sleeper = { 0 }, waiter = { 0 };
	int before = abi_count(getpid()), fds[2];

	CHECK_EQ(pipe(fds), 0);
	sleeper.arg = waiter.arg = fds[0];
	sleeper.fd = waiter.fd = abi_must_register(READ);
	start_waiting(&sleeper);
	start_waiting(&waiter);
	CHECK_EQ(close(sleeper.fd), 0);
	CHECK_EQ(abi_call(sleeper.fd, 0, 0, NULL), -EBADF);
	CHECK_EQ(abi_count(getpid()), before + 1);
	CHECK(!ended(&sleeper) && !ended(&waiter));
	CHECK_EQ(write(fds[1], "xx", 2), 2);
	join(&sleeper);
	join(&waiter);
	CHECK_EQ(sleeper.err, 0);
	CHECK_EQ(waiter.err, 0);
	CHECK_EQ(abi_count(getpid()), before);
	close(fds[0]);
	close(fds[1]);
}

/* Death wakes pollers, and threads waiting for a turn find the script dead. */
static void test_death_wakes(void)
{
	struct part looper = { 0 }, waiter = { 0 };
	struct pollfd p;
	double begin;

	looper.fd = waiter.fd = p.fd = abi_register_limits(ABI_LOOP, 0, 0,
							   500 * MS);
	p.events = 0;
	CHECK(p.fd >= 0);
	start(&looper, call_once);
	abi_sleep(0.1);
	start(&waiter, call_once);
	begin = abi_seconds();
	CHECK_EQ(poll(&p, 1, 2 * HANG * 1000), 1);
	/* At its timeout poll() checks once more, woken or not. */
	CHECK(abi_seconds() - begin < HANG);
	CHECK_EQ(p.revents, POLLERR | POLLHUP);
	join(&looper);
	join(&waiter);
	CHECK_EQ(looper.err, -ETIME);
	CHECK_EQ(waiter.err, -ENOTRECOVERABLE);
	close(p.fd);
}

/* A process is killed with one thread in a call and others waiting for it. */
static void test_kill_in_turns(const char *source, int64_t arg)
{
	struct part parts[THREADS] = { 0 };
	int status = -1, i;
	double begin;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		parts[0].fd = abi_register_limits(source, 0, 0, ABI_PATIENCE);
		for (i = 0; i < THREADS; i++) {
			parts[i].fd = parts[0].fd;
			parts[i].arg = arg;
			start(&parts[i], call_once);
		}
		pause();
	}
	abi_sleep(0.5);
	begin = abi_seconds();
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, SIGKILL);
	CHECK(abi_seconds() - begin < SOON);
	CHECK_EQ(abi_count(pid), 0);
}

/* Registers and closes short-lived scripts. */
static void *register_and_close(void *arg)
{
	struct part *part = arg;

	while (!stopped()) {
		int fd = abi_register_limits(ABI_ADD, 0, 256 << 10,
					     ABI_PATIENCE);

		if (fd < 0) {
			part->err = fd;
			break;
		}
		if (part->done++ & 1)
			CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
		close(fd);
	}
	return NULL;
}

/* A script that repeatedly dies; its fd is for watch_doomed(). */
static int doomed_fd = -1;

static void *die_again(void *arg)
{
	struct part *part = arg;

	while (!stopped()) {
		int fd = abi_register_limits(ABI_LOOP, 0, 256 << 10, 5 * MS);

		/* The limit may even end the registration. */
		if (fd == -ETIME)
			continue;
		__atomic_store_n(&doomed_fd, fd, __ATOMIC_RELAXED);
		part->err = abi_call(fd, 0, 0, NULL);
		close(fd);
		if (part->err != -ETIME)
			break;
		part->done++;
	}
	return NULL;
}

static void *watch_doomed(void *arg)
{
	struct part *part = arg;
	struct syscript_info info;
	char text[64];
	int fd, err;

	while (!stopped()) {
		fd = __atomic_load_n(&doomed_fd, __ATOMIC_RELAXED);
		err = abi_info(fd, &info);
		CHECK(!err || err == -EBADF);
		/* A VM that is being destroyed could contain anything. */
		if (!err)
			CHECK(info.memory <= info.memory_limit);
		err = abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text));
		CHECK(err >= 0 || err == -EBADF);
		part->done++;
	}
	return NULL;
}

static void *walk(void *arg)
{
	struct part *part = arg;

	while (!stopped()) {
		abi_count(getpid());
		part->done++;
	}
	return NULL;
}

static void test_storm(void)
{
	void *(*bodies[])(void *) = {
		register_and_close, register_and_close, die_again, watch_doomed,
		walk,
	};
	enum { N = sizeof(bodies) / sizeof(bodies[0]) };
	struct part parts[N] = { 0 };
	int i, before = abi_count(getpid());

	stop = false;
	for (i = 0; i < N; i++)
		start(&parts[i], bodies[i]);
	abi_sleep(STORM_SECONDS);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < N; i++) {
		join(&parts[i]);
		CHECK(parts[i].done > 0);
		CHECK_EQ(parts[i].err, bodies[i] == die_again ? -ETIME : 0);
	}
	CHECK_EQ(abi_count(getpid()), before);
}

int main(void)
{
	abi_open();
	test_memory_changes();
	test_turns();
	test_wait();
	test_parallel();
	test_info_does_not_wait();
	test_close_during_call();
	test_death_wakes();
	test_kill_in_turns(ABI_LOOP, 0);
	test_kill_in_turns(ABI_SLEEP, 60000);
	test_storm();
	return abi_verdict();
}
