/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bases of the machine: a language's runtime is one fixed image, the same for all users,
 * and to check, compile and verify it takes a hundred times what its scripts take.  So
 * root registers it once, and scripts of all users extend that one base, which they name
 * by the digest of its image.
 *
 * The digest is SHA-256, and computed here: nothing but the image itself has it.  A name
 * is no right: bases are code that root has published, and whoever names one gets what
 * they could have registered themselves.
 */
#ifndef SYSCRIPT_SHARED_H
#define SYSCRIPT_SHARED_H

#include <linux/types.h>

struct program;
struct shared;
struct syscript_register;

/*
 * Makes @image, as @reg describes it, a base of the machine, if it is not one already.
 * The caller has checked its privileges.  At most SYSCRIPT_SHARED_MAX are kept: one more
 * replaces the oldest that no script extends.  0, or -errno with the text in @error
 * (RUN_ERROR_LEN bytes): -EDQUOT if there is no such one, -EINTR, or as program_load().
 */
int shared_add(const struct syscript_register *reg, const char *image, char *error);

/* The base with @digest (SYSCRIPT_DIGEST_LEN bytes), held until shared_put(); or NULL. */
struct shared *shared_get(const u8 *digest);
void shared_put(struct shared *shared);

const struct program *shared_program(const struct shared *shared);

/* For unloading: no script is left. */
void shared_exit(void);

#endif /* SYSCRIPT_SHARED_H */
