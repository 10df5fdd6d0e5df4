/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface for modules whose subsystems call programs. syscript.ko exports these functions,
 * GPL, in the namespace SYSCRIPT.
 *
 * A module registers a program type, which says what its programs see, what they may return and
 * call, and how they are attached to an attach point.  A user loads a program for it, by name
 * (`syscript load NAME FILE --for SUBSYSTEM --at WHERE`); from then on the program type calls the
 * hook that it was given:
 *
 *	struct syscript_event event;
 *
 *	if (!syscript_hook_begin(hook, &event))
 *		return (the default) event.result;
 *	(fill in syscript_event_view(&event))
 *	return syscript_hook_run(&event);
 *
 * If a program fails, exceeds its budget, or is missing at the moment, the default is used,
 * without work of the program type.
 *
 * A module may also register a library: functions that programs of any subsystem call.
 *
 * syscript_program(9) is the manual, and examples/embedding/template.c a module to begin
 * with.  It is built against this header and the module's Module.symvers.
 */
#ifndef _LINUX_SYSCRIPT_PROGRAM_H
#define _LINUX_SYSCRIPT_PROGRAM_H

#include <linux/bits.h>
#include <linux/bottom_half.h>
#include <linux/compiler.h>
#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>
#include <linux/version.h>
#ifdef CONFIG_X86_64
#include <linux/syscript_percpu_x86.h>
#else
#include <linux/syscript_percpu.h>
#endif

/* For modules: MODULE_IMPORT_NS(SYSCRIPT_NAMESPACE) */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define SYSCRIPT_NAMESPACE	"SYSCRIPT"
#else
#define SYSCRIPT_NAMESPACE	SYSCRIPT
#endif

struct hook_program;
struct module;
struct net;
struct syscript_hook;
struct syscript_percpu_ctx;

/**
 * struct syscript_event - one call, on the caller's stack
 * @result: the program's result, or the default
 * @rare:   SYSCRIPT_EVENT_*
 * @ctx:   not for program types
 */
struct syscript_event {
	s64 result;
	u8 rare;
	struct syscript_percpu_ctx *ctx;
};

/* After run(): the program has failed, and the result is the default. */
#define SYSCRIPT_EVENT_FAILED	(1U << 0)
/* For the program type: its functions have left work to be done after run(). */
#define SYSCRIPT_EVENT_OWN	(1U << 1)
/* Not for program types: bottom halves were on. */
#define SYSCRIPT_EVENT_BH	(1U << 2)

/**
 * struct syscript_function - a function that a program may call
 * @name: the name by which programs call it
 * @fn:   @args are its five arguments.  It is called with bottom halves off: it does
 *        not sleep, and causes no packet or other event that might call the
 *        same hook on this CPU (such a call gets the default)
 */
struct syscript_function {
	const char *name;
	s64 (*fn)(struct syscript_event *event, const s64 *args);
};

/* Contexts of functions. Programs for subsystems are called in SYSCRIPT_IN_ATOMIC. */
#define SYSCRIPT_IN_PROCESS	(1U << 0)	/* may sleep */
#define SYSCRIPT_IN_ATOMIC	(1U << 1)	/* bottom halves off, in the context of any task */

/* syscript_library.capability: any user who may load a program may call them. */
#define SYSCRIPT_NO_CAPABILITY	(-1)

/**
 * struct syscript_library - functions for programs of all subsystems
 * @name:       programs call its functions NAME_FUNCTION
 * @owner:      its module, which cannot be unloaded while programs use its functions
 * @contexts:   SYSCRIPT_IN_*: contexts in which they may be called. If they may sleep, programs
 *              for subsystems that call one cannot be loaded
 * @capability: CAP_*: the capability, in the initial user namespace, that is needed to load a
 *              program which calls one; or SYSCRIPT_NO_CAPABILITY: owners of network namespaces
 *              may load such programs, too
 * @functions:  array that ends with a name of NULL
 */
struct syscript_library {
	const char *name;
	struct module *owner;
	unsigned int contexts;
	int capability;
	const struct syscript_function *functions;
};

/* Returns 0, -EEXIST or -ENOMEM. The module must unregister it before it is unloaded. */
int syscript_library_register(const struct syscript_library *library);
void syscript_library_unregister(const struct syscript_library *library);

/**
 * struct syscript_prog_type - a subsystem that calls programs
 * @name:      the name for --for
 * @owner:     its module, which cannot be unloaded while it has programs
 * @of_net:    programs belong to a network namespace, and loading them needs CAP_NET_ADMIN over
 *             it; otherwise they belong to the machine, which needs CAP_SYS_ADMIN
 * @view_size: bytes of syscript_event_view() that are always present
 * @copy_max:  bytes after these that a program may ask for
 * @fuel:      of one call (engine/confined/machine.h): a unit is 50 ns at most
 * @errors_max: after this many errors in a second a program is no longer called, unless
 *             the loader gives another number; 0: SYSCRIPT_ERRORS_DEFAULT
 * @low, @high: results outside of this range are errors
 * @fallback:  the default, unless the loader gives another one
 * @functions: functions that programs may call besides tables (uapi/syscript_table.h), an array
 *             that ends with a name of NULL; or NULL
 * @attach:    called in process context. @where: the text after --at, in @net, or NULL for the
 *             machine. From now on the program type calls @hook. Returns 0, or -errno with the
 *             reason in @error. @net stays valid until @detach without a reference
 * @detach:    after its return no call begins; calls under way may continue until the
 *             next synchronize_net()
 * @gone:      or NULL. Returns true if the attach point has gone by itself, for example with its
 *             device. The program is then listed as detached; when it is loaded again, @detach
 *             and @attach follow. If that @attach fails, @gone and @detach are called once more.
 *             Must not sleep; is not called during @attach and @detach
 */
struct syscript_prog_type {
	const char *name;
	struct module *owner;
	bool of_net;
	u32 view_size, copy_max, fuel, errors_max;
	s64 low, high, fallback;
	const struct syscript_function *functions;
	int (*attach)(struct syscript_hook *hook, struct net *net, const char *where,
		      char *error, size_t len);
	void (*detach)(struct syscript_hook *hook);
	bool (*gone)(const struct syscript_hook *hook);
};

/*
 * Returns 0, -EEXIST or -ENOMEM. The module must unregister the program type before it is unloaded,
 * when no program is left. Unregistering a program type that is not registered does nothing.
 */
int syscript_prog_type_register(const struct syscript_prog_type *prog_type);
void syscript_prog_type_unregister(const struct syscript_prog_type *prog_type);

/*
 * Call the hook's program, in any context except hard interrupts. begin() returns false, with the
 * default in event->result, if there is nothing to call; otherwise bottom halves are off until
 * run(), which must follow at once and returns event->result. Both are inline functions at the
 * end of this header.
 */
static __always_inline bool syscript_hook_begin(struct syscript_hook *hook,
						struct syscript_event *event);
static __always_inline s64 syscript_hook_run(struct syscript_event *event);

/*
 * syscript_hook_run() in two steps. end() checks the result of the first step, and returns it or
 * the default. A program type may skip end() if event->rare is 0 and it accepts the result.
 */
static __always_inline s64 syscript_hook_run_program(struct syscript_event *event);
static __always_inline s64 syscript_hook_end(struct syscript_event *event, s64 result);

/*
 * Between begin() and run(): the program's view, of syscript_prog_type.view_size bytes plus the
 * bytes that the program asked for. Not zeroed: it may contain data of the same program's earlier
 * calls.
 */
static __always_inline void *syscript_event_view(const struct syscript_event *event);

/* Between begin() and run(): number of bytes after view_size that the program asked for. */
static __always_inline u32 syscript_event_copies(const struct syscript_event *event);

/*
 * Between begin() and run(): does the program read any of the @len bytes at @offset of the view?
 * Other bytes need not be filled in. All bytes from 252 on count as one.
 */
static __always_inline bool syscript_event_sees(const struct syscript_event *event,
						u32 offset, u32 len);

/* The private data that attach() has set for itself. */
void syscript_hook_set_private(struct syscript_hook *hook, void *private);
void *syscript_hook_private(const struct syscript_hook *hook);

/*
 * For functions: @len bytes of the program's memory at @address, an argument of the function, or
 * NULL if they are outside. Other CPUs may write there at any time.
 */
void *syscript_event_memory(const struct syscript_event *event, s64 address, u32 len);

/* For functions: charges their work to the program's fuel, besides the call itself. */
void syscript_event_charge(const struct syscript_event *event, u32 fuel);

/* -- Not for program types: how calls are made ---------------------------------------- */

/* One call in this number is timed. */
#define SYSCRIPT_TIMED_ONE_IN	64

/**
 * struct syscript_counters - counters of a hook, on one CPU
 * @untimed: calls left until one is timed; only then @calls is updated
 * @time:    ns, extrapolated from timed calls
 */
struct syscript_counters {
	u32 untimed;
	u64 calls, errors, defaults, time;
};

/**
 * struct syscript_percpu_ctx - per-CPU state for calls of a program
 * @event:    the current call, or NULL
 * @view:     the memory that the subsystem fills in for the program
 * @sees:     bit i: the program reads some of the view's 4 bytes from 4 * i on; bit 63: some of
 *            all bytes from 252 on
 * @copies:   bytes after view_size that the program asked for
 * @low, @span: results from @low to @low + @span are valid, which excludes S64_MIN, the result of
 *              syscript_ctx_run() for a failed program
 * @counters: counters of @hook on this CPU
 * @base, @mask: the program's memory: its address, and its size - 1
 * @fuel:     fuel that the call has left
 */
struct syscript_percpu_ctx {
	struct syscript_event *event;
	void *view;
	u64 sees;
	u32 copies;
	s64 low;
	u64 span;
	struct syscript_counters *counters;
	struct syscript_hook *hook;
	struct hook_program *program;
	void *base;
	u64 mask;
	s64 *fuel;
};

/* The beginning of a hook. @ctxs: its program's, replaced by one store; NULL: no program. */
struct syscript_hook_ctxs {
	struct syscript_percpu_ctx __percpu *ctxs;
};

/* The module's parameter. */
DECLARE_STATIC_KEY_TRUE(syscript_enabled);

bool syscript_hook_default(struct syscript_hook *hook, struct syscript_event *event);
s64 syscript_ctx_run_timed(struct syscript_percpu_ctx *ctx);
s64 syscript_hook_failed(struct syscript_event *event, s64 result);

static __always_inline bool syscript_hook_begin(struct syscript_hook *hook,
						struct syscript_event *event)
{
	struct syscript_percpu_ctx __percpu *ctxs;
	struct syscript_percpu_ctx *ctx;

	event->rare = 0;
	/*
	 * In softirqs, and after local_bh_disable() by the caller, bottom halves are already off.
	 */
	if (unlikely(!softirq_count())) {
		event->rare = SYSCRIPT_EVENT_BH;
		local_bh_disable();
	}
	/* As rcu_dereference_bh() does. */
	ctxs = READ_ONCE(((struct syscript_hook_ctxs *)hook)->ctxs);
	if (unlikely(!ctxs) || !static_branch_likely(&syscript_enabled))
		return syscript_hook_default(hook, event);
	ctx = this_cpu_ptr(ctxs);
	if (unlikely(ctx->event))
		return syscript_hook_default(hook, event);
	ctx->event = event;
	event->ctx = ctx;
	return true;
}

static __always_inline s64 syscript_hook_run_program(struct syscript_event *event)
{
	struct syscript_percpu_ctx *ctx = event->ctx;

	if (unlikely(syscript_count_down(&ctx->counters->untimed)))
		return syscript_ctx_run_timed(ctx);
	return syscript_ctx_run_here(ctx);
}

static __always_inline s64 syscript_hook_end(struct syscript_event *event, s64 result)
{
	const struct syscript_percpu_ctx *ctx = event->ctx;

	if (unlikely((u64)result - ctx->low > ctx->span))
		result = syscript_hook_failed(event, result);
	event->result = result;
	if (event->rare & SYSCRIPT_EVENT_BH)
		local_bh_enable();
	return result;
}

static __always_inline s64 syscript_hook_run(struct syscript_event *event)
{
	return syscript_hook_end(event, syscript_hook_run_program(event));
}

static __always_inline void *syscript_event_view(const struct syscript_event *event)
{
	return event->ctx->view;
}

static __always_inline u32 syscript_event_copies(const struct syscript_event *event)
{
	return event->ctx->copies;
}

static __always_inline bool syscript_event_sees(const struct syscript_event *event,
						u32 offset, u32 len)
{
	u32 first = min_t(u32, offset / 4, 63), last = min_t(u32, (offset + len - 1) / 4, 63);

	return event->ctx->sees & GENMASK_ULL(last, first);
}

#endif /* _LINUX_SYSCRIPT_PROGRAM_H */
