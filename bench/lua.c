// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of single steps of Lua on the confined engine, interpreted and compiled, compared with
 * LuaJIT's interpreter and, for system calls, with plain ones.
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
	"local steps = {\n"
	"  function(n) for i = 1, n do end end,\n"
	"  function(n) local s = s for i = 1, n do s = s + i end end,\n"
	"  function(n) local f = f for i = 1, n do f() end end,\n"
	"  function(n) local peek, b = peek, b for i = 1, n do peek(b) end end,\n"
	"  function(n) local v = view for i = 1, n do local len = v[i % 16 + 1].len end end,\n"
	"  function(n) local s, t = s, t for i = 1, n do s = s + t[3] end end,\n"
	"  function(n) local pcall, f = pcall, f for i = 1, n do pcall(f) end end,\n"
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
	{ "getppid", plain_getppid }, { "lseek", plain_lseek }, { .name = "empty_run" },
};

#define STEPS		(sizeof(steps) / sizeof(steps[0]))
#define LOOP		0
#define EMPTY_RUN	(STEPS - 1)

static int luajit, interpreted, compiled;
static struct source registered;

/* -- Ways -------------------------------------------------------------------------- */

static void call_interpreted(unsigned int nargs, const int64_t *args)
{
	int ret = syscript_call(interpreted, nargs, args, 0, NULL);

	if (ret < 0)
		measure_die("Lua, interpreted: %s", syscript_strerror(ret));
}

static void call_compiled(unsigned int nargs, const int64_t *args)
{
	int ret = syscript_call(compiled, nargs, args, 0, NULL);

	if (ret < 0)
		measure_die("Lua, compiled: %s", syscript_strerror(ret));
}

static void call_luajit(unsigned int nargs, const int64_t *args)
{
	int ret = syscript_call(luajit, nargs, args, 0, NULL);

	if (ret < 0)
		measure_die("LuaJIT's engine: %s", syscript_strerror(ret));
}

typedef void caller(unsigned int nargs, const int64_t *args);

static void measure_calls(caller *call, size_t step, uint64_t count)
{
	const int64_t args[] = { (int64_t)step + 1, (int64_t)count };

	if (step != EMPTY_RUN)
		return call(2, args);
	while (count--)
		call(0, NULL);
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

static int register_luajit(const struct source *source)
{
	return source_register(source, SYSCRIPT_BACKEND_KERNEL, SYSCRIPT_NOJIT, 0, TIME_LIMIT);
}

static double sample_register(const char *compile)
{
	uint64_t since = measure_now();
	int fd = compile ? register_confined(&registered, compile) : register_luajit(&registered);
	double ns = measure_now() - since;

	close(fd);
	return ns;
}

/* -- Samples ------------------------------------------------------------------------- */

static double sample(caller *call, size_t step)
{
	uint64_t since = measure_now();

	measure_calls(call, step, COUNT);
	return (double)(measure_now() - since) / COUNT;
}

static double sample_plain(const struct step *step)
{
	uint64_t since = measure_now();

	step->plain(COUNT);
	return (double)(measure_now() - since) / COUNT;
}

static double without_loop(caller *call, size_t step)
{
	double ns = sample(call, step);

	return step == LOOP || step == EMPTY_RUN ? ns : ns - sample(call, LOOP);
}

static void measure_step(size_t i)
{
	printf("\"%s\": {\"luajit\": %.1f, \"interpreted\": %.1f, \"compiled\": %.1f", steps[i].name,
	       without_loop(call_luajit, i), without_loop(call_interpreted, i),
	       without_loop(call_compiled, i));
	if (steps[i].plain)
		printf(", \"plain\": %.1f", sample_plain(&steps[i]));
	printf("}");
}

static void measure_round(unsigned int round)
{
	printf("%s\n    {\"register\": {\"luajit\": %.1f, \"interpreted\": %.1f, \"compiled\": %.1f}, ",
	       round ? "," : "", sample_register(NULL), sample_register("no"),
	       sample_register("yes"));
	for (size_t i = 0; i < STEPS; i++) {
		printf("%s", i ? ", " : "");
		measure_step(order_at(i, STEPS, round));
	}
	printf("}");
}

static void profile_register(uint64_t count)
{
	sample_register("yes");
	mark_begin();
	while (count--)
		sample_register("yes");
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
	measure_calls(call_compiled, i, count);
	mark_begin();
	measure_calls(call_compiled, i, count);
	mark_end();
}

/* -- All ----------------------------------------------------------------------------- */

static void open_all(void)
{
	const struct source source = { "lua", (char *)script, strlen(script) };

	registered = source_read("scripts/recv_batch.lua");
	luajit = register_luajit(&source);
	interpreted = register_confined(&source, "no");
	compiled = register_confined(&source, "yes");
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
	for (size_t i = 0; i < STEPS; i++) {	/* warms up */
		measure_calls(call_interpreted, i, COUNT);
		measure_calls(call_compiled, i, COUNT);
		measure_calls(call_luajit, i, COUNT);
	}
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"rounds\": [",
	       measure_kernel(), measure_accel());
	for (unsigned int i = 0; i < rounds; i++)
		measure_round(i);
	printf("\n  ]\n}\n");
	return 0;
}
