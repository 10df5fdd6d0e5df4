// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of single steps of scripts: an empty loop, a field, a registration; and of getppid() for
 * comparison. bench/inner measures system calls.
 *
 * usage: micro ROUNDS FIGURE1
 *
 * Writes JSON: in each round every probe once, in ns per step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "order.h"
#include "source.h"

#define SAMPLE_NS	6000000ULL	/* at least */
#define TIME_LIMIT	5000000000ULL
#define WARM_UP		1000		/* iterations until everything is compiled */
#define CPU		1

enum { LOOP, FIELD, PEEK };	/* run()'s first argument */

static const char steps[] =
	"local function loop(n)\n"
	"  for i = 1, n do end\n"
	"  return n\n"
	"end\n"
	/* The same field of 16 structures, through a view and by computed addresses. */
	"local mmsghdr = util.struct 'u8 header[7]; unsigned int len;'\n"
	"local base = util.buffer(16 * 64)\n"
	"local view, peek = mmsghdr(base, 16), util.peek\n"
	"local function fields(n)\n"
	"  local sum = 0\n"
	"  for i = 0, n - 1 do sum = sum + view[i % 16 + 1].len end\n"
	"  return n + sum\n"
	"end\n"
	"local function peeks(n)\n"
	"  local sum = 0\n"
	"  for i = 0, n - 1 do sum = sum + peek(base + i % 16 * 64 + 56, 'u4') end\n"
	"  return n + sum\n"
	"end\n"
	"function run(what, n)\n"
	"  if what == 0 then return loop(n) end\n"
	"  if what == 1 then return fields(n) end\n"
	"  if what == 2 then return peeks(n) end\n"
	"end\n";

struct probe {
	const char *name;
	void (*step)(const struct probe *probe, uint64_t count);
	/* Around each sample, not timed. */
	void (*before)(struct probe *probe);
	void (*after)(struct probe *probe);
	int fd;
	int64_t what;
	uint64_t count;			/* steps in a sample */
};

static struct source figure1;

static void getppids(const struct probe *probe, uint64_t count)
{
	(void)probe;
	while (count--)
		syscall(SYS_getppid);
}

static void inside(const struct probe *probe, uint64_t count)
{
	long ret = lua_syscall(probe->fd, 2, probe->what, count);

	if (ret < 0)
		measure_die("%s: %s", probe->name, syscript_strerror(ret));
	if (ret != (long)count)
		measure_die("%s: got %ld, not %" PRIu64, probe->name, ret, count);
}

static void registrations(const struct probe *probe, uint64_t count)
{
	(void)probe;
	while (count--)
		syscript_close(source_register(&figure1, SYSCRIPT_BACKEND_KERNEL, 0, 0, 0));
}

static int registered(enum syscript_backend backend)
{
	const struct source source = { "micro", (char *)steps, strlen(steps) };

	return source_register(&source, backend, 0, 0, TIME_LIMIT);
}

static void check_compiled(const struct probe *probe)
{
	struct syscript_info info = { 0 };
	int ret = syscript_info(probe->fd, &info);

	if (ret)
		measure_die("%s: %s", probe->name, syscript_strerror(ret));
	if (!info.counters[0].value)
		measure_die("%s has not been compiled", probe->name);
}

/*
 * While a process has a script in the user backend, the library checks each fd before a call: only
 * this probe should pay for that.
 */
static void register_user(struct probe *probe)
{
	probe->fd = registered(SYSCRIPT_BACKEND_USER);
	inside(probe, WARM_UP);
}

static void close_user(struct probe *probe)
{
	check_compiled(probe);
	syscript_close(probe->fd);
}

static struct probe probes[] = {
	{ .name = "getppid", .step = getppids },
	{ .name = "jit_loop", .step = inside, .what = LOOP },
	{ .name = "jit_loop_user", .step = inside, .what = LOOP, .before = register_user,
	  .after = close_user },
	{ .name = "register_close", .step = registrations },
	{ .name = "struct_field", .step = inside, .what = FIELD },
	{ .name = "peek", .step = inside, .what = PEEK },
};

#define PROBES	(sizeof(probes) / sizeof(probes[0]))

static struct probe *named(const char *name)
{
	for (size_t i = 0; i < PROBES; i++)
		if (!strcmp(probes[i].name, name))
			return &probes[i];
	abort();
}

static void register_all(void)
{
	/* A script of its own: a loop must not pay for another function's trace. */
	named("jit_loop")->fd = registered(SYSCRIPT_BACKEND_KERNEL);
	named("struct_field")->fd = registered(SYSCRIPT_BACKEND_KERNEL);
	named("peek")->fd = registered(SYSCRIPT_BACKEND_KERNEL);
}

static uint64_t sample(void *of, uint64_t count)
{
	struct probe *probe = of;
	uint64_t start, took;

	if (probe->before)
		probe->before(probe);
	start = measure_now();
	probe->step(probe, count);
	took = measure_now() - start;
	if (probe->after)
		probe->after(probe);
	return took;
}

static void measure_round(unsigned int round)
{
	double ns[PROBES];

	for (size_t i = 0; i < PROBES; i++) {
		size_t at = order_at(i, PROBES, round);

		ns[at] = (double)sample(&probes[at], probes[at].count) / probes[at].count;
	}
	printf("%s\n    {", round ? "," : "");
	for (size_t i = 0; i < PROBES; i++)
		printf("%s\"%s\": %.6g", i ? ", " : "", probes[i].name, ns[i]);
	printf("}");
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;

	if (!rounds)
		measure_die("usage: micro ROUNDS FIGURE1");
	figure1 = source_read(argv[2]);
	register_all();
	/* The library's clock thread starts with a script; keep it off this CPU. */
	register_user(named("jit_loop_user"));
	close_user(named("jit_loop_user"));
	measure_pin(CPU);
	for (size_t i = 0; i < PROBES; i++)
		probes[i].count = measure_calibrate(sample, &probes[i], SAMPLE_NS);
	check_compiled(named("jit_loop"));
	check_compiled(named("struct_field"));
	check_compiled(named("peek"));

	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"steps_per_sample\": {",
	       measure_kernel(), measure_accel());
	for (size_t i = 0; i < PROBES; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", probes[i].name, probes[i].count);
	printf("},\n  \"rounds\": [");
	for (unsigned int i = 0; i < rounds; i++)
		measure_round(i);
	printf("\n  ]\n}\n");
	return 0;
}
