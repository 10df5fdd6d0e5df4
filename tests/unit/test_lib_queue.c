// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Queues: requests and completions, several threads, errors, signals, fork, close, full. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <syscript_queue.h>
#include <time.h>

#include "lib_test.h"

#define ENTRIES	SYSCRIPT_QUEUE_ENTRIES
#define SLEEPS	24
/* ms, enough for a busy machine. */
#define LONG	30000

static struct syscript_options roomy = { .size = sizeof(roomy), .time_limit_ns = 500000000 };

static struct syscript_queue *open_queue(const char *source, unsigned int threads)
{
	struct syscript_queue *queue;
	char error[512] = "";
	int err = syscript_queue_open(&queue, source, strlen(source), &roomy, threads, error,
				      sizeof(error));

	if (err) {
		fprintf(stderr, "open: %d: %s\n", err, error);
		exit(1);
	}
	return queue;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static long cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void submit(struct syscript_queue *queue, uint64_t user_data, unsigned int nargs, int64_t a,
		   int64_t b)
{
	struct syscript_request request = {
		.user_data = user_data, .nargs = nargs, .args = { a, b },
	};

	CHECK_EQ(syscript_queue_submit(queue, &request, 1), 1);
}

static struct syscript_completion next(struct syscript_queue *queue)
{
	struct syscript_completion completion;

	CHECK_EQ(syscript_queue_wait(queue, &completion, 1, 1, LONG), 1);
	return completion;
}

static struct syscript_completion request(struct syscript_queue *queue, unsigned int nargs,
					  int64_t a, int64_t b)
{
	submit(queue, 7, nargs, a, b);
	return next(queue);
}

/* Each number of arguments, 64-bit values, and strings that count as numbers. */
static void values(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(...)\n"
		"  if select('#', ...) == 1 then\n"
		"    local what = ...\n"
		"    if what == 1 then return true elseif what == 2 then return false\n"
		"    elseif what == 3 then return elseif what == 4 then return nil end\n"
		"    return what\n"
		"  end\n"
		"  local sum = 0\n"
		"  for i = 1, select('#', ...) do sum = sum * 10 + select(i, ...) end\n"
		"  return sum\n"
		"end", 1);
	static const int64_t sums[] = { 0, 0, 12, 123, 1234, 12345, 123456, 1234567, 12345678 };
	struct syscript_request all = { .args = { 1, 2, 3, 4, 5, 6, 7, 8 } };
	struct syscript_completion got;

	for (int n = 0; n <= 8; n++) {
		all.nargs = n;
		all.user_data = UINT64_MAX - n;
		CHECK_EQ(syscript_queue_submit(queue, &all, 1), 1);
		got = next(queue);
		CHECK_EQ(got.error, 0);
		CHECK_EQ(got.result, n == 1 ? 1 : sums[n]);
		CHECK(got.user_data == UINT64_MAX - n);
	}
	CHECK_EQ(request(queue, 1, 2, 0).result, 0);
	CHECK_EQ(request(queue, 1, 3, 0).result, 0);
	CHECK_EQ(request(queue, 1, 4, 0).result, 0);
	CHECK_EQ(request(queue, 1, -5, 0).result, -5);
	CHECK_EQ(request(queue, 1, INT64_MIN, 0).result, INT64_MIN);
	CHECK_EQ(request(queue, 1, INT64_MAX, 0).result, INT64_MAX);
	all.nargs = 9;
	CHECK_EQ(syscript_queue_submit(queue, &all, 1), -EINVAL);
	all.nargs = 0;
	all.reserved = 1;
	CHECK_EQ(syscript_queue_submit(queue, &all, 1), -EINVAL);
	CHECK_EQ(syscript_queue_reap(queue, &got, 0), -EINVAL);
	syscript_queue_close(queue);
}

/* In order, over many rounds of the ring, in bursts of all sizes. */
static void order(void)
{
	struct syscript_queue *queue = open_queue("function run(a, b) return a - b end", 1);
	struct syscript_completion got[ENTRIES];
	struct syscript_request burst[ENTRIES];
	uint64_t sent = 0, seen = 0;

	for (unsigned int round = 1; round <= 400; round++) {
		unsigned int n = round % ENTRIES + 1;

		for (unsigned int i = 0; i < n; i++)
			burst[i] = (struct syscript_request){
				.user_data = sent + i, .nargs = 2, .args = { sent + i, 3 } };
		CHECK_EQ(syscript_queue_submit(queue, burst, n), n);
		sent += n;
		while (seen < sent) {
			int ret = syscript_queue_wait(queue, got, round % 3 ? 1 : sent - seen, ENTRIES, LONG);

			CHECK(ret > 0);
			for (int i = 0; i < ret; i++, seen++) {
				CHECK_EQ(got[i].user_data, seen);
				CHECK_EQ(got[i].error, 0);
				CHECK_EQ(got[i].result, (int64_t)seen - 3);
			}
		}
	}
	syscript_queue_close(queue);
}

/* Requests beyond the capacity are refused; reaping makes room. */
static void full(void)
{
	struct syscript_queue *queue = open_queue("function run(a) return a end", 1);
	static struct syscript_request many[ENTRIES + 5];
	struct syscript_completion got[3];
	int seen = 0;

	CHECK_EQ(syscript_queue_submit(queue, many, ENTRIES + 5), ENTRIES);
	CHECK_EQ(syscript_queue_submit(queue, many, 1), -EAGAIN);
	CHECK_EQ(syscript_queue_wait(queue, got, 1, 1, LONG), 1);
	CHECK_EQ(syscript_queue_submit(queue, many, 2), 1);
	CHECK_EQ(syscript_queue_submit(queue, many, 1), -EAGAIN);
	while (seen < ENTRIES)
		seen += syscript_queue_wait(queue, got, 1, 3, LONG);
	CHECK_EQ(syscript_queue_wait(queue, got, 1, 3, 10), 0);
	syscript_queue_close(queue);
}

/* The descriptor is readable exactly while there are completions. */
static void notifies(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(ms) if ms > 0 then syscall.poll(0, 0, ms) end return ms end", 3);
	struct epoll_event event = { .events = EPOLLIN };
	struct syscript_completion got;
	int epoll = epoll_create1(0), left = 0;

	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, syscript_queue_fd(queue), &event));
	CHECK_EQ(syscript_queue_reap(queue, &got, 1), 0);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	for (int i = 0; i < 3000; i++) {
		if (left < 20) {
			submit(queue, i, 1, i % 100 == 99, 0);
			left++;
		}
		/* It becomes readable once, and stays so until it is empty. */
		if (i % 7 == 0 || left == 20) {
			CHECK_EQ(epoll_wait(epoll, &event, 1, LONG), 1);
			left -= syscript_queue_reap(queue, &got, 1);
		}
	}
	while (left) {
		CHECK_EQ(epoll_wait(epoll, &event, 1, LONG), 1);
		left -= syscript_queue_reap(queue, &got, 1);
	}
	while (syscript_queue_reap(queue, &got, 1))
		CHECK(false);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	close(epoll);
	syscript_queue_close(queue);
}

/* Several threads complete the awaited requests, in varying portions. */
static void at_least(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(ms) if ms > 0 then syscall.poll(0, 0, ms) end end", 3);
	struct syscript_completion got[60];
	long begin;

	for (unsigned int round = 0; round < 100; round++) {
		unsigned int sent = 1 + round % 60, n = 0;

		for (unsigned int i = 0; i < sent; i++)
			submit(queue, i, 1, round % 25 == 24 && i == 4, 0);
		while (n < sent) {
			unsigned int want = round % 4 == 3 ? (sent - n + 1) / 2 : sent - n;
			int ret = syscript_queue_wait(queue, got, want, 60, LONG);

			CHECK(ret >= (int)want);
			n += ret;
		}
		CHECK_EQ(n, sent);
	}
	submit(queue, 1, 1, 0, 0);
	begin = now_ms();
	CHECK_EQ(syscript_queue_wait(queue, got, 2, 60, 50), 1);
	CHECK(now_ms() - begin >= 50);
	CHECK_EQ(syscript_queue_wait(queue, got, 0, 60, 0), -EINVAL);
	CHECK_EQ(syscript_queue_wait(queue, got, 3, 2, 0), -EINVAL);
	syscript_queue_close(queue);
}

/* A completion is reported while the next request still runs. */
static void tells_each(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(fd, buf) return fd < 0 and 1 or syscall.read(fd, buf, 1) end", 1);
	int64_t memory = 0;
	int ends[2];

	CHECK(!pipe(ends));
	for (int i = 0; i < 200; i++) {
		struct syscript_request two[] = {
			{ .user_data = 1, .nargs = 2, .args = { -1, 0 } },
			{ .user_data = 2, .nargs = 2, .args = { ends[0], (intptr_t)&memory } },
		};

		CHECK_EQ(syscript_queue_submit(queue, two, 2), 2);
		CHECK_EQ(next(queue).user_data, 1);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		CHECK_EQ(next(queue).user_data, 2);
	}
	syscript_queue_close(queue);
}

/* As many sleeps as threads take as long as one sleep. */
static void side_by_side(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(ms) return syscall.poll(0, 0, ms) end", SLEEPS);
	struct syscript_completion got;
	long begin = now_ms(), took;

	for (int i = 0; i < SLEEPS; i++)
		submit(queue, i, 1, 400, 0);
	for (int i = 0; i < SLEEPS; i++) {
		CHECK_EQ(syscript_queue_wait(queue, &got, 1, 1, LONG), 1);
		CHECK_EQ(got.result, 0);
	}
	took = now_ms() - begin;
	CHECK(took >= 400);
	/* One after the other they would take 24 times as long. */
	CHECK(took < SLEEPS * 400 / 2);
	syscript_queue_close(queue);
}

/* A failed request reports its error, and affects no other. */
static void errors(void)
{
	struct syscript_queue *queue = open_queue(
		"local n = 0\n"
		"function run(a)\n"
		"  n = n + 1\n"
		"  if a == 1 then error('I do not like 1') end\n"
		"  if a == 2 then return 1.5 end\n"
		"  if a == 3 then return {} end\n"
		"  return n\n"
		"end", 1);
	char text[512];

	CHECK_EQ(request(queue, 1, 0, 0).result, 1);
	CHECK_EQ(request(queue, 1, 1, 0).error, -EPROTO);
	CHECK(syscript_queue_error(queue, text, sizeof(text)) > 0);
	CHECK(strstr(text, ":4: I do not like 1"));
	CHECK_EQ(request(queue, 1, 2, 0).error, -EPROTO);
	CHECK_EQ(request(queue, 1, 3, 0).error, -EPROTO);
	/* Every second of 20 requests fails. */
	for (int i = 0; i < 20; i++)
		submit(queue, i, 1, i & 1, 0);
	for (int i = 0; i < 20; i++) {
		struct syscript_completion got = next(queue);

		CHECK_EQ(got.user_data, i);
		CHECK_EQ(got.error, i & 1 ? -EPROTO : 0);
		CHECK_EQ(got.result, i & 1 ? 0 : 5 + i);
	}
	syscript_queue_close(queue);
}

/* After its script's death a thread fails all requests, without spinning. */
static void death(void)
{
	struct syscript_options strict = roomy;
	struct syscript_queue *queue;
	static const char source[] =
		"function run(a)\n"
		"  if a == 1 then while true do end end\n"
		"  if a == 2 then local t = {} while true do t[#t + 1] = {} end end\n"
		"  return a\n"
		"end";
	struct syscript_request two[2] = { { .nargs = 1 }, { .nargs = 1 } };
	long before;

	strict.time_limit_ns = 10000000;
	for (int a = 1; a <= 2; a++) {
		CHECK_EQ(syscript_queue_open(&queue, source, strlen(source), a == 1 ? &strict : &roomy,
					     1, NULL, 0), 0);
		CHECK_EQ(request(queue, 1, 5, 0).result, 5);
		two[0].args[0] = a;
		CHECK_EQ(syscript_queue_submit(queue, two, 2), 2);
		CHECK_EQ(next(queue).error, a == 1 ? -ETIME : -ENOBUFS);
		CHECK_EQ(next(queue).error, -ENOTRECOVERABLE);
		/* Other calls free dead scripts. */
		syscript_close(load("function run() end"));
		CHECK_EQ(syscript_queue_submit(queue, two, 1), -ENOTRECOVERABLE);
		before = cpu_ns();
		usleep(100000);
		CHECK(cpu_ns() - before < 50000000);
		syscript_queue_close(queue);
	}
}

/* The other thread serves requests after the first one's script died. */
static void death_of_one(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(a)\n"
		"  if a == 1 then local t = {} while true do t[#t + 1] = {} end end\n"
		"  return a\n"
		"end", 2);

	CHECK_EQ(request(queue, 1, 1, 0).error, -ENOBUFS);
	for (int i = 0; i < 300; i++)
		CHECK_EQ(request(queue, 1, 5, 0).result, 5);
	syscript_queue_close(queue);
}

/* Fills and empties a queue @rounds times; returns the CPU time of a request in ns. */
static long work(uint64_t limit, int rounds)
{
	static const char source[] =
		"local getppid = syscall.getppid\n"
		"function run(n) for i = 1, n do getppid() end return n end";
	struct syscript_options options = roomy;
	struct syscript_queue *queue;
	long begin;

	options.time_limit_ns = limit;
	CHECK_EQ(syscript_queue_open(&queue, source, strlen(source), &options, 1, NULL, 0), 0);
	CHECK_EQ(request(queue, 1, 3000, 0).error, 0);
	begin = cpu_ns();
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < ENTRIES; i++)
			submit(queue, i, 1, 3000, 0);
		for (int i = 0; i < ENTRIES; i++)
			CHECK_EQ(next(queue).error, 0);
	}
	syscript_queue_close(queue);
	return (cpu_ns() - begin) / (rounds * ENTRIES);
}

/*
 * Requests within the limit are not ended for their total: more than 17 times the limit, which a
 * thread's call gets.
 */
static void turns(void)
{
	long each = work(500000000, 1);

	work(each * 5, 1);
	/* 17 times more would exceed the maximum of the limit. */
	work(10000000000, 1);
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

/* The program's signals go to its own threads, whatever a queue is doing. */
static void signals_are_ours(void)
{
	struct syscript_queue *queue = open_queue(
		"function run(ms) return syscall.poll(0, 0, ms) end", 2);
	sigset_t set, old;

	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	submit(queue, 1, 1, 100, 0);
	for (int i = 0; i < 10; i++) {
		kill(getpid(), SIGUSR1);
		usleep(5000);
	}
	CHECK_EQ(signals, 0);
	CHECK_EQ(next(queue).result, 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	CHECK_EQ(signals, 1);
	syscript_queue_close(queue);
}

static void *submit_many(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		struct syscript_request request = { .user_data = i, .nargs = 1, .args = { i } };
		int ret;

		while ((ret = syscript_queue_submit(arg, &request, 1)) == -EAGAIN)
			sched_yield();
		CHECK_EQ(ret, 1);
	}
	return NULL;
}

static int reaped;

static void *reap_many(void *arg)
{
	struct syscript_completion got[16];

	while (__atomic_load_n(&reaped, __ATOMIC_RELAXED) < 9000) {
		int ret = syscript_queue_wait(arg, got, 1, 16, 50);

		CHECK(ret >= 0);
		for (int i = 0; i < ret; i++)
			CHECK_EQ(got[i].result, got[i].user_data + 1);
		__atomic_fetch_add(&reaped, ret, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Any thread may submit and reap. */
static void many_threads(void)
{
	struct syscript_queue *queue = open_queue("function run(a) return a + 1 end", 2);
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		CHECK(!pthread_create(&threads[i], NULL, i < 3 ? submit_many : reap_many, queue));
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(reaped, 9000);
	syscript_queue_close(queue);
}

/* The child's copy can only be closed; the parent's keeps working. */
static void forks(void)
{
	struct syscript_queue *queue = open_queue("function run(a) return a + 1 end", 2), *own;
	struct syscript_completion got;
	struct syscript_request one = { .nargs = 1 };
	int status;
	pid_t pid;

	submit(queue, 1, 1, 1, 0);
	pid = fork();
	if (!pid) {
		alarm(60);
		CHECK_EQ(syscript_queue_submit(queue, &one, 1), -EXDEV);
		CHECK_EQ(syscript_queue_reap(queue, &got, 1), -EXDEV);
		CHECK_EQ(syscript_queue_wait(queue, &got, 1, 1, -1), -EXDEV);
		CHECK_EQ(syscript_queue_fd(queue), -EXDEV);
		CHECK_EQ(syscript_queue_error(queue, NULL, 0), -EXDEV);
		own = open_queue("function run(a) return a + 2 end", 1);
		CHECK_EQ(request(own, 1, 5, 0).result, 7);
		syscript_queue_close(queue);
		CHECK_EQ(request(own, 1, 6, 0).result, 8);
		syscript_queue_close(own);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(next(queue).result, 2);
	CHECK_EQ(request(queue, 1, 5, 0).result, 6);
	syscript_queue_close(queue);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Calls of run() in progress end, waiting requests are dropped; nothing is left. */
static void close_in_the_middle(void)
{
	static const char source[] =
		"function run(ms, word)\n"
		"  syscall.poll(0, 0, ms)\n"
		"  util.poke(word, 'i8', util.peek(word, 'i8') + 1)\n"
		"end";
	struct syscript_queue *queue;
	long begin = now_ms();
	int64_t word;
	int before;

	syscript_queue_close(open_queue(source, 1));
	before = descriptors();
	for (int i = 0; i < 4; i++) {
		queue = open_queue(source, 1);
		word = 0;
		submit(queue, 1, 2, 300, (intptr_t)&word);
		for (int j = 0; j < 5; j++)
			submit(queue, 1, 2, 20000, (intptr_t)&word);
		if (i & 1)
			usleep(10000);
		syscript_queue_close(queue);
		CHECK(word <= 1);
		word = -1;
	}
	CHECK_EQ(descriptors(), before);
	CHECK(now_ms() - begin < 20000);
}

static void refusals(void)
{
	static const char bad[] = "function run( end", none[] = "x = 1";
	static const char good[] = "function run() end -- no line end";
	struct syscript_options options = roomy;
	struct syscript_queue *queue = NULL;
	char error[512];
	int before = descriptors();

	CHECK_EQ(syscript_queue_open(&queue, bad, strlen(bad), NULL, 1, error, sizeof(error)),
		 -ENOEXEC);
	CHECK(strstr(error, ":1:"));
	CHECK_EQ(syscript_queue_open(&queue, none, strlen(none), NULL, 1, error, sizeof(error)),
		 -ENOEXEC);
	CHECK(strstr(error, "run"));
	CHECK_EQ(syscript_queue_open(&queue, good, strlen(good), NULL,
				     SYSCRIPT_QUEUE_THREADS_MAX + 1, NULL, 0), -EINVAL);
	options.flags = SYSCRIPT_CHECK;
	CHECK_EQ(syscript_queue_open(&queue, good, strlen(good), &options, 1, NULL, 0), -EINVAL);
	options.flags = 0;
	options.engine = SYSCRIPT_ENGINE_CONFINED;
	CHECK_EQ(syscript_queue_open(&queue, good, strlen(good), &options, 1, NULL, 0), -EINVAL);
	CHECK(!queue);
	CHECK_EQ(descriptors(), before);
	syscript_queue_close(open_queue(good, 1));
	syscript_queue_close(NULL);
}

/* Exits in the middle of requests: the process ends. */
static void exits(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct syscript_queue *queue = open_queue(
			"function run(ms) return syscall.poll(0, 0, ms) end", 4);

		alarm(60);
		for (int i = 0; i < 8; i++)
			submit(queue, 1, 1, 100000, 0);
		usleep(20000);
		exit(3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(void)
{
	values();
	order();
	full();
	notifies();
	at_least();
	tells_each();
	side_by_side();
	errors();
	death();
	death_of_one();
	turns();
	signals_are_ours();
	many_threads();
	forks();
	close_in_the_middle();
	refusals();
	exits();
	return 0;
}
