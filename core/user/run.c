// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/run.h in a process: begins and ends runs, and frees what they hold. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lock.h"
#include "sys.h"
#include "user/tools.h"
#include "user.h"

/* kernel/arch/x86/stack.S, arch/arm64/stack.S */
long stack_on(long (*fn)(void *), void *arg, void *top, void **home);
void stack_abandon(long ret, void *home) __attribute__((noreturn));

/* Always 0: signals are handled when they come, in the middle of the run. */
int run_pending(struct run *run)
{
	(void)run;
	return 0;
}

/* Clears the state of the last run. */
static void begin_anew(struct run *run)
{
	if (run_stop_passes(run->stop_reason))
		run->stop_reason = 0;
	run->error_len = 0;
	run->error[0] = '\0';
}

long run_script(struct run *run, long (*fn)(void *arg), void *arg, void *stack)
{
	struct run_priv *own = run_priv(run);
	unsigned int depth = signals_open();
	long ret;

	begin_anew(run);
	usermem_forget(run);
	run_begin_time(run);
	if (run->engine->interrupt)
		clock_enter(own);
	if (stack) {
		ret = stack_on(fn, arg, stack, &own->home);
	} else {
		own->home = NULL;
		ret = fn(arg);
	}
	if (run->engine->interrupt)
		clock_leave(own);
	run_end_time(run);
	signals_shut(depth);
	frames_end_run(own->ports, ret >= 0 && !run->stop_reason);
	return ret;
}

void run_abandon(struct run *run, long ret)
{
	stack_abandon(ret, run_priv(run)->home);
}

/* -- Memory and files of a run ----------------------------------------------- */

long run_scratch(struct run *run)
{
	long addr;

	if (run->scratch)
		return run->scratch;
	addr = sys_call(mmap, 0, SCRATCH_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (addr < 0 && addr > -(long)PAGE_SIZE)
		return addr;
	run->scratch = addr;
	return addr;
}

char *run_buffer(struct run *run)
{
	struct run_priv *own = run_priv(run);

	long addr;

	if (own->buffer)
		return own->buffer;
	/* Not malloc(), which a signal handler that calls a script may have interrupted. */
	addr = sys_call(mmap, 0, RUN_BUFFER_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (addr < 0 && addr > -(long)PAGE_SIZE)
		return NULL;
	own->buffer = (char *)addr;
	return own->buffer;
}

struct output *run_output(struct run *run)
{
	struct run_priv *own = run_priv(run);
	long addr;

	if (own->output)
		return own->output;
	/* mmap(2) for the same reason as above. */
	addr = sys_call(mmap, 0, sizeof(struct output), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (addr < 0 && addr > -(long)PAGE_SIZE)
		return NULL;
	own->output = (struct output *)addr;
	return own->output;
}

/* noinline: compilers would warn that members of struct run_priv are not allocated. */
static __attribute__((noinline)) void *allocate(size_t size)
{
	return malloc(size);
}

struct run *run_create(const struct engine_ops *engine)
{
	size_t size = offsetof(struct run_priv, run.output.text) +
		      (engine->prints ? OUTPUT_LEN : 0);
	struct run_priv *own = allocate(size);

	if (!own)
		return NULL;
	memset(own, 0, offsetof(struct run_priv, run.output.text));
	own->run.engine = engine;
	if (engine->prints)
		own->output = &own->run.output;
	if (!clock_add(own)) {
		free(own);
		return NULL;
	}
	tools_written(own, size);
	return &own->run;
}

void run_release(struct run *run)
{
	struct run_priv *own = run_priv(run);

	if (run->scratch)
		sys_call(munmap, run->scratch, SCRATCH_SIZE);
	run->scratch = 0;
	if (own->buffer)
		sys_call(munmap, own->buffer, RUN_BUFFER_SIZE);
	own->buffer = NULL;
	frames_release(own->ports);
	own->ports = NULL;
}

void run_destroy(struct run *run)
{
	struct run_priv *own = run_priv(run);

	run_release(run);
	clock_del(own);
	if (own->output && own->output != &run->output)
		sys_call(munmap, own->output, sizeof(*own->output));
	free(own);
}
