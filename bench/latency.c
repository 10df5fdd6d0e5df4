// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How long a script keeps others from its CPU.  A real-time thread on the same
 * CPU wants to wake at fixed times; how late it is then, at most, is what a
 * script costs its neighbours.
 *
 * usage: latency SCRIPT...        (as root: real-time priority)
 *
 * Writes JSON: for each script, compiled and interpreted, the longest delay and
 * the longest stretch without preemption that the engine has seen itself.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "source.h"

#define CPU		1
#define PERIOD_NS	1700000		/* no multiple of the engine's clock period */
#define RUN_NS		150000000ULL	/* calls go on for so long */
#define CALLS_MIN	2
#define MEMORY_LIMIT	(16ULL << 20)
#define TIME_LIMIT	5000000000ULL

struct sleeper {
	pthread_t thread;
	atomic_bool stop;
	uint64_t latest;		/* ns */
	unsigned int wakes;
};

static void *sleep_and_wake(void *arg)
{
	struct sleeper *sleeper = arg;
	uint64_t next = measure_now() + PERIOD_NS;

	while (!sleeper->stop) {
		struct timespec ts = { next / 1000000000, next % 1000000000 };
		uint64_t late;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		late = measure_now() - next;
		if (late > sleeper->latest)
			sleeper->latest = late;
		sleeper->wakes++;
		next += (late / PERIOD_NS + 1) * PERIOD_NS;
	}
	return NULL;
}

/* Inherits the CPU that the caller is on. */
static void start(struct sleeper *sleeper)
{
	const struct sched_param priority = { .sched_priority = 50 };
	pthread_attr_t attr;
	int err;

	*sleeper = (struct sleeper){ 0 };
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &priority);
	err = pthread_create(&sleeper->thread, &attr, sleep_and_wake, sleeper);
	if (err)
		measure_die("no real-time thread: %s (run it as root)", strerror(err));
	pthread_attr_destroy(&attr);
}

static void stop(struct sleeper *sleeper)
{
	sleeper->stop = true;
	pthread_join(sleeper->thread, NULL);
	if (!sleeper->wakes)
		measure_die("the real-time thread never woke");
}

/* With no script: what the machine itself does. */
static void measure_nothing(void)
{
	uint64_t end = measure_now() + RUN_NS;
	struct sleeper sleeper;

	start(&sleeper);
	while (measure_now() < end)
		;
	stop(&sleeper);
	printf("    {\"script\": \"none\", \"mode\": \"user space\", \"late\": %" PRIu64
	       ", \"wakes\": %u}", sleeper.latest, sleeper.wakes);
}

static unsigned int call(int fd, const struct source *source)
{
	uint64_t end = measure_now() + RUN_NS;
	unsigned int calls = 0;

	do {
		char text[512] = "";
		int ret = syscript_call(fd, 0, NULL, 0, NULL);

		if (ret < 0) {
			syscript_error(fd, text, sizeof(text));
			measure_die("%s: %s: %s", source->name, syscript_strerror(ret), text);
		}
	} while (++calls < CALLS_MIN || measure_now() < end);
	return calls;
}

static void measure_script(const struct source *source, uint32_t flags)
{
	struct sleeper sleeper;
	struct syscript_info info = { 0 };
	unsigned int calls;
	int fd, ret;

	start(&sleeper);
	fd = source_register(source, SYSCRIPT_BACKEND_KERNEL, flags, MEMORY_LIMIT, TIME_LIMIT);
	calls = call(fd, source);
	stop(&sleeper);
	ret = syscript_info(fd, &info);
	if (ret)
		measure_die("%s: %s", source->name, syscript_strerror(ret));
	syscript_close(fd);
	printf(",\n    {\"script\": \"%s\", \"mode\": \"%s\", \"late\": %" PRIu64
	       ", \"preempt_max\": %llu, \"wakes\": %u, \"calls\": %u, \"traces\": %llu, "
	       "\"memory_peak\": %llu}",
	       source->name, flags & SYSCRIPT_NOJIT ? "interpreted" : "compiled", sleeper.latest,
	       (unsigned long long)info.preempt_max, sleeper.wakes, calls,
	       (unsigned long long)info.traces, (unsigned long long)info.memory_peak);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		measure_die("usage: latency SCRIPT...");
	measure_pin(CPU);
	setlinebuf(stdout);
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"period\": %d,\n  \"scripts\": [\n",
	       measure_kernel(), measure_accel(), PERIOD_NS);
	measure_nothing();
	for (int i = 1; i < argc; i++) {
		struct source source = source_read(argv[i]);

		measure_script(&source, 0);
		measure_script(&source, SYSCRIPT_NOJIT);
		free(source.text);
	}
	printf("\n  ]\n}\n");
	return 0;
}
