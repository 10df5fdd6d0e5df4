/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A script: a program bound to the process that registered it, with the rules for who may run it
 * and when. device.c handles files and user memory.
 */
#ifndef SYSCRIPT_SCRIPT_H
#define SYSCRIPT_SCRIPT_H

#include <linux/types.h>

struct file;
struct poll_table_struct;
struct program;
struct script;
struct shared;
struct syscript_call;
struct syscript_info;
struct syscript_register;

/*
 * May the calling task make a script now?  Returns 0, -EDEADLK, -ESHUTDOWN, -EPERM (lockdown) or
 * -EOPNOTSUPP.
 */
int script_may_create(void);

/* May the calling task use @script now?  As above, and -EXDEV. */
int script_may_use(const struct script *script);
/* Is @id its id? */
bool script_is(const struct script *script, u64 id);

/*
 * Allocates a script as described by @reg, and charges the calling process for it. The script
 * holds @device, an open file of the module. Returns the script, or an ERR_PTR with the text in
 * @error (RUN_ERROR_LEN bytes).
 */
struct script *script_create(const struct syscript_register *reg, struct file *device,
			     char *error);

/**
 * struct script_base - what a script extends, held; at most one is set
 * @script: a base of the same process
 * @shared: a base of the machine
 */
struct script_base {
	struct script *script;
	struct shared *shared;
};

/*
 * Makes its program from @image.  If @base has a base, the program extends it, and @script takes
 * over the caller's reference to it.  0, or -errno with the text in @error.
 */
int script_load(struct script *script, const struct syscript_register *reg,
		const char *image, struct script_base base, char *error);

/* From here on script_next() finds it. */
void script_publish(struct script *script);

/* Drops the file's reference, or that of script_create(). The last frees the script. */
void script_put(struct script *script);

/* Takes another reference; the caller has one. */
void script_get(struct script *script);

/*
 * Calls the program, after calls of other threads have ended. Returns 0 with the results in
 * @call, or an -errno documented in the uapi header for CALL.
 */
int script_call(struct script *script, struct syscript_call *call);

/* Copies the last error to @text (RUN_ERROR_LEN bytes): 0 or -EINTR. */
int script_error(struct script *script, char *text);

/*
 * Removes up to @max bytes of the script's output: returns a buffer with @taken of @there bytes,
 * which the caller frees by kvfree(); NULL if there is no output; or an ERR_PTR.
 */
char *script_output(struct script *script, u32 max, u32 *taken, u32 *there);

/* Fills in @info for the calling task, without waiting for a run. */
void script_info(struct script *script, struct syscript_info *info);

/*
 * Fills in @info for the first script after id @after that the calling task may see: 0, -ENOENT,
 * -EINTR or -EDEADLK.
 */
int script_next(u64 after, struct syscript_info *info);

/* Calls @visit for each script's program: 0 or -EINTR. */
int script_each(void (*visit)(struct program *program, void *arg), void *arg);

/*
 * Takes the first script after @id, and stores its id in @id.  If the script has not been called
 * since the last visit, frees memory that it does not need now.  False if there is no script.
 */
bool script_idle_next(unsigned long *id);

/* For poll(): EPOLLERR | EPOLLHUP once the script is dead. */
__poll_t script_poll(struct script *script, struct file *file,
		     struct poll_table_struct *wait);

#endif /* SYSCRIPT_SCRIPT_H */
