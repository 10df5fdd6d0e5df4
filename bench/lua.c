// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of single steps of Lua, on each engine interpreted and compiled, and, for system calls,
 * of plain ones.
 *
 * usage: lua ROUNDS
 *        lua STEP COUNT
 *
 * Writes JSON: in each round every step once in every variant, in ns without the loop; or makes
 * COUNT compiled steps, between marks for `make profile-icount`. The step "register" registers a
 * script of 51 lines, while others of its engine exist.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
#include "measure.h"
#include "order.h"
#include "source.h"

#define TIME_LIMIT	10000000000ULL
#define CPU		1
#define COUNT		2000		/* steps in a sample */

static const char script[] =
	"local getppid, lseek, peek = syscall.getppid, syscall.lseek, util.peek\n"
	"local s, b, t = 0, util.buffer(8), { 1, 2, 3, 4 }\n"
	"local view = util.struct('u8 header[7]; unsigned int len;')(util.buffer(16 * 64), 16)\n"
	"local function f() end\n"
	"local match, format, find, sub = string.match, string.format, string.find, string.sub\n"
	"local gauges, keys = { 'disk.free:1234|g', 'mem.free:56|g' }, { 'read', 'write', 'close' }\n"
	"local by_key = { read = 1, write = 2, close = 3, fstat = 4, lseek = 5, pread = 6 }\n"
	"local seen\n"
	"local steps = {\n"
	"  function(n) for i = 1, n do end end,\n"
	"  function(n) local s = s for i = 1, n do s = s + i end end,\n"
	"  function(n) local f = f for i = 1, n do f() end end,\n"
	"  function(n) local peek, b = peek, b for i = 1, n do peek(b) end end,\n"
	"  function(n) local v = view for i = 1, n do local len = v[i % 16 + 1].len end end,\n"
	"  function(n) local s, t = s, t for i = 1, n do s = s + t[3] end end,\n"
	"  function(n) local pcall, f = pcall, f for i = 1, n do pcall(f) end end,\n"
	"  function(n) for i = 1, n do seen = match(gauges[i % 2 + 1], '^([^:]+):(%d+)') end end,\n"
	"  function(n) for i = 1, n do seen = find(gauges[i % 2 + 1], '|', 1, true) end end,\n"
	"  function(n) for i = 1, n do seen = sub(gauges[i % 2 + 1], 1, i % 8 + 1) end end,\n"
	"  function(n) for i = 1, n do seen = by_key[keys[i % 3 + 1]] end end,\n"
	"  function(n) for i = 1, n do seen = format('%d', i) end end,\n"
	"  function(n) for i = 1, n do seen = 'id ' .. i end end,\n"
	"  function(n) local getppid = getppid for i = 1, n do getppid() end end,\n"
	"  function(n) local lseek = lseek for i = 1, n do lseek(-1, 0, 0) end end,\n"
	"}\n"
	"function run(step, n) if n then steps[step](n) end end\n";

static void plain_getppid(uint64_t count)
{
	while (count--)
		syscall(SYS_getppid);
}

static void plain_lseek(uint64_t count)
{
	while (count--)
		syscall(SYS_lseek, -1, 0, 0);
}

/* In the order of the script's steps; without a step, run() is called in vain. */
static const struct step {
	const char *name;
	void (*plain)(uint64_t count);
} steps[] = {
	{ .name = "loop" }, { .name = "add" }, { .name = "lua_call" }, { .name = "peek" },
	{ .name = "field" }, { .name = "index" }, { .name = "pcall" },
	{ .name = "match" }, { .name = "find" }, { .name = "sub" }, { .name = "key" },
	{ .name = "format" }, { .name = "concat" },
	{ "getppid", plain_getppid }, { "lseek", plain_lseek }, { .name = "empty_run" },
};

#define STEPS		(sizeof(steps) / sizeof(steps[0]))
#define LOOP		0
#define EMPTY_RUN	(STEPS - 1)

/* -- Ways -------------------------------------------------------------------------- */

enum { LUAJIT, LUAJIT_COMPILED, INTERPRETED, COMPILED, WAYS };

/* Each is a program of the same script. */
static struct way {
	const char *name;
	int fd;
} ways[WAYS] = {
	[LUAJIT] = { .name = "luajit" }, [LUAJIT_COMPILED] = { .name = "luajit_compiled" },
	[INTERPRETED] = { .name = "interpreted" }, [COMPILED] = { .name = "compiled" },
};

static struct source registered;

static void call(const struct way *way, unsigned int nargs, const int64_t *args)
{
	int ret = syscript_call(way->fd, nargs, args, 0, NULL);

	if (ret < 0)
		measure_die("%s: %s", way->name, syscript_strerror(ret));
}

static void measure_calls(const struct way *way, size_t step, uint64_t count)
{
	const int64_t args[] = { (int64_t)step + 1, (int64_t)count };

	if (step != EMPTY_RUN)
		return call(way, 2, args);
	while (count--)
		call(way, 0, NULL);
}

/* -- Registrations ------------------------------------------------------------------- */

static int register_confined(const struct source *source, const char *compile)
{
	const struct syscript_options options = {
		.size = sizeof(options), .name = source->name,
		.backend = SYSCRIPT_BACKEND_KERNEL, .engine = SYSCRIPT_LUA_ON_CONFINED,
		.time_limit_ns = TIME_LIMIT,
	};
	char error[256];
	int fd;

	setenv("SYSCRIPT_LUA_COMPILE", compile, 1);
	fd = syscript_register(source->text, source->len, &options, error, sizeof(error));
	if (fd < 0)
		measure_die("Lua on the confined engine: %s", error);
	return fd;
}

static int register_as(size_t way, const struct source *source)
{
	int flags = way == LUAJIT ? SYSCRIPT_NOJIT : 0;

	if (way == INTERPRETED || way == COMPILED)
		return register_confined(source, way == COMPILED ? "yes" : "no");
	return source_register(source, SYSCRIPT_BACKEND_KERNEL, flags, 0, TIME_LIMIT);
}

static double sample_register(size_t way)
{
	uint64_t since = measure_now();
	int fd = register_as(way, &registered);
	double ns = measure_now() - since;

	close(fd);
	return ns;
}

/* -- Samples ------------------------------------------------------------------------- */

static double sample(const struct way *way, size_t step)
{
	uint64_t since = measure_now();

	measure_calls(way, step, COUNT);
	return (double)(measure_now() - since) / COUNT;
}

static double sample_plain(const struct step *step)
{
	uint64_t since = measure_now();

	step->plain(COUNT);
	return (double)(measure_now() - since) / COUNT;
}

static double without_loop(const struct way *way, size_t step)
{
	double ns = sample(way, step);

	return step == LOOP || step == EMPTY_RUN ? ns : ns - sample(way, LOOP);
}

static void measure_step(size_t i)
{
	printf(", \"%s\": {", steps[i].name);
	for (size_t way = 0; way < WAYS; way++)
		printf("%s\"%s\": %.1f", way ? ", " : "", ways[way].name,
		       without_loop(&ways[way], i));
	if (steps[i].plain)
		printf(", \"plain\": %.1f", sample_plain(&steps[i]));
	printf("}");
}

static void measure_round(unsigned int round)
{
	printf("%s\n    {\"register\": {", round ? "," : "");
	for (size_t way = 0; way < WAYS; way++)
		printf("%s\"%s\": %.1f", way ? ", " : "", ways[way].name, sample_register(way));
	printf("}");
	for (size_t i = 0; i < STEPS; i++)
		measure_step(order_at(i, STEPS, round));
	printf("}");
}

static void profile_register(uint64_t count)
{
	sample_register(COMPILED);
	mark_begin();
	while (count--)
		sample_register(COMPILED);
	mark_end();
}

static void profile(const char *name, uint64_t count)
{
	size_t i = 0;

	if (!strcmp(name, "register"))
		return profile_register(count);
	while (i < STEPS && strcmp(steps[i].name, name))
		i++;
	if (i == STEPS)
		measure_die("no step %s", name);
	measure_calls(&ways[COMPILED], i, count);
	mark_begin();
	measure_calls(&ways[COMPILED], i, count);
	mark_end();
}

/* -- All ----------------------------------------------------------------------------- */

static void open_all(void)
{
	const struct source source = { "lua", (char *)script, strlen(script) };

	registered = source_read("scripts/recv_batch.lua");
	for (size_t way = 0; way < WAYS; way++)
		ways[way].fd = register_as(way, &source);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (argc != 3 && !rounds)
		measure_die("usage: lua ROUNDS, or lua STEP COUNT");
	open_all();
	measure_pin(CPU);
	if (argc == 3) {
		profile(argv[1], strtoull(argv[2], NULL, 10));
		return 0;
	}
	for (size_t i = 0; i < STEPS * WAYS; i++)	/* warms up */
		measure_calls(&ways[i % WAYS], i / WAYS, COUNT);
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"rounds\": [",
	       measure_kernel(), measure_accel());
	for (unsigned int i = 0; i < rounds; i++)
		measure_round(i);
	printf("\n  ]\n}\n");
	return 0;
}
