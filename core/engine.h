/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A script engine's operations for the core, in the module and in libsyscript.  The
 * core knows no language; an engine knows no descriptor, no device, no policy,
 * and has no safety rules of its own: those are in run.h.
 *
 * The core calls every operation in process context, once at a time for a program,
 * except stats() and code(), which may be called at any time between create and
 * destroy, even during a run on another CPU, and interrupt(), which is called in
 * interrupts of the CPU that runs the program, or by another thread of the process.
 */
#ifndef SYSCRIPT_ENGINE_H
#define SYSCRIPT_ENGINE_H

#include "run.h"
#include "../include/uapi/syscript.h"

struct hook_program;
struct module;
struct run_atomic_ops;
struct syscript_event;
struct syscript_percpu_ctx;

/**
 * struct engine_image - the image of a program
 * @data:   the image, in the caller's memory, followed by a zero byte
 * @len:    its length in bytes
 * @format: as registered
 * @shared, @shared_len: memory of the process that it shares, or 0
 * @base:   the program that it extends, which outlives this one, or NULL
 */
struct engine_image {
	const char *data;
	unsigned long len;
	unsigned int format;
	unsigned long shared, shared_len;
	struct engine_vm *base;
};

/**
 * struct engine_stats - counters that only the engine knows
 * @memory:      bytes allocated now
 * @memory_peak: most bytes allocated
 * @counters:    values for the names in engine_ops.counters
 */
struct engine_stats {
	unsigned long memory, memory_peak;
	unsigned long counters[SYSCRIPT_COUNTERS_MAX];
};

/* Mistakes in a script, one line of "name:line: text" each, as many as fit. */
struct engine_findings {
	char *text;
	unsigned long size, len;
	unsigned int n;			/* out: number of mistakes */
};

/**
 * struct ctx_error - why a call in CONTEXT_ATOMIC has failed
 * @end:   0: it has not failed; otherwise a code of the engine
 * @pc:    the instruction
 * @value: detail of @end
 * @line:  source line, or 0; set by the core
 */
struct ctx_error {
	unsigned int end, pc, line;
	unsigned long long value;
};

/* Machine code is at @start .. @end; it was made from @line, or 0 if unknown. */
typedef void engine_code_fn(void *arg, unsigned long start, unsigned long end, int line);

/**
 * struct engine_ops - an engine
 * @name:        shorter than sizeof(syscript_info.engine_name)
 * @id:          SYSCRIPT_ENGINE_*
 * @formats:     formats 0 .. @formats - 1 are known
 * @contexts:    IN_*: contexts in which its programs can run
 * @atomic:      in the module, how a non-preemptible engine's code is run; NULL if its code is
 *               preemptible
 * @prints:      its programs have output; otherwise run.output is not allocated
 * @extensible:  programs may extend others: SYSCRIPT_BASE, SYSCRIPT_EXTENDS
 * @counters:    names of its counters, NULL past the last
 * @held:        bit i: counter i counts something held, and is 0 once that is freed
 * @owner:       its module
 */
struct engine_ops {
	const char *name;
	unsigned int id;
	unsigned int formats;
	unsigned int contexts;
	const struct run_atomic_ops *atomic;
	int prints;
	int extensible;
	const char *counters[SYSCRIPT_COUNTERS_MAX];
	unsigned int held;
	struct module *owner;

	/* Both may be NULL.  exit() comes only after init() returned 0. */
	int (*init)(void);
	void (*exit)(void);

	/*
	 * Makes a VM of @image, under the limits in @run, which stays valid until destroy(), and
	 * sets run->vm.  With SYSCRIPT_CHECK in run->flags it only checks the image.  Returns 0,
	 * or -errno with the text in run->error and everything freed.
	 */
	int (*create)(struct run *run, const struct engine_image *image);

	/*
	 * May be NULL.  In a process: checks @image further than create(), and frees everything.
	 * Returns 0 with the mistakes in @findings, or fails as create() does.
	 */
	int (*lint)(struct run *run, const struct engine_image *image,
		    struct engine_findings *findings);

	/*
	 * Calls the program.  Returns 0 with call->nresults and results set, or an -errno
	 * documented in the uapi header, with the text in run->error.  If run->stop_reason is set,
	 * returns run->stop_reason.
	 */
	int (*call)(struct engine_vm *vm, struct syscript_call *call);

	/*
	 * In the module: the function that call() passes to run_script() when the run needs no
	 * stack of its own, or NULL.
	 */
	long (*enter)(void *arg);

	/*
	 * Makes the running VM call run_poll() soon.  Not for preemptible engines, which poll by
	 * themselves.
	 */
	void (*interrupt)(struct engine_vm *vm);

	/*
	 * Unwinds the running VM after a system call that stopped the run: does not return.  NULL
	 * for engines that test run->stop_reason after each call.
	 */
	void (*end)(struct engine_vm *vm);

	void (*stats)(struct engine_vm *vm, struct engine_stats *stats);

	/*
	 * For CONTEXT_ATOMIC, with bottom halves off.  The call itself is syscript_ctx_run() of
	 * <linux/syscript_program.h>.  percpu_ctxs() gives the VM's per-CPU contexts to @program,
	 * and returns a struct syscript_percpu_ctx __percpu * as a number, because some engines'
	 * files cannot include that type.  The caller sets and clears @event, and sets the hook's
	 * fields.  ctx_error(): after a call on this CPU whose result is invalid, fills @error with
	 * the reason if the call failed.  ctx_text(): the text of such an error; may be called at
	 * any time.
	 */
	unsigned long (*ctxs)(const struct engine_vm *vm, struct hook_program *program);
	void (*ctx_error)(struct syscript_percpu_ctx *ctx, struct ctx_error *error);
	void (*ctx_text)(const struct ctx_error *error, char *text, unsigned long len);

	/* Calls @add for each piece of its machine code, for profilers.  May be NULL. */
	void (*code)(struct engine_vm *vm, engine_code_fn *add, void *arg);

	/*
	 * Both may be NULL; called in a kernel thread.  idle(), when @vm has not been called for
	 * a while: frees memory that the next call can allocate again.  age(), every few seconds
	 * while there are programs, and then until it returns false: frees memory that the engine
	 * caches for future programs.
	 */
	void (*idle)(struct engine_vm *vm);
	int (*age)(void);

	/*
	 * Frees everything. The current process may differ from that of create() (the last close
	 * after a fork), or be exiting without a memory map.
	 */
	void (*destroy)(struct engine_vm *vm);
};

extern const struct engine_ops luajit_engine, confined_engine;

#ifdef __KERNEL__
struct vm_area_struct;

/* mmap(2) of an arena for programs of the confined engine: 0 or -errno. */
int confined_mmap(struct vm_area_struct *vma);
#endif

/*
 * The engine with @id, which cannot be unloaded until engine_put(); or NULL.  Engines
 * in separate modules call engine_register(): 0, -EEXIST, -EINVAL, -EBUSY for a second one
 * that may not be preempted, or the error of init().
 */
const struct engine_ops *engine_get(unsigned int id);
void engine_put(const struct engine_ops *engine);
int engine_register(const struct engine_ops *engine);
void engine_unregister(const struct engine_ops *engine);

#ifdef __KERNEL__
/* engine_ops.age() of all engines: true if one of them still keeps something. */
bool engines_age(void);
#endif

#endif /* SYSCRIPT_ENGINE_H */
