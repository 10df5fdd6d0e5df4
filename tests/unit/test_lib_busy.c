// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Time limits on a busy CPU: a script is charged for its own time; the time of other threads
 * neither ends a run nor appears in a counter.
 * In guests: --long
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "lib_test.h"

#define LOOPS	12
#define LIMIT	100000000UL	/* ns */
/* A script's time may differ from its thread's by this much. */
#define SLACK	3000000UL

static pid_t loops[LOOPS];

static unsigned long now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000UL + ts.tv_nsec;
}

static void use_one_cpu(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void start_other(int i, void (*use_cpu)(void))
{
	loops[i] = fork();
	if (!loops[i]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			use_cpu();
	}
}

static void use_all(void)
{
}

/* Interrupts others often, and each time for less than what the library takes for short. */
static void use_half(void)
{
	const struct timespec nap = { 0, 300000 };
	unsigned long end = now(CLOCK_THREAD_CPUTIME_ID) + 300000;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	nanosleep(&nap, NULL);
}

static void start_loops(int n)
{
	for (int i = 0; i < n; i++)
		start_other(i, use_all);
}

static void end_loops(int n)
{
	for (int i = 0; i < n; i++) {
		kill(loops[i], SIGKILL);
		waitpid(loops[i], NULL, 0);
	}
}

static unsigned long run_time(int fd)
{
	struct syscript_info info;

	CHECK_EQ(syscript_info(fd, &info), 0);
	return info.run_time;
}

/*
 * Calls of @source that take some milliseconds each: their time is no more than the thread's, and a
 * good part of it, since the thread does little else.
 */
static void pays_for_itself(const char *source, long n, int runs)
{
	struct syscript_options options = { .time_limit_ns = LIMIT };
	int fd = load_with(source, &options);

	for (int i = 0; i < runs; i++) {
		unsigned long counted = run_time(fd), cpu = now(CLOCK_THREAD_CPUTIME_ID);
		long ret = lua_syscall(fd, 1, n);

		cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
		counted = run_time(fd) - counted;
		if (ret == -ETIME && cpu < LIMIT)
			fprintf(stderr, "ended after %lu us of CPU time\n", cpu / 1000);
		CHECK(ret != -ETIME || cpu >= LIMIT);
		if (counted > cpu + SLACK)
			fprintf(stderr, "%lu us counted of %lu\n", counted / 1000, cpu / 1000);
		CHECK(counted <= cpu + SLACK);
		if (ret == -ETIME)
			break;
	}
	syscript_close(fd);
}

#define COMPUTES \
	"function run(n) local s = 0 for i = 1, n do s = (s + i) % 1000003 end return s end"
#define CALLS \
	"function run(n) local s = 0 for i = 1, n do s = s + syscall.getppid() % 2 end return s end"
#define BOTH \
	"function run(n) local s = 0 for i = 1, n do syscall.getppid() " \
	"for j = 1, 1000 do s = (s + j) % 1000003 end end return s end"

/* A repeat count of @source that takes @ns of CPU time. */
static long calibrate(const char *source, unsigned long ns)
{
	struct syscript_options options = { .time_limit_ns = 10000000000 };
	int fd = load_with(source, &options);
	unsigned long took = 0;
	long n = 50;

	while (took < ns) {
		n *= 2;
		took = now(CLOCK_THREAD_CPUTIME_ID);
		CHECK(lua_syscall(fd, 1, n) >= 0);
		took = now(CLOCK_THREAD_CPUTIME_ID) - took;
	}
	syscript_close(fd);
	return n * ns / took;
}

/* The script still ends, by its own time. */
static void ends(void)
{
	struct syscript_options options = { .time_limit_ns = LIMIT / 10 };
	int fd = load_with("function run() while true do end end", &options);
	unsigned long cpu = now(CLOCK_THREAD_CPUTIME_ID);

	CHECK_EQ(lua_syscall(fd, 0), -ETIME);
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	CHECK(cpu >= LIMIT / 10 - SLACK);
	CHECK(cpu < LIMIT * 5);
	syscript_close(fd);
}

/*
 * The message has the line. LuaJIT's clock thread looks at the run before its time is over, and
 * after ten looks the way out of the loop is compiled: it may be the compiler that ends the run.
 */
static void has_its_line(void)
{
	struct syscript_options options = { .time_limit_ns = LIMIT / 10, .name = "loop" };

	for (int i = 0; i < 40; i++) {
		int fd = load_with("function run()\n while true do end end", &options);
		char error[200] = "";

		CHECK_EQ(lua_syscall(fd, 0), -ETIME);
		syscript_error(fd, error, sizeof(error));
		if (strncmp(error, "loop:2: over the time limit", 27)) {
			fprintf(stderr, "%d: %s\n", i, error);
			exit(1);
		}
		syscript_close(fd);
	}
}

/* Registering is limited by CPU time, not by elapsed time. */
static void registers(void)
{
	struct syscript_options options = { .time_limit_ns = 1000000 };
	const char *source = "local s = 0 for i = 1, 1000000 do s = s + #tostring(i % 7) end "
			     "function run() return 7 end";
	int fd = load_with(source, &options);

	CHECK_EQ(lua_syscall(fd, 0), 7);
	syscript_close(fd);
}

int main(void)
{
	long computes = calibrate(COMPUTES, LIMIT / 20), calls = calibrate(CALLS, LIMIT / 20),
	     both = calibrate(BOTH, LIMIT / 4);

	use_one_cpu();
	registers();
	start_loops(LOOPS);
	pays_for_itself(COMPUTES, computes, 3);
	pays_for_itself(CALLS, calls, 3);
	ends();
	end_loops(LOOPS);

	start_other(0, use_half);
	pays_for_itself(BOTH, both, 1);
	end_loops(1);

	start_loops(3);
	has_its_line();
	end_loops(3);

	/* One task of the usual class takes nearly all of the CPU from this one. */
	start_loops(1);
	CHECK_EQ(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }), 0);
	pays_for_itself(COMPUTES, computes / 5, 1);
	pays_for_itself(CALLS, calls / 5, 1);
	end_loops(1);
	return 0;
}
