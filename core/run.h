/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Runs of script code: the rules for every engine, and the services through which engines keep
 * them.
 *
 * Script code runs between run_script() and its return.  System calls and other work that may sleep
 * go through the functions below, which leave script code meanwhile.  Only they check a run for
 * observers, limits, kills and waiting tasks.  If they have set run->stop_reason, the reason why
 * the run must end, the engine ends it without delay.
 *
 * run.c implements this for the module, core/user/run.c for a process.  Plain C: engines are
 * compiled without kernel headers.
 */
#ifndef SYSCRIPT_RUN_H
#define SYSCRIPT_RUN_H

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include "context.h"
#include "output.h"

#define RUN_ERROR_LEN	2048
#define RUN_CALLS_WORDS	8

struct engine_ops;
struct engine_vm;

/**
 * struct run - a program's runs, one at a time
 * @stop_reason:         0, or why the run must end: -ETIME, -ENOBUFS, -ENOMEM, -ECANCELED for good;
 *                -EOPNOTSUPP, -EINTR, -ETIMEDOUT until the next run
 * @flags:        SYSCRIPT_* of the registration
 * @memory_limit: bytes
 * @time_limit:   ns in script code per run; larger while the program is being made
 * @call_time_limit: @time_limit of its calls
 * @wall_limit:   elapsed ns per run, without waits that a signal can end
 * @grace:        ns that a run may continue while a signal is pending
 * @time:         ns in script code, of all runs
 * @deadline:     limit of @time in this run
 * @syscalls:     system calls made, of all runs
 * @preempt_max:  ns, the longest time without preemption so far
 * @name:         of the script
 * @engine:       the engine of @vm
 * @vm:           set by the engine's create() once it can be interrupted
 * @context:      where the program runs; in CONTEXT_ATOMIC only the limits, name and texts of
 *                this structure are used
 * @view_size:    CONTEXT_ATOMIC: bytes of the subsystem's view
 * @shared_pages: CONTEXT_ATOMIC: @nshared pages of tables that it shares, the last of its memory;
 *                only while it is loaded
 * @kept:         bytes charged to @memory_limit besides the engine's
 * @scratch:      address of the scratch memory, see run_scratch(), or 0
 * @only:         the program's rights are restricted to @calls and @libraries, see SYSCRIPT_ONLY
 * @any_rights:   of a base: its code checks the rights of the script that extends it before each
 *                action
 * @calls: a bit for each permitted system call, by its number; run_may_call()
 * @libraries:    SYSCRIPT_LIBRARY_*; run_may_use()
 * @error:        text of the last error, NUL-terminated, "" if none
 * @output:       the script's output
 */
struct run {
	volatile int stop_reason;
	unsigned int flags;
	unsigned long memory_limit, time_limit, call_time_limit, wall_limit, grace;
	unsigned long time, deadline;
	unsigned long syscalls;
	unsigned long preempt_max;
	const char *name;
	const struct engine_ops *engine;
	struct engine_vm *vm;
	enum context context;
	unsigned int view_size;
	struct page **shared_pages;
	unsigned long nshared;
	unsigned long kept;
	int only, any_rights;
	unsigned int libraries;
	unsigned long long calls[RUN_CALLS_WORDS];
	unsigned long scratch;
	unsigned int error_len;
	char error[RUN_ERROR_LEN];
	struct output output;			/* last: not zeroed */
};

/*
 * Rights: may the run make system call @index of syscalls.def, and use a library?  Engines ask
 * when a name is looked up or an image is loaded.
 */
int run_may_call(const struct run *run, unsigned int index);

static inline int run_may_use(const struct run *run, unsigned int library)
{
	return !run->only || run->libraries & library;
}

/*
 * Allocates a zeroed run; for the core. NULL if out of memory. The caller fills in the other
 * fields above.
 */
struct run *run_create(const struct engine_ops *engine);
/* Frees all but the error text, the output and the counters. */
void run_release(struct run *run);
void run_destroy(struct run *run);

/*
 * Runs fn(arg) as script code, on the stack of RUN_STACK_SIZE bytes that ends at
 * @stack or, if that is NULL, on the caller's.  Returns what it returns.
 *
 * For an engine with engine_ops.atomic the XMM registers 0 to 7 and
 * MXCSR may be used; preemption and bottom halves are off, and a timer
 * interrupts the engine when other tasks or softirqs need the CPU.
 */
#define RUN_STACK_SIZE	(256 << 10)
long run_script(struct run *run, long (*fn)(void *arg), void *arg, void *stack);

/* Makes run_script() return @ret now, abandoning its @stack.  Does not return. */
void run_abandon(struct run *run, long ret);

/*
 * A safe point: reschedules if needed, and checks the clock and signals. Non-preemptible engines
 * call it after engine_ops.interrupt(), others in each loop of their code.
 */
void run_poll(struct run *run);

/* True if the run must end for a signal, a stop or the freezer. */
int run_pending(struct run *run);

/* Sets run->stop_reason to @why, unless it is set. */
static inline void run_stop(struct run *run, int why)
{
	if (!run->stop_reason)
		run->stop_reason = why;
}

/* Does @stop_reason end with the run, so that the program can be called again? */
static inline int run_stop_passes(int why)
{
	return why == -EOPNOTSUPP || why == -EINTR || why == -ETIMEDOUT;
}

/*
 * Makes the system call of entry @index of syscalls.def with @args[6]; never returns -ERESTART*.
 * If an observer does not permit the call, the run is stopped with -EOPNOTSUPP, and the result is
 * meaningless.  In a stopped run it calls engine_ops.end(), if set.
 */
long run_syscall(struct run *run, unsigned int index, const long *args);

/*
 * A function for each system call, in the order of syscalls.def, with only the arguments that the
 * call takes.  In the module: for the engine with engine_ops.atomic.
 */
typedef long run_thunk(struct run *run, long a, long b, long c, long d, long e, long f);
extern run_thunk *const run_thunks[];

/* Calls fn(arg), which may sleep, in place of a system call; @waits: as SC_WAITS. */
long run_as_syscall(struct run *run, long (*fn)(void *arg), void *arg, int waits);

/*
 * The script's own user memory, for buffers and string arguments: the address
 * of SCRATCH_SIZE bytes that the process can read and write, mapped at the first
 * request and unmapped with the program; or -errno.
 */
#define SCRATCH_SIZE	(1 << 20)
long run_scratch(struct run *run);

/* A buffer for the records of a batch, kept from its first use until the program ends. */
#define RUN_BUFFER_SIZE	(32768 + 5 * 4096)
/* Within run_as_syscall(): RUN_BUFFER_SIZE bytes, or NULL if there is no memory. */
char *run_buffer(struct run *run);

#endif /* SYSCRIPT_RUN_H */
