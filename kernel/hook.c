// SPDX-License-Identifier: GPL-2.0
/* See hook.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bottom_half.h>
#include <linux/export.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "clock.h"
#include "compat.h"
#include "hook.h"

/* One call in so many is timed, a power of 2. */
#define TIMED_ONE_IN	64

/* seat_error.end where the engine has nothing to say: the result is out of range. */
#define END_RESULT	(~0U)

/* -- Errors ------------------------------------------------------------------------ */

static void text_of(const struct hook_program *program, struct seat_error error,
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
	program->engine->seat_text(&error, text + at, len - at);
}

/* With no lock held: a console may be on the network, and come to this hook. */
static noinline void tell(const struct hook_program *program, const struct seat_error *error)
{
	/* Without the flag, suppressed lines would be counted at warning level. */
	static struct ratelimit_state ratelimit =
		RATELIMIT_STATE_INIT_FLAGS(ratelimit, DEFAULT_RATELIMIT_INTERVAL,
					   DEFAULT_RATELIMIT_BURST,
					   RATELIMIT_MSG_ON_RELEASE);
	char text[SYSCRIPT_PROGRAM_ERROR_LEN];

	if (!__ratelimit(&ratelimit))
		return;
	text_of(program, *error, text, sizeof(text));
	pr_notice("took off a program after more than %u errors in a second, the last: %s; its name: %s\n",
		  program->errors_max, text, program->program->name);
}

/* Enough of them in a second: from here on the hook has no program.  True: it had. */
static bool take_off(struct syscript_hook *hook, const struct hook_program *program)
{
	struct hook_program **place = (struct hook_program __force **)&hook->program;

	if (cmpxchg(place, (struct hook_program *)program, NULL) != program)
		return false;
	hook->failed = true;
	return true;
}

/* True: it was the last one that @program may have. */
static bool count_error(struct syscript_hook *hook, const struct hook_program *program)
{
	lockdep_assert_held(&hook->lock);
	if (time_after(jiffies, hook->second + HZ)) {
		hook->second = jiffies;
		hook->errors = 0;
	}
	return ++hook->errors > program->errors_max && take_off(hook, program);
}

static noinline void failed(struct syscript_event *event)
{
	struct syscript_hook *hook = event->hook;
	const struct hook_program *program = event->program;
	struct seat_error error = { .end = END_RESULT, .value = event->result };
	bool off;

	if (event->failed)
		program->engine->seat_error(event, &error);
	this_cpu_inc(hook->counters->errors);
	this_cpu_inc(hook->counters->defaults);
	event->result = READ_ONCE(hook->fallback);
	event->failed = true;
	spin_lock(&hook->lock);
	hook->last = error;
	off = count_error(hook, program);
	spin_unlock(&hook->lock);
	if (off)
		tell(program, &error);
}

/* -- Calls ------------------------------------------------------------------------- */

/* In soft interrupts, and where a caller has turned them off, bottom halves are off already. */
static __always_inline void bh_disable(struct syscript_event *event)
{
	event->bh = !softirq_count();
	if (event->bh)
		local_bh_disable();
}

static __always_inline void bh_enable(const struct syscript_event *event)
{
	if (event->bh)
		local_bh_enable();
}

static noinline bool leave_default(struct syscript_hook *hook, struct syscript_event *event)
{
	this_cpu_inc(hook->counters->defaults);
	event->result = READ_ONCE(hook->fallback);
	bh_enable(event);
	return false;
}

bool syscript_hook_begin(struct syscript_hook *hook, struct syscript_event *event)
{
	struct hook_program *program;
	struct seat_head *seat;

	bh_disable(event);
	this_cpu_inc(hook->counters->calls);
	program = rcu_dereference_bh(hook->program);
	if (unlikely(!program || !limits_enabled()))
		return leave_default(hook, event);
	seat = this_cpu_ptr(program->seats);
	if (unlikely(seat->event))
		return leave_default(hook, event);
	seat->event = event;
	event->view = seat->view;
	event->failed = false;
	event->copies = program->copies;
	event->hook = hook;
	event->program = program;
	event->seat = seat;
	return true;
}
EXPORT_SYMBOL_NS_GPL(syscript_hook_begin, COMPAT_NS(SYSCRIPT));

static __always_inline s64 enter(const struct hook_program *program, struct seat_head *seat)
{
	return INDIRECT_CALL_1(program->engine->seat_run, seat_run, seat, program->fuel);
}

static noinline s64 enter_timed(const struct hook_program *program, struct seat_head *seat)
{
	struct hook_counters __percpu *counters = seat->event->hook->counters;
	u64 since = clock_cycles();
	s64 result = enter(program, seat);

	this_cpu_add(counters->time, clock_ns(clock_cycles() - since) * TIMED_ONE_IN);
	return result;
}

s64 syscript_hook_run(struct syscript_event *event)
{
	const struct hook_program *program = event->program;
	struct seat_head *seat = event->seat;

	if (unlikely(!(this_cpu_read(event->hook->counters->calls) % TIMED_ONE_IN)))
		event->result = enter_timed(program, seat);
	else
		event->result = enter(program, seat);
	seat->event = NULL;
	if (unlikely(event->failed || (u64)event->result - program->low > program->span))
		failed(event);
	bh_enable(event);
	return event->result;
}
EXPORT_SYMBOL_NS_GPL(syscript_hook_run, COMPAT_NS(SYSCRIPT));

void *syscript_event_memory(const struct syscript_event *event, s64 address, u32 len)
{
	return INDIRECT_CALL_1(event->program->engine->seat_memory, seat_memory, event,
			       address, len);
}
EXPORT_SYMBOL_NS_GPL(syscript_event_memory, COMPAT_NS(SYSCRIPT));

void syscript_event_charge(const struct syscript_event *event, u32 fuel)
{
	event->program->engine->seat_charge(event, fuel);
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

int hook_init(struct syscript_hook *hook, const struct syscript_embedding *embedding)
{
	hook->counters = alloc_percpu_gfp(struct hook_counters,
					  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!hook->counters)
		return -ENOMEM;
	spin_lock_init(&hook->lock);
	hook->embedding = embedding;
	hook->fallback = embedding->fallback;
	hook->second = jiffies;
	return 0;
}

void hook_exit(struct syscript_hook *hook)
{
	free_percpu(hook->counters);
}

struct hook_program *hook_set(struct syscript_hook *hook, struct hook_program *program)
{
	struct hook_program *old = hook->own;

	spin_lock_bh(&hook->lock);
	hook->own = program;
	hook->failed = false;
	hook->errors = 0;
	hook->second = jiffies;
	hook->last = (struct seat_error){ 0 };
	if (program)
		WRITE_ONCE(hook->fallback, program->fallback);
	rcu_assign_pointer(hook->program, program);
	spin_unlock_bh(&hook->lock);
	return old;
}

void hook_count(const struct syscript_hook *hook, struct hook_counters *sums)
{
	const struct hook_counters *counters;
	unsigned int cpu;

	memset(sums, 0, sizeof(*sums));
	for_each_possible_cpu(cpu) {
		counters = per_cpu_ptr(hook->counters, cpu);
		sums->calls += READ_ONCE(counters->calls);
		sums->errors += READ_ONCE(counters->errors);
		sums->defaults += READ_ONCE(counters->defaults);
		sums->time += READ_ONCE(counters->time);
	}
}

void hook_error(struct syscript_hook *hook, char *text, size_t len)
{
	struct seat_error error;

	spin_lock_bh(&hook->lock);
	error = hook->last;
	spin_unlock_bh(&hook->lock);
	text[0] = '\0';
	if (error.end)
		text_of(hook->own, error, text, len);
}

void hook_program_free(struct hook_program *program)
{
	u32 i;

	if (program->program)
		program_destroy(program->program);
	for (i = 0; i < program->nfunctions; i++)
		module_put(program->owners[i]);
	kvfree(program->lines);
	kfree(program);
}
