// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Several threads on one script and on many: turns, parallel runs, close() and
 * SIGKILL in the middle, and lists walked while scripts come and go.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "abi.h"

#define MS		1000000ULL
#define THREADS		4
#define STORM_SECONDS	3

/* One thread's part in a test. */
struct part {
	pthread_t thread;
	int fd;
	int err;
	int64_t arg, result;
	long done;
	double seconds;
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

/* Lets @n parts run for @seconds. */
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
	double begin = abi_seconds();

	part->err = abi_call(part->fd, part->arg, 0, &part->result);
	part->seconds = abi_seconds() - begin;
	return NULL;
}

/* Counts in the script: a turn that is not exclusive loses counts. */
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
	/* Every thread gets its turn, however the scheduler deals the CPUs out. */
	CHECK(least > 0 && least * 20 > most);
	close(fd);
}

/* A long run by one makes the next one wait, and no more than that. */
static void test_wait(void)
{
	struct part sleeper = { .arg = 400 }, waiter = { .arg = 0 };

	sleeper.fd = waiter.fd = abi_must_register(ABI_SLEEP);
	start(&sleeper, call_once);
	abi_sleep(0.1);
	start(&waiter, call_once);
	join(&sleeper);
	join(&waiter);
	CHECK_EQ(sleeper.err, 0);
	CHECK_EQ(waiter.err, 0);
	CHECK(sleeper.seconds >= 0.39);
	CHECK(waiter.seconds >= 0.15);
	close(sleeper.fd);
}

/* Two scripts sleep at the same time. */
static void test_parallel(void)
{
	struct part parts[2] = { { .arg = 600 }, { .arg = 600 } };
	double begin;
	int i;

	for (i = 0; i < 2; i++)
		parts[i].fd = abi_must_register(ABI_SLEEP);
	begin = abi_seconds();
	for (i = 0; i < 2; i++)
		start(&parts[i], call_once);
	for (i = 0; i < 2; i++) {
		join(&parts[i]);
		CHECK_EQ(parts[i].err, 0);
		close(parts[i].fd);
	}
	CHECK(abi_seconds() - begin < 1.1);
}

/* Counters can be read in the middle of a run, text only after it. */
static void test_info_does_not_wait(void)
{
	struct part sleeper = { .arg = 1000 };
	struct syscript_info info, listed;
	double begin;

	sleeper.fd = abi_must_register(ABI_SLEEP);
	start(&sleeper, call_once);
	abi_sleep(0.2);
	begin = abi_seconds();
	CHECK_EQ(abi_info(sleeper.fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_RUNNING);
	CHECK_EQ(abi_next(info.id - 1, &listed), 0);
	CHECK_EQ(listed.id, info.id);
	CHECK_EQ(listed.state, SYSCRIPT_STATE_RUNNING);
	CHECK(abi_seconds() - begin < 0.5);
	join(&sleeper);
	CHECK_EQ(abi_info(sleeper.fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_READY);
	close(sleeper.fd);
}

/* The call comes to its end, and the script with it. */
static void test_close_during_call(void)
{
	struct part sleeper = { .arg = 500 }, waiter = { .arg = 0 };
	int before = abi_count(getpid());

	sleeper.fd = waiter.fd = abi_must_register(ABI_SLEEP);
	start(&sleeper, call_once);
	abi_sleep(0.1);
	start(&waiter, call_once);
	abi_sleep(0.1);
	CHECK_EQ(close(sleeper.fd), 0);
	CHECK_EQ(abi_call(sleeper.fd, 0, 0, NULL), -EBADF);
	CHECK_EQ(abi_count(getpid()), before + 1);
	join(&sleeper);
	join(&waiter);
	CHECK_EQ(sleeper.err, 0);
	CHECK_EQ(waiter.err, 0);
	CHECK(sleeper.seconds >= 0.49);
	CHECK_EQ(abi_count(getpid()), before);
}

/* Death wakes who polls, and who waits for a turn finds the script dead. */
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
	CHECK_EQ(poll(&p, 1, 120000), 1);
	/* At its timeout poll() looks once more, woken or not. */
	CHECK(abi_seconds() - begin < 60);
	CHECK_EQ(p.revents, POLLERR | POLLHUP);
	join(&looper);
	join(&waiter);
	CHECK_EQ(looper.err, -ETIME);
	CHECK_EQ(waiter.err, -ENOTRECOVERABLE);
	close(p.fd);
}

/* A process killed with one thread in a call and others waiting for it. */
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
	/* It had ten. */
	CHECK(abi_seconds() - begin < 8);
	CHECK_EQ(abi_count(pid), 0);
}

/* A script of many short lives. */
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

/* A script that dies again and again, its fd there for watch_doomed(). */
static int doomed_fd = -1;

static void *die_again(void *arg)
{
	struct part *part = arg;

	while (!stopped()) {
		int fd = abi_register_limits(ABI_LOOP, 0, 256 << 10, 5 * MS);

		/* Hardly time to be born: that happens, too. */
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
		/* Of a VM that is being destroyed, anything could be there. */
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
