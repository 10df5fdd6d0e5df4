/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks: attach points in subsystems that call programs (<linux/syscript_program.h>), for the
 * code that attaches programs.
 *
 * A call is made with bottom halves off, which also keeps the program: one that is taken off a
 * hook is freed after synchronize_net().
 */
#ifndef SYSCRIPT_HOOK_H
#define SYSCRIPT_HOOK_H

#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/syscript_program.h>

#include "engine.h"
#include "program.h"
#include "prog_helpers.h"

struct prog_state;

/**
 * struct hook_program - a program that a hook calls
 * @copies:     bytes of data to show it, after the subsystem's view
 * @sees:       as in struct syscript_percpu_ctx
 * @errors_max: errors in a second after which it is taken off
 * @errors:     since @second (jiffies).  The hook's lock guards the fields from here on: a failed
 *              call writes them, even after the program was replaced
 * @failed:     it has been taken off
 * @lines:      the source line of each of @nlines instructions
 * @states:     states that it shares by name, in the order of their numbers; @sets: where a
 *              table's sets are in its memory
 * @owners:     the modules of libraries whose functions it calls, held; or NULL
 */
struct hook_program {
	const struct engine_ops *engine;
	struct syscript_percpu_ctx __percpu *ctxs;
	u32 fuel, copies, nfunctions, errors_max;
	u64 sees;
	s64 low, fallback;
	u64 span;
	struct program *program;
	u16 *lines;
	u32 nlines, errors;
	unsigned long second;
	bool failed;
	struct ctx_error last;
	hook_function *functions[SYSCRIPT_FUNCTIONS_MAX];
	struct module *owners[SYSCRIPT_FUNCTIONS_MAX];
	struct prog_helpers services;
	struct prog_state *states[SYSCRIPT_STATES_MAX];
	u64 sets[SYSCRIPT_STATES_MAX];
	u32 nstates;
};

struct syscript_hook {
	/* Fields that each call uses. */
	struct syscript_hook_ctxs called;	/* first, see <linux/syscript_program.h> */
	struct syscript_counters __percpu *counters;
	s64 fallback;
	void *private;

	const struct syscript_prog_type *prog_type;
	struct hook_program *own;	/* stays after the program has been taken off */
	spinlock_t lock;		/* guards the programs' errors */
};

/* For a new hook: 0 or -ENOMEM.  It has no program. */
int hook_init(struct syscript_hook *hook, const struct syscript_prog_type *prog_type);
void hook_exit(struct syscript_hook *hook);

/*
 * Makes the hook call @program, or no program if that is NULL.  Returns the previous program,
 * which other CPUs may execute until synchronize_net().  One caller at a time.
 */
struct hook_program *hook_set(struct syscript_hook *hook, struct hook_program *program);

/* The sums over all CPUs; the text of the program's last error, or "" if there was none. */
void hook_count(const struct syscript_hook *hook, struct syscript_counters *sums);
void hook_error(struct syscript_hook *hook, char *text, size_t len);

/* @program may have no struct program yet. */
void hook_program_free(struct hook_program *program);

#endif /* SYSCRIPT_HOOK_H */
