/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A script: an engine's virtual machine, whose it is and who may run it.
 * Knows no file and no user memory; those are device.c's.
 */
#ifndef SYSCRIPT_SCRIPT_H
#define SYSCRIPT_SCRIPT_H

#include <linux/types.h>

#include "engine.h"

#define SCRIPT_ERROR_LEN	512

struct file;
struct poll_table_struct;
struct script;

/**
 * struct script_source - what script_create() makes a script of
 * @text:   the source, in kernel memory
 * @len:    its length
 * @name:   printable, NUL-terminated
 * @flags:  SYSCRIPT_*
 * @limits: 0 for a default
 * @device: an open file of the module's, which the script holds
 */
struct script_source {
	const char *text;
	size_t len;
	const char *name;
	u32 flags;
	struct engine_limits limits;
	struct file *device;
};

/*
 * May the calling task make a script, now?  Returns 0, -EDEADLK, -ESHUTDOWN or
 * -EOPNOTSUPP.
 */
int script_may_create(void);

/* May the calling task use @script, now?  As above, and -EXDEV. */
int script_may_use(const struct script *script);

/*
 * Compiles @source for the calling process and its user's account.  Returns the
 * script, or an ERR_PTR with the text in @error (SCRIPT_ERROR_LEN bytes).
 */
struct script *script_create(const struct script_source *source, char *error);

/* From here on script_next() finds it. */
void script_publish(struct script *script);

/* The last reference is gone: gives everything back. */
void script_release(struct script *script);

/*
 * Runs run(), when the other threads have had their turns.  Returns 0 with the
 * results in @call, or the -errno that the uapi header has for CALL.
 */
int script_call(struct script *script, struct syscript_call *call);

/* The last error's text into @text (SCRIPT_ERROR_LEN bytes): 0 or -EINTR. */
int script_error(struct script *script, char *text);

/*
 * Takes out what print() wrote, up to @max bytes: a buffer for the caller to
 * kvfree(), with @taken bytes of the @there that there were; NULL if there is
 * nothing to take; or an ERR_PTR.
 */
char *script_output(struct script *script, u32 max, u32 *taken, u32 *there);

/* Fills in @info for the calling task, without waiting for a run. */
void script_info(struct script *script, struct syscript_info *info);

/*
 * The same for the first script after id @after that the calling task may see:
 * 0, -ENOENT, -EINTR or -EDEADLK.
 */
int script_next(u64 after, struct syscript_info *info);

/* For poll(): EPOLLERR | EPOLLHUP once the script is dead. */
__poll_t script_poll(struct script *script, struct file *file,
		     struct poll_table_struct *wait);

#endif /* SYSCRIPT_SCRIPT_H */
