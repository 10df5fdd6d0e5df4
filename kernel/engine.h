/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What a script engine offers the core, in the module and in libsyscript.  The
 * core knows no language; an engine knows no descriptor, no device, no policy,
 * and has no safety rule of its own: those are run.h's.
 *
 * The core calls every operation in process context, for one program at a time,
 * but for stats() and code(), which come at any time between create and destroy,
 * next to a run on another CPU, and interrupt(), which comes from interrupts of the
 * CPU that runs the program, or from another thread of the process.
 */
#ifndef SYSCRIPT_ENGINE_H
#define SYSCRIPT_ENGINE_H

#include "run.h"
#include "../include/uapi/syscript.h"

struct module;

/**
 * struct engine_image - what a program is made of
 * @data:   the image, in the caller's memory, followed by a zero byte
 * @len:    its length in bytes
 * @format: as registered
 * @shared, @shared_len: memory of the process that it shares, or 0
 */
struct engine_image {
	const char *data;
	unsigned long len;
	unsigned int format;
	unsigned long shared, shared_len;
};

/**
 * struct engine_stats - counters that only the engine knows
 * @memory:      bytes held now
 * @memory_peak: bytes held at most
 * @counters:    values for the names in engine_ops.counters
 */
struct engine_stats {
	unsigned long memory, memory_peak;
	unsigned long counters[SYSCRIPT_COUNTERS_MAX];
};

/* Machine code is at @start .. @end; it was made of @line, or of none that is known. */
typedef void engine_code_fn(void *arg, unsigned long start, unsigned long end, int line);

/**
 * struct engine_ops - an engine
 * @name:        shorter than sizeof(syscript_info.engine_name)
 * @id:          SYSCRIPT_ENGINE_*
 * @formats:     formats 0 .. @formats - 1 are known
 * @preemptible: its code is ordinary kernel code; see run_script()
 * @counters:    names of its counters, NULL past the last
 * @held:        bit i: counter i is of something held, and 0 once that is freed
 * @owner:       its module
 */
struct engine_ops {
	const char *name;
	unsigned int id;
	unsigned int formats;
	int preemptible;
	const char *counters[SYSCRIPT_COUNTERS_MAX];
	unsigned int held;
	struct module *owner;

	/* Both may be NULL.  exit() comes only after init() returned 0. */
	int (*init)(void);
	void (*exit)(void);

	/*
	 * Makes a VM of @image, under the limits in @run, which stays valid until
	 * destroy(), and sets run->vm.  With SYSCRIPT_CHECK in run->flags it only
	 * checks the image.  Returns 0, or -errno with the text in run->error;
	 * then nothing is left.
	 */
	int (*create)(struct run *run, const struct engine_image *image);

	/*
	 * A call.  Returns 0 with call->nresults and results set, or the -errno
	 * of the uapi header with the text in run->error.  With run->doom set it
	 * returns that.
	 */
	int (*call)(struct engine_vm *vm, struct syscript_call *call);

	/*
	 * Makes the running VM call run_poll() soon.  Not for preemptible
	 * engines, which call it by themselves.
	 */
	void (*interrupt)(struct engine_vm *vm);

	/*
	 * The running VM, which has made a system call, is doomed: does not return.
	 * NULL for engines that look at run->doom after each call.
	 */
	void (*end)(struct engine_vm *vm);

	void (*stats)(struct engine_vm *vm, struct engine_stats *stats);

	/* Calls @add for each piece of its machine code, for profilers.  May be NULL. */
	void (*code)(struct engine_vm *vm, engine_code_fn *add, void *arg);

	/*
	 * Both may be NULL; in a kernel thread.  idle(): there has been no call
	 * for a while: frees what the next one can have again.  age(): every few
	 * seconds while there are programs, and until it returns false: frees what
	 * the engine keeps for programs to come.
	 */
	void (*idle)(struct engine_vm *vm);
	int (*age)(void);

	/*
	 * Frees all.  May run in another process than create() (the last close
	 * after a fork), or in an exiting one without a memory map.
	 */
	void (*destroy)(struct engine_vm *vm);
};

extern const struct engine_ops luajit_engine, confined_engine;

/*
 * The engine with @id, which cannot go until engine_put(); or NULL.  Engines
 * that are modules of their own come by engine_register(): 0, -EEXIST, -EINVAL,
 * or what init() returned.
 */
const struct engine_ops *engine_get(unsigned int id);
void engine_put(const struct engine_ops *engine);
int engine_register(const struct engine_ops *engine);
void engine_unregister(const struct engine_ops *engine);

#ifdef __KERNEL__
/* engine_ops.age() of all engines: true if one of them still keeps something. */
bool engines_age(void);
#endif

/* luajit_engine's call(), for INDIRECT_CALL_1(): a retpoline is expensive there. */
int luajit_call(struct engine_vm *vm, struct syscript_call *call);

#endif /* SYSCRIPT_ENGINE_H */
