/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checking and compiling an image is expensive, so compiled images are shared: a user's programs
 * from the same image share one code; bases of the machine belong to no user.  Code that extends
 * a base, as Lua scripts do, is kept for a while after its last program, for the user's next one.
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
#include "exec_alloc.h"

/**
 * struct code - an image's machine code
 * @entry:  address of its first instruction
 * @size:   bytes, in whole pages
 * @facts:  facts for its extensions
 * @base:  the code that it extends, or NULL; held
 * @beyond: with @base: the value of machine.beyond; else 0
 * @memory: bytes of code and of data kept for it
 */
struct code {
	const void *entry;
	size_t size, memory;
	struct verify_base facts;
	struct code *base;
	u64 beyond;

	/* Private to code.c. */
	struct hlist_node node;
	unsigned int users;
	struct list_head idle;		/* in the list of codes without users */
	unsigned long idle_since;	/* in jiffies */
	struct completion made;
	int err;			/* result of making it */
	u64 number;			/* see code_sync() */
	kuid_t uid;
	enum context context;
	struct exec_area area;
	u64 digest;
	struct image_header *image;
	struct verify_label *labels;
	size_t len;
};

/*
 * Finds or makes the code for @context of the image of @len bytes at @data, whose header has been
 * checked; image and code together may have @max bytes. @base is the code that it extends, or
 * NULL. Returns 0; or -ENOEXEC, -ENOBUFS, -ENOMEM or -EINTR with the reason in @error.
 * code_sync() must be called before the code is run.
 */
int code_get(struct code **code, const void *data, size_t len, enum context context,
	     struct code *base, size_t max, char *error, size_t error_len);
void code_put(struct code *code);

/*
 * Makes @code visible to the CPUs that may run it for the caller's process, or to all in
 * CONTEXT_ATOMIC.  May interrupt them, so it is called last.
 */
void code_sync(const struct code *code);

/* Checks and compiles an image, without keeping the code. */
int code_check(const void *data, size_t len, const struct code *base, char *error,
	       size_t error_len);

/* In platform.c: struct jit's thunk() and thunk_args(). */
struct jit_thunk code_thunk(u32 nr);
int code_thunk_args(u64 address);

/* The value of arch_history(), for stubs.S. */
extern u32 confined_history;

/* Frees code that has had no program for a minute: true if any is left. */
bool code_age(void);

int code_init(void);
void code_exit(void);

#endif /* CONFINED_CODE_H */
