/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bases of the machine: a language's runtime is a fixed image, the same for all users, and
 * checking, compiling and verifying it takes a hundred times as long as for a script. So root
 * registers it once, and scripts of all users extend that base, which they name by the digest of
 * its image.
 *
 * The module computes the digest, SHA-256, so no other image has it. Naming a base needs no
 * privilege: it is code that root has published, and users could register it themselves.
 */
#ifndef SYSCRIPT_SHARED_H
#define SYSCRIPT_SHARED_H

#include <linux/types.h>

struct program;
struct shared;
struct syscript_register;

/*
 * Makes @image, as @reg describes it, a base of the machine, if it is not one already. The caller
 * has checked privileges. At most SYSCRIPT_SHARED_MAX bases are kept: a further one replaces the
 * oldest that no script extends. 0, or -errno with the text in @error (RUN_ERROR_LEN bytes):
 * -EDQUOT if scripts extend all of them, -EINTR, or as program_load().
 */
int shared_add(const struct syscript_register *reg, const char *image, char *error);

/* The base with @digest (SYSCRIPT_DIGEST_LEN bytes), held until shared_put(); or NULL. */
struct shared *shared_get(const u8 *digest);
void shared_put(struct shared *shared);

const struct program *shared_program(const struct shared *shared);

/* Frees the bases when the module is unloaded; no script is left then. */
void shared_exit(void);

#endif /* SYSCRIPT_SHARED_H */
