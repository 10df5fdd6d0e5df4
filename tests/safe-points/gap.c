// SPDX-License-Identifier: GPL-2.0
/*
 * LuaJIT in the kernel keeps others from its CPU until its next safe point, so a function of C
 * that goes on for long without one delays them.
 *
 * This program calls run() of the script that it reads on standard input, on LuaJIT in the process,
 * with the addresses of a mark and of MEMORY bytes.  From util.peek(mark) on every safe point polls:
 * the linker puts the functions below around those of the core.  It prints the longest CPU time
 * between two safe points in ns, run()'s result and its error.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include "engine.h"
#include "run.h"
#include "syscript.h"

/* Long enough for each kind of work to be seen: what repeats it does nothing else. */
#define ENOUGH 400000000L /* ns */
#define MEMORY (16UL << 20)
#define SECOND 1000000000UL

void __real_run_poll(struct run *run);
void __wrap_run_poll(struct run *run);
int __real_usermem_load(struct run *run, unsigned long long *v, unsigned long from,
			unsigned int size);
int __wrap_usermem_load(struct run *run, unsigned long long *v, unsigned long from,
			unsigned int size);

static const char mark[8];
static long began, last, longest;

static long cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * (long)SECOND + now.tv_nsec;
}

static void see_safe_point(void)
{
	long now = cpu_time();

	if (now - last > longest)
		longest = now - last;
}

void __wrap_run_poll(struct run *run)
{
	if (last) {
		see_safe_point();
		if (last - began > ENOUGH)
			run_stop(run, -ETIME);
	}
	__real_run_poll(run);
	if (last) {
		run->engine->interrupt(run->vm);
		last = cpu_time();
	}
}

/* What the script does before it looks at the mark is not measured. */
int __wrap_usermem_load(struct run *run, unsigned long long *v, unsigned long from,
			unsigned int size)
{
	if (from == (unsigned long)mark) {
		run->engine->interrupt(run->vm);
		began = last = cpu_time();
	}
	return __real_usermem_load(run, v, from, size);
}

int main(void)
{
	struct syscript_options options = {
		.size = sizeof(options),
		.name = "script",
		.backend = SYSCRIPT_BACKEND_USER,
		.engine = SYSCRIPT_LUA_ON_LUAJIT,
		.memory_limit = MEMORY,
		.time_limit_ns = 10 * SECOND,
		.wall_limit_ns = 10 * SECOND,
	};
	static char source[65536], error[256], memory[MEMORY];
	size_t len = fread(source, 1, sizeof(source), stdin);
	int fd = syscript_register(source, len, &options, error, sizeof(error));
	long result;

	if (fd < 0) {
		printf("refused %s\n", error);
		return 0;
	}
	result = lua_syscall(fd, 2, (long)mark, (long)memory);
	see_safe_point();
	if (result < 0 && syscript_error(fd, error, sizeof(error)) < 0)
		error[0] = '\0';
	printf("%ld %ld %s\n", longest, result, error);
	return 0;
}
