// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Measures the costs of system calls on this machine, inside scripts and outside, and of the parts
 * of scripts: the cost model of consolidate(1).
 *
 * usage: consolidate-calibrate kernel|user ROUNDS
 *
 * Writes JSON: in each round every cost once, in ns.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "calibrate_library.h"
#include "source.h"

#define SAMPLE_NS	3000000ULL	/* at least */
#define TIME_LIMIT	5000000000ULL
#define CPU		1
#define BYTES		65536
#define PATH		"/"
#define FIELDS		256

/* run(what, n, buf, path): n steps of one kind. */
static const char steps[] =
	"local getppid, close, stat = syscall.getppid, syscall.close, syscall.newfstatat\n"
	"local entry = ('\\0'):rep(16) .. '\\32\\0\\8' .. 'file.c' .. ('\\0'):rep(7)\n"
	"local entries = entry:rep(100)\n"
	"local AT = const.AT_FDCWD\n"
	"local kinds = {\n"
	"  function(n) for i = 1, n do getppid() end end,\n"
	"  function(n) for i = 1, n do close(-1) end end,\n"
	"  function(n, buf, path) for i = 1, n do stat(AT, path, buf, 0) end end,\n"
	"  function(n, buf) for i = 1, n do stat(AT, '" PATH "', buf, 0) end end,\n"
	"  function(n, buf) local s = 0 for i = 1, n do\n"
	"    s = s + util.peek(buf + i % 256 * 8, 'i8') end sum = s end,\n"
	"  function(n, buf) for i = 1, n do util.poke(buf + i % 256 * 8, 'i8', i) end end,\n"
	"  function(n) local at, names = 0, 0 for i = 1, n do\n"
	"    local low, high = entries:byte(at + 17, at + 18)\n"
	"    local a, b, c = entries:byte(at + 20, at + 22)\n"
	"    if a ~= 46 or b ~= 0 and (b ~= 46 or c ~= 0) then names = names + 1 end\n"
	"    at = (at + low + high * 256) % #entries end return names end,\n"
	"}\n"
	"function run(what, n, buf, path) kinds[what](n, buf, path) return n end\n";

/* Like the scripts of lua.py: n items of two calls and four fields. */
static const char batch[] =
	"local close, peek, poke = syscall.close, util.peek, util.poke\n"
	"local NOT_MADE = -errno.ECANCELED\n"
	"local function get(at, field) return peek(at + 8 * field, 'i8') end\n"
	"local function put(at, field, value) poke(at + 8 * field, 'i8', value) end\n"
	"local function one(item)\n"
	"  local a, b = get(item, 0), get(item, 1)\n"
	"  local ret = close(a)\n"
	"  put(item, 2, ret)\n"
	"  if ret > 0 then put(item, 3, NOT_MADE) return 1, ret end\n"
	"  local ret2 = close(b)\n"
	"  put(item, 3, ret2)\n"
	"  if ret2 > 0 then return 2, ret2 end\n"
	"  return 0, 0\n"
	"end\n"
	"function run(what, n, items)\n"
	"  for i = 0, n - 1 do\n"
	"    local step, result = one(items + i % 64 * 32)\n"
	"    if step ~= 0 then return i, step, result end\n"
	"  end\n"
	"  return n, 0, 0\n"
	"end\n";

static const char nothing[] = "function run() end";

enum { FAST = 1, SLOW, ADDRESS, STRING, FIELD_IN, FIELD_OUT, ENTRY, BATCH };

struct cost {
	const char *name;
	void (*step)(const struct cost *cost, uint64_t count);
	int64_t what;
	void (*way)(int items);
	int items;
	int fd;
	uint64_t count;			/* steps in a sample */
};

static union {
	struct stat stat;
	int64_t fields[FIELDS];
	char bytes[BYTES];
} buf;

static int file;

static void outer_fast(const struct cost *cost, uint64_t count)
{
	(void)cost;
	while (count--)
		syscall(SYS_getppid);
}

static void outer_slow(const struct cost *cost, uint64_t count)
{
	(void)cost;
	while (count--)
		syscall(SYS_close, -1);
}

static void outer_path(const struct cost *cost, uint64_t count)
{
	(void)cost;
	while (count--)
		if (syscall(SYS_newfstatat, AT_FDCWD, PATH, &buf.stat, 0))
			measure_die("stat %s: %m", PATH);
}

/* Calls that programs make and the library's scripts avoid. */
static void outer_read(const struct cost *cost, uint64_t count)
{
	(void)cost;
	while (count--)
		if (syscall(SYS_read, file, buf.bytes, BYTES))
			measure_die("read at the end of a file: %m");
}

static void outer_fstat(const struct cost *cost, uint64_t count)
{
	(void)cost;
	while (count--)
		if (syscall(SYS_fstat, file, &buf.stat))
			measure_die("fstat: %m");
}

/* As some versions of libc implement fstat(). */
static void outer_fstatat(const struct cost *cost, uint64_t count)
{
	(void)cost;
	while (count--)
		if (syscall(SYS_newfstatat, file, "", &buf.stat, AT_EMPTY_PATH))
			measure_die("newfstatat: %m");
}

static void calls(const struct cost *cost, uint64_t count)
{
	while (count--) {
		long ret = lua_syscall(cost->fd, 4, 1, 2, 3, 4);

		if (ret < 0)
			measure_die("%s: %s", cost->name, syscript_strerror(ret));
	}
}

static void inside(const struct cost *cost, uint64_t count)
{
	static int64_t items[64][4] = { [0 ... 63] = { -1, -1 } };
	void *memory = cost->what == BATCH ? (void *)items : &buf;
	long ret = lua_syscall(cost->fd, 4, cost->what, count, memory, PATH);

	if (ret < 0)
		measure_die("%s: %s", cost->name, syscript_strerror(ret));
	if (ret != (long)count)
		measure_die("%s: did %ld steps, not %" PRIu64, cost->name, ret, count);
}

static void library(const struct cost *cost, uint64_t count)
{
	while (count--)
		cost->way(cost->items);
}

#define BOTH(script, by_calls, by_script, size, n)				\
	{ .name = script ".plain." size, .step = library, .way = by_calls,	\
	  .items = n },								\
	{ .name = script ".script." size, .step = library, .way = by_script,	\
	  .items = n }

/* Costs between these sizes are interpolated: caches hold many files less well. */
#define LIBRARY(script, by_calls, by_script)					\
	BOTH(script, by_calls, by_script, "one", 1),				\
	BOTH(script, by_calls, by_script, "few", LIBRARY_FEW),			\
	BOTH(script, by_calls, by_script, "many", LIBRARY_MANY)

static struct cost costs[] = {
	{ .name = "outer_fast", .step = outer_fast },
	{ .name = "outer_path", .step = outer_path },
	{ .name = "inner_fast", .step = inside, .what = FAST },
	{ .name = "outer_slow", .step = outer_slow },
	{ .name = "inner_slow", .step = inside, .what = SLOW },
	{ .name = "inner_path", .step = inside, .what = ADDRESS },
	{ .name = "inner_string", .step = inside, .what = STRING },
	{ .name = "field_in", .step = inside, .what = FIELD_IN },
	{ .name = "field_out", .step = inside, .what = FIELD_OUT },
	{ .name = "entry", .step = inside, .what = ENTRY },
	{ .name = "batch_item", .step = inside, .what = BATCH },
	{ .name = "script_call", .step = calls },
	{ .name = "outer_read", .step = outer_read },
	{ .name = "outer_fstat", .step = outer_fstat },
	{ .name = "outer_fstatat", .step = outer_fstatat },
	LIBRARY("read_many", library_read_plain, library_read_many),
	LIBRARY("open_read_close", library_read_plain, library_open_read_close),
	LIBRARY("open_write_close", library_write_plain, library_write_many),
	LIBRARY("open_fstat", library_open_plain, library_open_many),
	LIBRARY("stat_many", library_stat_plain, library_stat_many),
	LIBRARY("readdirplus", library_list_plain, library_readdirplus),
};

#define COSTS	(sizeof(costs) / sizeof(costs[0]))

/* A script for each probe, so that none runs code compiled for another. */
static void register_all(enum syscript_backend backend)
{
	for (size_t i = 0; i < COSTS; i++) {
		const char *text = !costs[i].what ? nothing :
				   costs[i].what == BATCH ? batch : steps;
		const struct source source = { "calibrate", (char *)text, strlen(text) };

		if (costs[i].what || costs[i].step == calls)
			costs[i].fd = source_register(&source, backend, 0, 0, TIME_LIMIT);
	}
}

static uint64_t sample(void *of, uint64_t count)
{
	const struct cost *cost = of;
	uint64_t start = measure_cpu_now();

	cost->step(cost, count);
	return measure_cpu_now() - start;
}

static void measure_round(unsigned int round)
{
	double ns[COSTS];

	/* The order changes, so that none is always first. */
	for (size_t i = 0; i < COSTS; i++) {
		size_t at = (i + round) % COSTS;

		ns[at] = (double)sample(&costs[at], costs[at].count) / costs[at].count;
	}
	printf("%s\n    {", round ? "," : "");
	for (size_t i = 0; i < COSTS; i++)
		printf("%s\"%s\": %.6g", i ? ", " : "", costs[i].name, ns[i]);
	printf("}");
}

/* Sets up what scripts need, including the library's. */
static void prepare(const char *backend)
{
	if (strcmp(backend, "kernel") && strcmp(backend, "user"))
		measure_die("usage: consolidate-calibrate kernel|user ROUNDS");
	register_all(strcmp(backend, "user") ? SYSCRIPT_BACKEND_KERNEL : SYSCRIPT_BACKEND_USER);
	/* The library's functions read this at their first call. */
	setenv("SYSCRIPT_BACKEND", backend, 1);
	file = library_setup(measure_directory());
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	prepare(rounds ? argv[1] : "");
	measure_pin(CPU);
	for (size_t i = 0; i < COSTS; i++)
		costs[i].count = measure_calibrate(sample, &costs[i], SAMPLE_NS);
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"backend\": \"%s\",\n"
	       "  \"items\": {\"one\": 1, \"few\": %d, \"many\": %d},\n  \"rounds\": [",
	       measure_kernel(), measure_accel(), argv[1], LIBRARY_FEW, LIBRARY_MANY);
	for (unsigned int i = 0; i < rounds; i++)
		measure_round(i);
	printf("\n  ]\n}\n");
	return 0;
}
