/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Images that have been checked and compiled.  All programs of a user that are
 * made of the same image share one.
 */
#ifndef CONFINED_CODE_H
#define CONFINED_CODE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "../image.h"
#include "../jit.h"
#include "room.h"

/**
 * struct code - an image's machine code
 * @entry: where it begins
 * @size:  bytes of it, in whole pages
 */
struct code {
	const void *entry;
	size_t size;

	/* For code.c. */
	struct hlist_node node;
	unsigned int users;
	struct completion made;
	int err;			/* of that */
	kuid_t uid;
	struct room_area area;
	u64 digest;
	struct image_header *image;
	size_t len;
};

/*
 * The code of the image at @data, @len bytes, whose header has been checked, made if
 * there is none yet; the image and what is made of it may have @max bytes.  Returns 0; or -ENOEXEC, -ENOBUFS,
 * -ENOMEM or -EINTR with the reason in @error.
 */
int code_get(struct code **code, const void *data, size_t len, size_t max, char *error,
	     size_t error_len);
void code_put(struct code *code);

/* Only checks it. */
int code_check(const void *data, size_t len, char *error, size_t error_len);

/* By place.c: struct jit's gate() and gate_args(). */
struct jit_gate code_gate(u32 nr);
int code_gate_args(u64 address);

int code_init(void);
void code_exit(void);

#endif /* CONFINED_CODE_H */
