/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A program: an engine's virtual machine, its limits, the account that it is charged to, its
 * counters and its last error.  It belongs to no process: the script (script.h) binds it to one.
 *
 * The script's lock serialises the functions, except program_info(), program_code() and
 * program_is_alive(), which may be called at any time.
 */
#ifndef SYSCRIPT_PROGRAM_H
#define SYSCRIPT_PROGRAM_H

#include "engine.h"
#include "limits.h"
#include "platform.h"

struct program {
	/* Fields that each call uses. */
	struct engine_vm *vm;		/* NULL once dead */
	const struct engine_ops *engine;
	struct run *run;
	u64 calls, errors, kills;
	bool running;

	struct engine_vm *corpse;	/* dead, and still to be destroyed */
	struct platform_lock vm_lock;	/* ->vm, for program_info() */
	struct engine_stats last_stats;	/* the counters of a dead program */
	struct limits limits;
	struct limits_account *account;
	u64 charged;			/* bytes charged to it */
	u32 flags, format;
	char name[SYSCRIPT_NAME_LEN];
};

/*
 * Makes a program without an image as @reg says, to run in @context, and charges the caller's
 * account: memory is charged before the image is copied.  Returns 0, or -errno with the text in
 * @error (RUN_ERROR_LEN bytes).
 */
int program_create(struct program **program, const struct syscript_register *reg,
		   enum context context, char *error);

/*
 * Makes its VM from @image, once, before any other function; results as above.  If @base is not
 * NULL the program extends it, and it must outlive the program.
 */
int program_load(struct program *program, const struct syscript_register *reg,
		 const char *image, const struct program *base, char *error);

/*
 * Runs it: 0 with the results in @call, or the -errno that the uapi header has
 * for CALL.  The program may be dead then.
 */
int program_call(struct program *program, struct syscript_call *call);

/* Ends a call that failed with @err; program_call() does so by itself. */
void program_failed(struct program *program, int err);

/* Is @err a limit at which a program with SYSCRIPT_KILL in @flags kills the caller? */
bool program_kills(u32 flags, int err);

/*
 * For a program that has not been called for a while: frees memory that the next call can
 * allocate again.
 */
void program_idle(struct program *program);

/* Destroys the VM; the last error and counters stay. */
void program_die(struct program *program);
/*
 * The second half of program_die(), for a program that died in a call: done later where calls
 * may free nothing (PLATFORM_FREES_LATER).
 */
void program_bury(struct program *program);

static inline bool program_is_alive(const struct program *program)
{
	return READ_ONCE(program->vm);
}

/* Fills in the program's fields of @info. */
void program_info(struct program *program, struct syscript_info *info);

/* As engine_ops.code(). */
void program_code(struct program *program, engine_code_fn *add, void *arg);

void program_destroy(struct program *program);

#endif /* SYSCRIPT_PROGRAM_H */
