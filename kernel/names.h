/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs by name. They outlive the process that loaded them: a name belongs to the machine, or
 * to a network namespace, with which its program ends.
 */
#ifndef SYSCRIPT_NAMES_H
#define SYSCRIPT_NAMES_H

#include <linux/types.h>

struct syscript_embedding;
struct syscript_invoke;
struct syscript_load;
struct syscript_program;
struct syscript_unload;

/* May the calling task load or call programs now?  0, or -errno as for a script. */
int names_may_load(void);

/**
 * struct names_parts - parts of a program, copied into the kernel
 * @image, @functions: as syscript_load has them
 * @lines:             likewise, to be freed with kvfree(); a function that takes it over sets it
 *                     to NULL
 */
struct names_parts {
	const char *image, *functions;
	u16 *lines;
};

/*
 * Returns the subsystem, held until offers_put(), if the caller may load programs for it.
 * Otherwise an ERR_PTR, -ENOENT or -EPERM, with the text in @error (RUN_ERROR_LEN bytes).
 */
const struct syscript_embedding *names_subsystem(const char *subsystem, char *error);

/* Loads a program for @embedding: 0, or -errno with the text in @error. */
int names_load(const struct syscript_embedding *embedding, const struct syscript_load *load,
	       struct names_parts *parts, char *error);
/* Returns 0, -EPERM, -ENOENT, or -EINTR if the caller is being killed. */
int names_unload(const struct syscript_unload *unload);

/*
 * Calls a program of the caller's namespace: as names_unload(), with invoke->result set.  @data
 * is a copy.
 */
int names_invoke(struct syscript_invoke *invoke, const void *data, char *error);

/* The first program after @program->id that the caller may see: 0 or -ENOENT. */
int names_next(struct syscript_program *program);

int names_init(void);
void names_exit(void);

#endif /* SYSCRIPT_NAMES_H */
