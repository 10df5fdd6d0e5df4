/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a script engine offers the core.  The core knows no Lua; an engine
 * knows no fd, no device and no policy.
 *
 * The core calls every operation in process context, with the script's lock
 * held, or as the script's only user, except stats(): that comes at any time
 * between create and destroy, under a spinlock, beside a run on another CPU.
 */
#ifndef SYSCRIPT_ENGINE_H
#define SYSCRIPT_ENGINE_H

#include <linux/types.h>
#include "uapi/syscript.h"

struct engine_vm;

/**
 * struct engine_limits - what one script may use
 * @memory: bytes
 * @time:   ns in script code per call
 */
struct engine_limits {
	u64 memory;
	u64 time;
};

/**
 * struct engine_stats - counters that only the engine knows
 *
 * See struct syscript_info for the fields.
 */
struct engine_stats {
	u64 memory, memory_peak, mcode;
	u64 run_time, syscalls, traces, preempt_max;
};

struct engine_ops {
	const char *name;

	/* Once per module load, in this order; exit only after init returned 0. */
	int (*init)(void);
	void (*exit)(void);

	/*
	 * A VM from source text: compiles and runs its top level.  @source is
	 * kernel memory.  Returns the VM or an ERR_PTR; then @error holds the
	 * text.  With SYSCRIPT_CHECK in @flags it only compiles; the core
	 * destroys that VM at once.
	 */
	struct engine_vm *(*create)(const char *source, size_t len,
				    const char *name, u32 flags,
				    const struct engine_limits *limits,
				    char *error, size_t error_len);

	/*
	 * Runs run().  Returns 0 with @call->nresults and results set, or the
	 * -errno of the uapi header.  -ETIME, -ENOBUFS and -ECANCELED mean that
	 * the VM is doomed: the core destroys it and keeps the text.
	 */
	int (*call)(struct engine_vm *vm, struct syscript_call *call);

	/* The text of the last failed call, NUL-terminated, "" if none. */
	const char *(*error)(struct engine_vm *vm);

	/*
	 * Takes up to @len bytes of print() output out.  Returns how many there
	 * were before, so that a @len of 0 asks.
	 */
	size_t (*output)(struct engine_vm *vm, char *buf, size_t len);

	void (*stats)(struct engine_vm *vm, struct engine_stats *stats);

	/*
	 * Gives everything back.  May run in another process than create() (a
	 * last fput after fork), or in an exiting one without a memory map.
	 */
	void (*destroy)(struct engine_vm *vm);
};

extern const struct engine_ops luajit_engine;

/* Its call(), for INDIRECT_CALL_1(): a retpoline is dear beside a short call. */
int luajit_call(struct engine_vm *vm, struct syscript_call *call);

#endif /* SYSCRIPT_ENGINE_H */
