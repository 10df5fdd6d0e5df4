// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Load for test_leaks.py: threads that register, call and close scripts as fast as they can
 * (--scripts), or that compute with every floating-point register and check the result (--floats).
 * Exit status 0, or 1 with the fault.
 */
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>

#include "abi.h"

#define THREADS 4

static double storm_end;

static const char *const storm_sources[] = {
	ABI_ADD,
	"function run(a, b) local t = {} for i = 1, 300 do t[i] = { i } end return a + b end",
	"function run(a, b) local s = 0 for i = 1, 2000 do s = s + i % 7 end return a + b end",
	"function run(a, b) local c = coroutine.wrap(function() coroutine.yield(a + b) end) return c() end",
	"local s = ('x'):rep(1000) function run(a, b) return a + b + #(s .. s) - 2000 end",
	"function run(a, b) for i = 1, 20 do syscall.getppid() end return a + b end",
	"function run(a, b) local ok = pcall(error, 'x') return a + b end",
};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char *storm_source(unsigned int *seed)
{
	return storm_sources[rand_r(seed) % ARRAY_SIZE(storm_sources)];
}

/* In a storm, exceeded quotas and a full arena are not errors of the module. */
static bool storm_refused(int err)
{
	return err == -EDQUOT || err == -ENOMEM;
}

static void *storm_scripts(void *arg)
{
	unsigned int seed = (uintptr_t)arg * 2654435761u;
	int fds[4] = { -1, -1, -1, -1 };
	unsigned long calls = 0;

	while (abi_seconds() < storm_end) {
		int64_t a = rand_r(&seed) % 1000, b = rand_r(&seed) % 1000, sum;
		int slot = rand_r(&seed) % 4, err;

		if (fds[slot] >= 0)
			close(fds[slot]);
		fds[slot] = abi_register_limits(storm_source(&seed),
						rand_r(&seed) % 2 ? SYSCRIPT_NOJIT : 0,
						256 << 10, ABI_PATIENCE);
		if (fds[slot] < 0) {
			CHECK(storm_refused(fds[slot]));
			continue;
		}
		for (int i = rand_r(&seed) % 5; i >= 0; i--, calls++) {
			err = abi_call(fds[slot], a, b, &sum);
			CHECK_EQ(err, 0);
			if (!err)
				CHECK_EQ(sum, a + b);
		}
	}
	/* The last scripts are left for exit to close. */
	return (void *)calls;
}

/* Twelve sums at once, so that the compiler keeps them all in registers. */
static double storm_sums(unsigned int rounds)
{
	double s[12], total = 0;

	for (int k = 0; k < 12; k++)
		s[k] = k + 0.25;
	for (unsigned int i = 0; i < rounds; i++) {
		for (int k = 0; k < 12; k++)
			s[k] = s[k] * 0.999 + (double)(i % (k + 3)) / 7;
	}
	for (int k = 0; k < 12; k++)
		total += s[k];
	return total;
}

static void *storm_floats(void *arg)
{
	double want = storm_sums(20000);
	unsigned long rounds = 0;

	(void)arg;
	for (; abi_seconds() < storm_end; rounds++) {
		double got = storm_sums(20000);

		CHECK(got == want);
		CHECK(fabs(sqrt(want) * sqrt(want) - want) < 1e-9);
	}
	return (void *)rounds;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "floats", no_argument, NULL, 'f' },
		{ }
	};
	void *(*work)(void *) = storm_scripts;
	pthread_t threads[THREADS];
	unsigned long total = 0;
	double seconds = 5;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			seconds = atof(optarg);
		else if (option == 'f')
			work = storm_floats;
		else
			return 2;
	}
	abi_open();
	storm_end = abi_seconds() + seconds;
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++) {
		void *count;

		pthread_join(threads[i], &count);
		total += (unsigned long)count;
	}
	printf("%lu rounds\n", total);
	/* A storm without a single success proves nothing. */
	CHECK(total > 0);
	return abi_verdict();
}
