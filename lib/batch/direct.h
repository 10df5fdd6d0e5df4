/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Batches of the kernel's confined engine without a script.  Registering Lua costs as much as a
 * stat of hundreds of files, and a script that only makes one batch computes nothing.
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
 * Makes batch @op in place of the script @which.  @request is the batch's structure of @size
 * bytes, and receives what the batch writes to it.  Any thread, also in a child of fork(2).
 *
 * Returns true with the batch's result, or the run's -errno as from builtin_call(), in @result.
 * Returns false if no batch was made and the caller has to call the script: the kernel's confined
 * engine cannot be used, or the user has chosen another engine or backend.
 */
bool direct_batch(enum builtin which, enum image_batch op, void *request, size_t size,
		  int64_t *result);

/* Closes the instances that no thread is using: syscript_release(). */
void direct_release(void);

/* For a child of fork(2). */
void direct_fork_child(void);

#endif /* LIB_DIRECT_H */
