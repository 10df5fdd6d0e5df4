/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Batches of the kernel's confined engine without a script: registering Lua takes as much as
 * looking at hundreds of files, and a script that only makes one batch does nothing in Lua.
 *
 * The process writes a batch's structure (linux/syscript_image_batch.h) to an arena that it
 * shares with an image of four instructions, which passes the structure to the batch.
 */
#ifndef LIB_DIRECT_H
#define LIB_DIRECT_H

#include <linux/syscript_image_batch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "builtin.h"

/*
 * Makes batch @op in place of the script @which: with @request, its structure of @size bytes,
 * which gets what the batch writes to it.  Any thread, also in a child of fork(2).
 *
 * Returns true with @result: the batch's, or -errno where the run failed, as builtin_call()
 * does.  False: nothing was done, and the script is to be called; the kernel's confined
 * engine cannot be used, or the user wants another place or engine.
 */
bool direct_batch(enum builtin which, enum image_batch op, void *request, size_t size,
		  int64_t *result);

/* Closes what no thread is using: syscript_release(). */
void direct_release(void);

/* In a child of fork(2). */
void direct_fork_child(void);

#endif /* LIB_DIRECT_H */
