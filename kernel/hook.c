// SPDX-License-Identifier: GPL-2.0
/*
 * Calls programs at the hooks of subsystems, in interrupts and softirqs.  A call must not wait,
 * and must not flood the log: errors are counted per second under a spinlock, and a program with
 * too many is taken off its hook.  Replaced programs are freed after synchronize_net().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bottom_half.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "compat.h"
#include "cycles.h"
#include "hook.h"
#include "prog_state.h"

static_assert(!offsetof(struct syscript_hook, called));

/* ctx_error.end if the engine reports no error: the result is out of range. */
#define END_RESULT	(~0U)

/* -- Errors ------------------------------------------------------------------------ */

static void text_of(const struct hook_program *program, struct ctx_error error,
		    char *text, size_t len)
{
	size_t at = 0;

	if (error.end == END_RESULT) {
		scnprintf(text, len, "returns %lld, which is not in %lld .. %lld",
			  (s64)error.value, program->low,
			  (s64)(program->low + program->span));
		return;
	}
	if (error.pc < program->nlines)
		error.line = program->lines[error.pc];
	if (error.line)
		at = scnprintf(text, len, "%s:", program->program->name);
	program->engine->ctx_text(&error, text + at, len - at);
}

/* Called without locks: a console may be on the network, and printing reach this hook. */
static noinline void hook_tell(const struct hook_program *program, const struct ctx_error *error)
{
	char text[SYSCRIPT_PROGRAM_ERROR_LEN];

	if (!limits_may_notice(limits_uid_of(program->program->account)))
		return;
	text_of(program, *error, text, sizeof(text));
	pr_notice("took off a program after more than %u errors in a second, the last: %s; its name: %s\n",
		  program->errors_max, text, program->program->name);
}

/*
 * Takes a program with too many errors in a second off the hook. Returns true if the hook had
 * this program.
 */
static bool take_off(struct syscript_hook *hook, struct hook_program *program)
{
	struct syscript_percpu_ctx __percpu *ctxs = program->ctxs;

	if (cmpxchg(&hook->called.ctxs, ctxs, NULL) != ctxs)
		return false;
	program->failed = true;
	return true;
}

/* Returns true if this error was the last that @program may make. */
static bool count_error(struct syscript_hook *hook, struct hook_program *program)
{
	lockdep_assert_held(&hook->lock);
	if (time_after(jiffies, program->second + HZ)) {
		program->second = jiffies;
		program->errors = 0;
	}
	return ++program->errors > program->errors_max && take_off(hook, program);
}

s64 syscript_hook_failed(struct syscript_event *event, s64 result)
{
	struct syscript_percpu_ctx *ctx = event->ctx;
	struct hook_program *program = ctx->program;
	struct syscript_hook *hook = ctx->hook;
	struct ctx_error error = { .end = END_RESULT, .value = result };
	bool off;

	program->engine->ctx_error(ctx, &error);
	ctx->counters->errors++;
	ctx->counters->defaults++;
	event->rare |= SYSCRIPT_EVENT_FAILED;
	spin_lock(&hook->lock);
	program->last = error;
	off = count_error(hook, program);
	spin_unlock(&hook->lock);
	if (off)
		hook_tell(program, &error);
	return program->fallback;
}
EXPORT_SYMBOL_NS_GPL(syscript_hook_failed, COMPAT_NS(SYSCRIPT));

/* -- Calls ------------------------------------------------------------------------- */

/* In stubs.S. Declared here only: C cannot call it. */
EXPORT_SYMBOL_NS_GPL(syscript_ctx_run, COMPAT_NS(SYSCRIPT));

bool syscript_hook_default(struct syscript_hook *hook, struct syscript_event *event)
{
	this_cpu_inc(hook->counters->calls);
	this_cpu_inc(hook->counters->defaults);
	event->result = READ_ONCE(hook->fallback);
	if (event->rare & SYSCRIPT_EVENT_BH)
		local_bh_enable();
	return false;
}
EXPORT_SYMBOL_NS_GPL(syscript_hook_default, COMPAT_NS(SYSCRIPT));

/*
 * hook_count() reads @untimed as 0 while the two counters are being changed:
 * tests/litmus/hook-counters.litmus.
 */
static void count_calls(struct syscript_counters *counters)
{
	smp_wmb();
	WRITE_ONCE(counters->calls, counters->calls + SYSCRIPT_TIMED_ONE_IN);
	smp_store_release(&counters->untimed, SYSCRIPT_TIMED_ONE_IN);
}

/*
 * Not inlined: the compiler gives a function that reads the clock a frame pointer, and a run does
 * not preserve that register.
 */
static noinline s64 hook_run(struct syscript_percpu_ctx *ctx)
{
	return syscript_ctx_run_here(ctx);
}

s64 syscript_ctx_run_timed(struct syscript_percpu_ctx *ctx)
{
	struct syscript_counters *counters = ctx->counters;
	u64 since;
	s64 result;

	count_calls(counters);
	since = cycles_now();
	result = hook_run(ctx);
	counters->time += cycles_ns(cycles_now() - since) * SYSCRIPT_TIMED_ONE_IN;
	return result;
}
EXPORT_SYMBOL_NS_GPL(syscript_ctx_run_timed, COMPAT_NS(SYSCRIPT));

void *syscript_event_memory(const struct syscript_event *event, s64 address, u32 len)
{
	const struct syscript_percpu_ctx *ctx = event->ctx;
	u64 offset = address & ctx->mask;

	return len <= ctx->mask + 1 - offset ? ctx->base + offset : NULL;
}
EXPORT_SYMBOL_NS_GPL(syscript_event_memory, COMPAT_NS(SYSCRIPT));

void syscript_event_charge(const struct syscript_event *event, u32 fuel)
{
	*event->ctx->fuel -= fuel;
}
EXPORT_SYMBOL_NS_GPL(syscript_event_charge, COMPAT_NS(SYSCRIPT));

void *syscript_hook_private(const struct syscript_hook *hook)
{
	return hook->private;
}
EXPORT_SYMBOL_NS_GPL(syscript_hook_private, COMPAT_NS(SYSCRIPT));

void syscript_hook_set_private(struct syscript_hook *hook, void *private)
{
	hook->private = private;
}
EXPORT_SYMBOL_NS_GPL(syscript_hook_set_private, COMPAT_NS(SYSCRIPT));

/* -- Hooks ------------------------------------------------------------------------- */

int hook_init(struct syscript_hook *hook, const struct syscript_prog_type *prog_type)
{
	unsigned int cpu;

	hook->counters = alloc_percpu_gfp(struct syscript_counters,
					  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!hook->counters)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(hook->counters, cpu)->untimed = SYSCRIPT_TIMED_ONE_IN;
	spin_lock_init(&hook->lock);
	hook->prog_type = prog_type;
	hook->fallback = prog_type->fallback;
	return 0;
}

void hook_exit(struct syscript_hook *hook)
{
	free_percpu(hook->counters);
}

/* Gives the hook the per-CPU state that calls use. */
static void set_seats(struct syscript_hook *hook, const struct hook_program *program)
{
	struct syscript_percpu_ctx *ctx;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		ctx = per_cpu_ptr(program->ctxs, cpu);
		ctx->sees = program->sees;
		ctx->copies = program->copies;
		ctx->low = program->low;
		ctx->span = program->span;
		ctx->counters = per_cpu_ptr(hook->counters, cpu);
		ctx->hook = hook;
	}
}

struct hook_program *hook_set(struct syscript_hook *hook, struct hook_program *program)
{
	struct hook_program *old = hook->own;

	if (program) {
		set_seats(hook, program);
		program->second = jiffies;
	}
	spin_lock_bh(&hook->lock);
	hook->own = program;
	if (program)
		WRITE_ONCE(hook->fallback, program->fallback);
	/* For calls, which depend on the pointer: tests/litmus/hook-publish.litmus. */
	smp_store_release(&hook->called.ctxs, program ? program->ctxs : NULL);
	spin_unlock_bh(&hook->lock);
	return old;
}

/* @untimed calls are included. */
static u64 calls_of(const struct syscript_counters *counters)
{
	u64 calls;
	u32 untimed;

	do {
		calls = READ_ONCE(counters->calls);
		smp_rmb();
		untimed = READ_ONCE(counters->untimed);
		smp_rmb();
	} while (!untimed || calls != READ_ONCE(counters->calls));
	return calls + SYSCRIPT_TIMED_ONE_IN - untimed;
}

void hook_count(const struct syscript_hook *hook, struct syscript_counters *sums)
{
	const struct syscript_counters *counters;
	unsigned int cpu;

	memset(sums, 0, sizeof(*sums));
	for_each_possible_cpu(cpu) {
		counters = per_cpu_ptr(hook->counters, cpu);
		sums->calls += calls_of(counters);
		sums->errors += READ_ONCE(counters->errors);
		sums->defaults += READ_ONCE(counters->defaults);
		sums->time += READ_ONCE(counters->time);
	}
}

void hook_error(struct syscript_hook *hook, char *text, size_t len)
{
	const struct hook_program *program;
	struct ctx_error error;

	spin_lock_bh(&hook->lock);
	program = hook->own;
	error = program->last;
	spin_unlock_bh(&hook->lock);
	text[0] = '\0';
	if (error.end)
		text_of(program, error, text, len);
}

void hook_program_free(struct hook_program *program)
{
	u32 i;

	if (program->program)
		program_destroy(program->program);
	for (i = 0; i < program->nfunctions; i++)
		module_put(program->owners[i]);
	for (i = 0; i < program->nstates; i++)
		prog_state_put(program->states[i]);
	kvfree(program->lines);
	kfree(program);
}
