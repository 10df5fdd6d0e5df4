/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs for subsystems of the kernel: for modules that call them.  syscript.ko
 * exports what is declared here, GPL, in the namespace SYSCRIPT.
 *
 * A module registers an embedding: what its programs see, what they may return and
 * call, and how they are attached to a place.  A user loads a program for it, by name
 * (`syscript load NAME FILE --for EMBEDDING --at WHERE`); from then on the embedding
 * calls the hook that it was given:
 *
 *	struct syscript_event event;
 *
 *	if (!syscript_hook_begin(hook, &event))
 *		return (the default) event.result;
 *	(fill in syscript_event_view(&event))
 *	return syscript_hook_run(&event);
 *
 * If a program fails, exceeds its budget, or is missing at the moment, the default is
 * used: the embedding need not care.
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
#include <linux/syscript_seat_x86.h>
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
struct syscript_seat;

/**
 * struct syscript_event - one call, on the caller's stack
 * @result: the program's, or the default
 * @rare:   SYSCRIPT_EVENT_*
 * @seat:   not for embeddings
 */
struct syscript_event {
	s64 result;
	u8 rare;
	struct syscript_seat *seat;
};

/* After run: the program has failed, and the result is the default. */
#define SYSCRIPT_EVENT_FAILED	(1U << 0)
/* For the embedding, whose functions may have left something to be done after run. */
#define SYSCRIPT_EVENT_OWN	(1U << 1)
/* Not for embeddings: bottom halves were on. */
#define SYSCRIPT_EVENT_BH	(1U << 2)

/**
 * struct syscript_function - what a program may call
 * @name: by which programs call it
 * @fn:   @args are its five arguments.  It is called with bottom halves off: it does
 *        not sleep, and causes no packet or other event that might call the
 *        same hook on this CPU (such a call gets the default)
 */
struct syscript_function {
	const char *name;
	s64 (*fn)(struct syscript_event *event, const s64 *args);
};

/* Contexts of functions.  Programs for subsystems are called in the second. */
#define SYSCRIPT_IN_PROCESS	(1U << 0)	/* may sleep */
#define SYSCRIPT_IN_ATOMIC	(1U << 1)	/* bottom halves off, in any task's place */

/* syscript_library.capability: any user who may load a program may call them. */
#define SYSCRIPT_NO_CAPABILITY	(-1)

/**
 * struct syscript_library - functions for programs of all subsystems
 * @name:       programs call its functions NAME_FUNCTION
 * @owner:      its module, which cannot be unloaded while programs use its functions
 * @contexts:   where they may be called: SYSCRIPT_IN_*.  If they sleep, no program
 *              for a subsystem that calls one can be loaded
 * @capability: that loading a program which calls one needs, in the initial user
 *              namespace: CAP_*; or SYSCRIPT_NO_CAPABILITY, also for the owners of network
 *              namespaces of their own
 * @functions:  the last with a name of NULL
 */
struct syscript_library {
	const char *name;
	struct module *owner;
	unsigned int contexts;
	int capability;
	const struct syscript_function *functions;
};

/* 0, -EEXIST or -ENOMEM.  As for embeddings: unregister it before the module is unloaded. */
int syscript_library_register(const struct syscript_library *library);
void syscript_library_unregister(const struct syscript_library *library);

/**
 * struct syscript_embedding - a subsystem that calls programs
 * @name:      as in --for
 * @owner:     its module, which cannot be unloaded while it has programs
 * @of_net:    programs belong to a network namespace, and loading them needs
 *             CAP_NET_ADMIN over it; else to the machine, which needs CAP_SYS_ADMIN
 * @view_size: bytes of syscript_event_view(), always
 * @copy_max:  bytes after these that a program may ask for
 * @fuel:      of one call (engine/confined/machine.h): a unit is 50 ns at most
 * @errors_max: after this many errors in a second a program is no longer called, unless
 *             the loader gives another number; 0: SYSCRIPT_ERRORS_DEFAULT
 * @low, @high: results beyond are errors
 * @fallback:  the default, unless the loader gives another one
 * @functions: that programs may call besides tables (uapi/syscript_table.h), the last with
 *             a name of NULL; or NULL
 * @attach:    in process context.  @where: text after --at; in @net, or NULL for the
 *             machine.  From now on the embedding calls @hook.  0, or -errno with the
 *             reason in @error.  @net stays until @detach; do not hold it
 * @detach:    after its return no call begins; calls under way may continue until the
 *             next synchronize_net()
 * @gone:      or NULL.  True: the hook's place has ended by itself, as one at a device does.
 *             The program is listed as such; when it is loaded again, @detach and @attach
 *             follow.  If that @attach fails, @gone and @detach are called once more.
 *             It must not sleep, and is not called during @attach and @detach
 */
struct syscript_embedding {
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
 * 0, -EEXIST or -ENOMEM.  Before it goes, the module unregisters it: no program is left
 * then.  One that is not registered is left alone.
 */
int syscript_embedding_register(const struct syscript_embedding *embedding);
void syscript_embedding_unregister(const struct syscript_embedding *embedding);

/*
 * Calls of a hook, in any context but that of hard interrupts.  begin() returns false
 * with the default in event->result; else bottom halves are off until run(), which
 * follows at once and returns event->result.  They are at the end of this header.
 */
static __always_inline bool syscript_hook_begin(struct syscript_hook *hook,
						struct syscript_event *event);
static __always_inline s64 syscript_hook_run(struct syscript_event *event);

/*
 * run() in two steps.  end() checks the first one's result, and returns that or the
 * default; an embedding may leave it out where event->rare is 0 and the result is one that
 * it allows.
 */
static __always_inline s64 syscript_hook_run_program(struct syscript_event *event);
static __always_inline s64 syscript_hook_end(struct syscript_event *event, s64 result);

/*
 * Between begin and run: what the program sees, syscript_embedding.view_size bytes and as
 * many after these as it asked for.  Not zeroed: earlier contents are the program's own.
 */
static __always_inline void *syscript_event_view(const struct syscript_event *event);

/* Between them: bytes after view_size that the program wants. */
static __always_inline u32 syscript_event_copies(const struct syscript_event *event);

/*
 * Between them: does the program read any of the @len bytes at @offset of the view?  What
 * it does not read, with what lies beyond 252, need not be filled in.
 */
static __always_inline bool syscript_event_sees(const struct syscript_event *event,
						u32 offset, u32 len);

/* What attach() has set for itself. */
void syscript_hook_set_private(struct syscript_hook *hook, void *private);
void *syscript_hook_private(const struct syscript_hook *hook);

/*
 * For functions: @len bytes of the program's memory at @address, which is an argument,
 * or NULL if it has no such bytes.  Other CPUs may write there at any time.
 */
void *syscript_event_memory(const struct syscript_event *event, s64 address, u32 len);

/* For functions: their work, in the program's fuel, besides the call itself. */
void syscript_event_charge(const struct syscript_event *event, u32 fuel);

/* -- Not for embeddings: how calls are made ---------------------------------------- */

/* One call in so many is timed. */
#define SYSCRIPT_TIMED_ONE_IN	64

/**
 * struct syscript_counters - of a hook, on one CPU
 * @untimed: calls until one is timed, which is when @calls counts all of these
 * @time:    ns, extrapolated from those
 */
struct syscript_counters {
	u32 untimed;
	u64 calls, errors, defaults, time;
};

/**
 * struct syscript_seat - what one CPU needs to call a program
 * @event:    the call under way, or NULL
 * @view:     what the program sees
 * @sees:     bit i: the program reads the view's bytes from 4 * i on, the last: all beyond
 * @copies:   bytes after view_size that it wants
 * @low, @span: results from @low to @low + @span are valid: never S64_MIN, with which
 *            syscript_seat_run() says that the program has failed
 * @counters: of @hook, on this CPU
 * @base, @mask: the program's memory: where it is, and its size - 1
 * @fuel:     that the call has left
 */
struct syscript_seat {
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

/* How a hook begins: @seats of its program, replaced by one store; NULL: none now. */
struct syscript_hook_seats {
	struct syscript_seat __percpu *seats;
};

/* The module's parameter. */
DECLARE_STATIC_KEY_TRUE(syscript_enabled);

bool syscript_hook_default(struct syscript_hook *hook, struct syscript_event *event);
s64 syscript_seat_run_timed(struct syscript_seat *seat);
s64 syscript_hook_failed(struct syscript_event *event, s64 result);

static __always_inline bool syscript_hook_begin(struct syscript_hook *hook,
						struct syscript_event *event)
{
	struct syscript_seat __percpu *seats;
	struct syscript_seat *seat;

	event->rare = 0;
	/* In soft interrupts, and where a caller has turned them off, they are off already. */
	if (unlikely(!softirq_count())) {
		event->rare = SYSCRIPT_EVENT_BH;
		local_bh_disable();
	}
	/* As rcu_dereference_bh() does. */
	seats = READ_ONCE(((struct syscript_hook_seats *)hook)->seats);
	if (unlikely(!seats) || !static_branch_likely(&syscript_enabled))
		return syscript_hook_default(hook, event);
	seat = this_cpu_ptr(seats);
	if (unlikely(seat->event))
		return syscript_hook_default(hook, event);
	seat->event = event;
	event->seat = seat;
	return true;
}

static __always_inline s64 syscript_hook_run_program(struct syscript_event *event)
{
	struct syscript_seat *seat = event->seat;

	if (unlikely(syscript_count_down(&seat->counters->untimed)))
		return syscript_seat_run_timed(seat);
	return syscript_seat_run_here(seat);
}

static __always_inline s64 syscript_hook_end(struct syscript_event *event, s64 result)
{
	const struct syscript_seat *seat = event->seat;

	if (unlikely((u64)result - seat->low > seat->span))
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
	return event->seat->view;
}

static __always_inline u32 syscript_event_copies(const struct syscript_event *event)
{
	return event->seat->copies;
}

static __always_inline bool syscript_event_sees(const struct syscript_event *event,
						u32 offset, u32 len)
{
	u32 first = min_t(u32, offset / 4, 63), last = min_t(u32, (offset + len - 1) / 4, 63);

	return event->seat->sees & GENMASK_ULL(last, first);
}

#endif /* _LINUX_SYSCRIPT_PROGRAM_H */
