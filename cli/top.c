// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript top: the activity of live scripts, second by second. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "counters.h"
#include "values.h"

/* A script's activity in an interval. */
struct rate {
	const struct syscript_info *info;
	double cpu, calls, syscalls;	/* per cent, and per second */
};

struct sample {
	struct syscript_info *scripts;
	size_t n;
	struct timespec at;
};

struct top {
	uint64_t delay_ns;
	long rounds;			/* 0: no end */
	bool plain;			/* print one screen after the other, erase nothing */
};

static int take_sample(struct sample *sample)
{
	int status = read_scripts(&sample->scripts, &sample->n);

	clock_gettime(CLOCK_MONOTONIC, &sample->at);
	return status;
}

static const struct syscript_info *find_script(const struct sample *sample, uint64_t id)
{
	for (size_t i = 0; i < sample->n; i++) {
		if (sample->scripts[i].id == id)
			return &sample->scripts[i];
	}
	return NULL;
}

static double seconds_between(const struct timespec *a, const struct timespec *b)
{
	return (b->tv_sec - a->tv_sec) + (b->tv_nsec - a->tv_nsec) * 1e-9;
}

static struct rate rate_of(const struct syscript_info *now, const struct syscript_info *before,
			   double seconds)
{
	static const struct syscript_info none;

	if (!before)
		before = &none;
	return (struct rate){
		.info = now,
		.cpu = (now->run_time - before->run_time) * 1e-7 / seconds,
		.calls = (now->calls - before->calls) / seconds,
		.syscalls = (now->syscalls - before->syscalls) / seconds,
	};
}

static int busiest_first(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? 1 : -1;
	return x->calls < y->calls ? 1 : x->calls > y->calls ? -1 : 0;
}

static void print_rates(const struct rate *rates, size_t n)
{
	printf("%6s %7s %7s %-8s %6s %10s %12s %10s %10s  %s\n", "ID", "PID", "UID", "STATE",
	       "CPU%", "CALLS/S", "SYSCALLS/S", "MEMORY", "PEAK", "NAME");
	for (; n--; rates++) {
		const struct syscript_info *info = rates->info;

		printf("%6llu %7d %7u %-8s %6.1f %10.0f %12.0f %10llu %10llu  %s\n",
		       (unsigned long long)info->id, info->pid, info->uid,
		       state_name(info->state), rates->cpu, rates->calls, rates->syscalls,
		       (unsigned long long)info->memory, (unsigned long long)info->memory_peak,
		       info->name);
	}
	fflush(stdout);
}

static int show_sample(const struct top *top, const struct sample *before, const struct sample *now)
{
	struct rate *rates = calloc(now->n ?: 1, sizeof(*rates));
	double seconds = seconds_between(&before->at, &now->at);

	if (!rates)
		return complain("no memory for the list");
	for (size_t i = 0; i < now->n; i++)
		rates[i] = rate_of(&now->scripts[i], find_script(before, now->scripts[i].id),
				   seconds);
	qsort(rates, now->n, sizeof(*rates), busiest_first);
	if (!top->plain)
		fputs("\033[H\033[J", stdout);
	printf("%zu scripts, %.1f s\n", now->n, seconds);
	print_rates(rates, now->n);
	free(rates);
	return 0;
}

static int run_top(const struct top *top)
{
	const struct timespec delay = {
		top->delay_ns / 1000000000, top->delay_ns % 1000000000
	};
	struct sample before, now;
	int status = take_sample(&before);

	for (long round = 0; !status && (!top->rounds || round < top->rounds); round++) {
		nanosleep(&delay, NULL);
		status = take_sample(&now) ?: show_sample(top, &before, &now);
		free(before.scripts);
		before = now;
	}
	free(before.scripts);
	return status;
}

static const char help[] =
	"Usage: syscript top [OPTION...]\n"
	"Shows what your live scripts in the kernel (root: all) do, the busiest first.\n\n"
	"  -d, --delay TIME    interval: 1s (default), 500ms\n"
	"  -n, --rounds N      end after N intervals\n"
	"  -b, --batch         print one below the other (default without a terminal)\n"
	"      --help          print this\n";

int cmd_top(int argc, char **argv)
{
	static const struct option options[] = {
		{ "delay", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "batch", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct top top = { .delay_ns = 1000000000, .plain = !isatty(STDOUT_FILENO) };
	int option;

	while ((option = getopt_long(argc, argv, "d:n:b", options, NULL)) != -1) {
		if (option == 'h')
			return fputs(help, stdout), 0;
		if (option == 'b')
			top.plain = true;
		else if (option == 'n' && (top.rounds = atol(optarg)) <= 0)
			return complain_usage("top", "invalid number of rounds '%s'", optarg);
		else if (option == 'd' && !parse_time(optarg, &top.delay_ns))
			return complain_usage("top", "invalid delay '%s': use s or ms, as in 1s, 500ms", optarg);
		else if (option == '?')
			return complain_usage("top", "unknown or incomplete option");
	}
	if (optind < argc)
		return complain_usage("top", "unexpected argument '%s'", argv[optind]);
	return run_top(&top);
}
