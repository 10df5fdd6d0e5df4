// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls of a confined script in the kernel that are abandoned: by siglongjmp() out of a handler, by
 * the end of their thread, or for a long time by a slow handler. The script stays usable for its
 * thread, and for others.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "lib_test.h"

#define MS	1000000
#define ROUNDS	200
#define THREADS	12
#define SOON	20	/* s, for work that takes 0.2 s */

/* With ms < 0 it computes until a signal ends it. */
static const char source[] =
	"function run(n, ms)"
	"  if ms > 0 then syscall.poll(0, 0, ms) end"
	"  if ms < 0 then local s = 0 for i = 1, 1e10 do s = s + i % 7 end end"
	"  return n + 1 "
	"end";

static int fd;

static void check_call(int64_t n, int64_t ms)
{
	int64_t args[] = { n, ms }, result = 0;

	CHECK_EQ(syscript_call(fd, 2, args, 1, &result), 1);
	CHECK_EQ(result, n + 1);
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void signal_after(long us)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = us }, NULL);
}

static void on_alarm(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	CHECK(!sigaction(SIGALRM, &action, NULL));
}

static void *call_once(void *unused)
{
	(void)unused;
	check_call(7, 0);
	return NULL;
}

/* Another thread's call, which must not wait for an abandoned one. */
static void check_others(void)
{
	struct timespec end;
	pthread_t thread;

	CHECK(!clock_gettime(CLOCK_REALTIME, &end));
	end.tv_sec += SOON;
	CHECK(!pthread_create(&thread, NULL, call_once, NULL));
	CHECK_EQ(pthread_timedjoin_np(thread, NULL, &end), 0);
}

static sigjmp_buf out;

static void jump(int number)
{
	siglongjmp(out, number);
}

/* Calls until a signal after @us abandons one. */
static void leave(long us, int64_t ms)
{
	if (sigsetjmp(out, 1))
		return;
	signal_after(us);
	for (;;)
		check_call(us, ms);
}

static void jumps(void)
{
	on_alarm(jump, 0);
	leave(20000, 1000);
	check_call(1, 0);
	check_others();
	/* Mostly somewhere in the library; at varying stack depths. */
	for (int i = 0; i < ROUNDS; i++) {
		volatile char deeper[i % 2 * 2048 + 1];

		deeper[0] = 0;
		leave(1000 + i * 37 % 1000, 0);
		if (i % 3)
			check_call(i + deeper[0], 0);
		if (i % 16 == 0)
			check_others();
	}
	check_others();
	/* A call abandoned by a thread that makes no more calls. */
	leave(20000, 1000);
	check_others();
	check_call(1, 0);
}

/* The run was told to end, but no call has noticed its end. */
static void ended(void)
{
	struct syscript_options options = { .time_limit_ns = 9000000000 };
	int before = fd;

	on_alarm(jump, 0);
	fd = load_with(source, &options);
	for (int i = 0; i < 3; i++) {
		leave(20000, -1);
		check_call(i, 0);
		leave(20000, -1);
		check_others();
	}
	syscript_close(fd);
	fd = before;
}

/* The handler has an alternate stack, beyond the thread's. */
static void jumps_from_stack(void)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };

	CHECK(!sigaltstack(&stack, NULL));
	on_alarm(jump, SA_ONSTACK);
	for (int i = 0; i < 20; i++) {
		leave(3000, 100);
		check_call(i, 0);
	}
	check_others();
	stack.ss_flags = SS_DISABLE;
	CHECK(!sigaltstack(&stack, NULL));
}

/* More than any share of scripts, memory or code allows at once. */
static void closes(void)
{
	int before = fd;

	on_alarm(jump, 0);
	for (int i = 0; i < 24; i++) {
		fd = load(source);
		leave(3000, 1000);
		syscript_close(fd);
	}
	fd = before;
}

static volatile int handled, naps;

static void nest(int number)
{
	int64_t args[] = { handled++, 0 }, result = 0, n;

	(void)number;
	/* A handler may interrupt the few instructions at a call's begin, and be refused. */
	n = syscript_call(fd, 2, args, 1, &result);
	CHECK(n == 1 ? result == args[0] + 1 : n == -EDEADLK);
	if (naps)
		nap(naps * MS);
}

/* Calls in handlers, and the calls that they interrupt, have their own results. */
static void nested(void)
{
	struct itimerval often = { { 0, 700 }, { 0, 700 } };

	on_alarm(nest, SA_NODEFER);
	handled = naps = 0;
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; handled < ROUNDS; i++)
		check_call(i, 0);
	signal_after(0);
	CHECK(handled >= ROUNDS);
}

/* Other threads call meanwhile, and the interrupted call returns its result. */
static void slow_handler(void)
{
	pthread_t thread;
	double since;
	struct timespec a, b;

	on_alarm(nest, 0);
	naps = 300;
	clock_gettime(CLOCK_MONOTONIC, &a);
	signal_after(20000);
	CHECK(!pthread_create(&thread, NULL, call_once, NULL));
	pthread_join(thread, NULL);
	check_call(3, 100);
	clock_gettime(CLOCK_MONOTONIC, &b);
	since = b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9;
	CHECK(since > 0.3);
	naps = 150;
	for (int i = 0; i < 5; i++) {
		signal_after(3000);
		CHECK(!pthread_create(&thread, NULL, call_once, NULL));
		check_call(3, 50);
		pthread_join(thread, NULL);
	}
	naps = 0;
}

static void fork_in_handler(int number)
{
	int status;
	pid_t pid;

	(void)number;
	handled++;
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK(pid > 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	CHECK_EQ(status, 0);
}

static void forks(void)
{
	on_alarm(fork_in_handler, 0);
	for (int i = 0; i < 5; i++) {
		signal_after(3000);
		check_call(i, 20);
	}
	/* A child does not inherit the lock that its parent's thread held. */
	on_alarm(jump, 0);
	leave(20000, 1000);
	check_others();
}

static void *call_for_ever(void *arg)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	for (int64_t i = 0;; i++)
		check_call(i, (intptr_t)arg);
	return NULL;
}

static void cancels(void)
{
	pthread_t thread;

	for (int i = 0; i < 24; i++) {
		CHECK(!pthread_create(&thread, NULL, call_for_ever,
				      (void *)(intptr_t)(i % 2 ? 1000 : 0)));
		nap(5 * MS + i * 100000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		check_call(i, 0);
	}
	check_others();
}

static __thread sigjmp_buf own_out;
static bool over;

static void jump_own(int number)
{
	siglongjmp(own_out, number);
}

static void *call_and_jump(void *arg)
{
	volatile int64_t n = (intptr_t)arg << 32;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		if (!sigsetjmp(own_out, 1))
			for (;; n++) {
				check_call(n, n % 50 == 49);
				if (__atomic_load_n(&over, __ATOMIC_RELAXED))
					return NULL;
			}
	return NULL;
}

/* Each thread gets its own results, whichever call is abandoned. */
static void many(void)
{
	pthread_t threads[THREADS];

	signal(SIGUSR1, jump_own);
	over = false;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, call_and_jump, (void *)(intptr_t)i));
	for (int i = 0; i < ROUNDS; i++) {
		nap(5 * MS);
		pthread_kill(threads[i % THREADS], SIGUSR1);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check_call(1, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "jumps", jumps }, { "ended", ended }, { "jumps from a stack", jumps_from_stack }, { "closes", closes },
	{ "nested", nested }, { "slow handler", slow_handler }, { "forks", forks },
	{ "cancels", cancels }, { "many", many },
};

int main(void)
{
	const char *backend = getenv("SYSCRIPT_BACKEND");
	int status;
	pid_t pid;

	if (!backend || strcmp(backend, "kernel"))
		skip("a script in the process does not survive it");
	setenv("SYSCRIPT_ENGINE", "confined", 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* In a child process: a hang ends with it. */
	pid = fork();
	if (!pid) {
		fd = load(source);
		CHECK_EQ(syscript_backend(fd), SYSCRIPT_BACKEND_KERNEL);
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
			puts(tests[i].name);
			tests[i].run();
		}
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status ? 1 : 0;
}
