/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Images that have been checked and compiled.  All of a user's programs that are
 * made from the same image share one; the machine's bases belong to no user.  What
 * extends a base, as Lua's scripts do, is kept for a while after its last program, for
 * the user's next one.
 */
#ifndef CONFINED_CODE_H
#define CONFINED_CODE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "../include/uapi/syscript_image.h"
#include "../jit.h"
#include "context.h"
#include "room.h"

/**
 * struct code - an image's machine code
 * @entry: where it begins
 * @size:  bytes of it, in whole pages
 * @facts: what extensions have to know about it
 * @base:  the code that it extends, or NULL; held
 * @beyond: with @base: the value of machine.beyond; else 0
 * @memory: bytes of it and of all that is kept for it
 */
struct code {
	const void *entry;
	size_t size, memory;
	struct verify_base facts;
	struct code *base;
	u64 beyond;

	/* For code.c. */
	struct hlist_node node;
	unsigned int users;
	struct list_head idle;		/* without users */
	unsigned long idle_since;	/* in jiffies */
	struct completion made;
	int err;			/* of that */
	u64 number;			/* see code_sync() */
	kuid_t uid;
	enum context context;
	struct room_area area;
	u64 digest;
	struct image_header *image;
	struct verify_label *labels;
	size_t len;
};

/*
 * Gets, or makes, the code for @context of the image at @data, @len bytes, whose header
 * has been checked; image and code may have @max bytes.  @base is the code that it
 * extends, or NULL.  Returns 0; or -ENOEXEC, -ENOBUFS, -ENOMEM or -EINTR with the reason
 * in @error.  Before it is run, code_sync() follows.
 */
int code_get(struct code **code, const void *data, size_t len, enum context context,
	     struct code *base, size_t max, char *error, size_t error_len);
void code_put(struct code *code);

/*
 * The CPUs that may run @code for the caller's process, or in CONTEXT_ATOMIC all, see it as
 * it is.  May interrupt them, so it comes last.
 */
void code_sync(const struct code *code);

/* Only checks it. */
int code_check(const void *data, size_t len, const struct code *base, char *error,
	       size_t error_len);

/* In place.c: struct jit's gate() and gate_args(). */
struct jit_gate code_gate(u32 nr);
int code_gate_args(u64 address);

/* Frees what has had no program for a minute: true if there is more. */
bool code_age(void);

int code_init(void);
void code_exit(void);

#endif /* CONFINED_CODE_H */
