// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of scripts for a user who may open only the confined engine's device: registering one,
 * keeping one, and calling one through a queue. bench/everyone.py starts it as such a user.
 *
 * usage: everyone ROUNDS SCRIPT MEMORY
 *
 * MEMORY is the memory.current file of its control group. Writes JSON: the ns of each registration
 * of SCRIPT except the first, and of its text with another number, which nobody has registered; the
 * number of scripts open at once, which have been called; the bytes
 * of each; the ns of requests of a queue that is filled and emptied, of calls of the same script,
 * and of the plain system calls; and the ns of requests that sleep for 20 ms, with a thread for
 * each.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscript_queue.h>
#include <unistd.h>

#include "measure.h"
#include "source.h"

#define KEPT_MAX	256
#define SLEEPS		32
#define REQUESTS	(40 * SYSCRIPT_QUEUE_ENTRIES)	/* in a sample */

static const char kept_text[] = "function run(n) return n + 1 end";
static const struct source kept = { "kept", (char *)kept_text, sizeof(kept_text) - 1 };

/* A descriptor, or -errno. */
static int register_one(const struct source *source)
{
	const struct syscript_options options = {
		.size = sizeof(options), .name = source->name,
		.backend = SYSCRIPT_BACKEND_KERNEL, .engine = SYSCRIPT_LUA_ON_CONFINED,
	};
	char error[256];

	return syscript_register(source->text, source->len, &options, error, sizeof(error));
}

static double sample_register(const struct source *source)
{
	uint64_t since = measure_now();
	int fd = register_one(source);
	double ns = measure_now() - since;

	if (fd < 0)
		measure_die("%s: %s", source->name, syscript_strerror(fd));
	syscript_close(fd);
	return ns;
}

/* Replaces the number in "= 1024" by another of four digits, so that all code is new, too. */
static double sample_register_first(struct source *source, unsigned int round)
{
	static char *number;
	char digits[16];

	number = number ?: memmem(source->text, source->len, "= 1024", 6);
	if (!number)
		measure_die("%s: no \"= 1024\"", source->name);
	snprintf(digits, sizeof(digits), "%u", 1025 + round % 1000);
	memcpy(number + 2, digits, 4);
	return sample_register(source);
}

static double memory_now(const char *path)
{
	FILE *file = fopen(path, "r");
	double bytes;

	if (!file || fscanf(file, "%lf", &bytes) != 1)
		measure_die("cannot read %s", path);
	fclose(file);
	return bytes;
}

static void measure_kept(const char *memory)
{
	int fds[KEPT_MAX], n = 0;
	double before = memory_now(memory), after;

	while (n < KEPT_MAX && (fds[n] = register_one(&kept)) >= 0) {
		if (lua_syscall(fds[n], 1, 41) != 42)
			measure_die("a script returns something else");
		n++;
	}
	after = memory_now(memory);
	printf("\"kept\": %d, \"bytes\": %.0f", n, n ? (after - before) / n : 0);
	while (n)
		syscript_close(fds[--n]);
}

/* -- Queues ------------------------------------------------------------------------- */

static const char empty_text[] = "function run() end";
static const char orc_text[] =
	"local openat, read, close = syscall.openat, syscall.read, syscall.close\n"
	"local AT_FDCWD, O_RDONLY = const.AT_FDCWD, const.O_RDONLY\n"
	"function run(path, buf, size)\n"
	"  local fd = openat(AT_FDCWD, path, O_RDONLY)\n"
	"  if fd < 0 then return fd end\n"
	"  local n = read(fd, buf, size)\n"
	"  close(fd)\n"
	"  return n\n"
	"end\n";

static char buffer[4096];
static char path[] = "/tmp/everyone-XXXXXX";
static const struct syscript_request orc_request = {
	.nargs = 3, .args = { (intptr_t)path, (intptr_t)buffer, sizeof(buffer) },
};
static const struct syscript_request empty_request;

static void check_result(const struct syscript_request *request, long result)
{
	if (request->nargs ? result <= 0 : result)
		measure_die("a request returns %ld", result);
}

static void make_file(void)
{
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, orc_text, sizeof(orc_text)) < 0)
		measure_die("%s: %m", path);
	close(fd);
}

static double sample_plain(void)
{
	uint64_t since = measure_now();

	for (int i = 0; i < REQUESTS; i++) {
		int fd = open(path, O_RDONLY);

		if (read(fd, buffer, sizeof(buffer)) <= 0)
			measure_die("%s: %m", path);
		close(fd);
	}
	return (double)(measure_now() - since) / REQUESTS;
}

static double sample_calls(int fd, const struct syscript_request *request)
{
	uint64_t since = measure_now();
	int64_t result = 0;

	for (int i = 0; i < REQUESTS; i++) {
		if (syscript_call(fd, request->nargs, request->args, 1, &result) < 0)
			measure_die("a call fails");
		check_result(request, result);
	}
	return (double)(measure_now() - since) / REQUESTS;
}

/* Repeatedly fills and empties the queue. */
static double sample_queue(struct syscript_queue *queue, const struct syscript_request *request)
{
	static struct syscript_request requests[SYSCRIPT_QUEUE_ENTRIES];
	static struct syscript_completion completions[SYSCRIPT_QUEUE_ENTRIES];
	uint64_t since = measure_now();
	int done = 0, sent = 0, n;

	for (int i = 0; i < SYSCRIPT_QUEUE_ENTRIES; i++)
		requests[i] = *request;
	while (done < REQUESTS) {
		sent += syscript_queue_submit(queue, requests, SYSCRIPT_QUEUE_ENTRIES);
		while (done < sent) {
			n = syscript_queue_wait(queue, completions, sent - done,
						SYSCRIPT_QUEUE_ENTRIES, -1);
			if (n < 0)
				measure_die("wait: %s", syscript_strerror(n));
			for (int i = 0; i < n; i++)
				check_result(request, completions[i].error ?: completions[i].result);
			done += n;
		}
	}
	return (double)(measure_now() - since) / REQUESTS;
}

static void measure_queue(const char *name, const char *text,
			  const struct syscript_request *request, unsigned int rounds)
{
	const struct syscript_options options = {
		.size = sizeof(options), .backend = SYSCRIPT_BACKEND_KERNEL,
		.engine = SYSCRIPT_LUA_ON_CONFINED,
	};
	struct source source = { name, (char *)text, strlen(text) };
	struct syscript_queue *queue;
	int fd = register_one(&source), err;

	err = syscript_queue_open(&queue, text, source.len, &options, 1, NULL, 0);
	if (fd < 0 || err)
		measure_die("%s: %s", name, syscript_strerror(fd < 0 ? fd : err));
	printf(", \"queue_%s\": [", name);
	for (unsigned int i = 0; i <= rounds; i++) {
		double by_queue = sample_queue(queue, request), called = sample_calls(fd, request);
		double plain = request->nargs ? sample_plain() : 0;

		if (i)
			printf("%s{\"queue\": %.1f, \"call\": %.1f, \"plain\": %.1f}",
			       i > 1 ? ", " : "", by_queue, called, plain);
	}
	printf("]");
	syscript_queue_close(queue);
	syscript_close(fd);
}

/* Concurrent sleeps of 20 ms take as long as one, wherever the scripts run. */
static void measure_sleeps(void)
{
	static const char text[] = "function run() return syscall.poll(0, 0, 20) end";
	const struct syscript_request request = { .nargs = 0 };
	struct syscript_completion completions[SLEEPS];
	struct syscript_queue *queue;
	int err = syscript_queue_open(&queue, text, sizeof(text) - 1, NULL, SLEEPS, NULL, 0);
	uint64_t since;

	if (err)
		measure_die("sleeps: %s", syscript_strerror(err));
	since = measure_now();
	for (int i = 0; i < SLEEPS; i++)
		if (syscript_queue_submit(queue, &request, 1) != 1)
			measure_die("a sleep cannot be submitted");
	if (syscript_queue_wait(queue, completions, SLEEPS, SLEEPS, -1) != SLEEPS)
		measure_die("sleeps do not end");
	printf(", \"queue_sleeps\": %.0f", (double)(measure_now() - since));
	syscript_queue_close(queue);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	struct source source;

	if (!rounds)
		measure_die("usage: everyone ROUNDS SCRIPT MEMORY");
	source = source_read(argv[2]);
	sample_register(&source);
	printf("{\"register\": [");
	for (unsigned int i = 0; i < rounds; i++)
		printf("%s%.0f", i ? ", " : "", sample_register(&source));
	printf("], \"register_first\": [");
	for (unsigned int i = 0; i < rounds; i++)
		printf("%s%.0f", i ? ", " : "", sample_register_first(&source, i));
	printf("], ");
	measure_kept(argv[3]);
	make_file();
	measure_queue("empty", empty_text, &empty_request, rounds);
	measure_queue("orc", orc_text, &orc_request, rounds);
	measure_sleeps();
	unlink(path);
	printf("}\n");
	return 0;
}
