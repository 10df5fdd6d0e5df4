/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs by name. They outlive the process that loaded them: a name belongs to the machine, or
 * to a network namespace, with which its program ends.
 */
#ifndef SYSCRIPT_PROG_REGISTRY_H
#define SYSCRIPT_PROG_REGISTRY_H

#include <linux/types.h>

struct prog_ring;
struct syscript_prog_type;
struct syscript_invoke;
struct syscript_load;
struct syscript_program;
struct syscript_state;
struct syscript_unload;

/* May the calling task load or call programs now?  0, or -errno as for a script. */
int prog_registry_may_load(void);

/**
 * struct prog_parts - parts of a program, copied into the kernel
 * @image, @functions, @states: as syscript_load has them
 * @lines:             likewise, to be freed with kvfree(); a function that takes it over sets it
 *                     to NULL
 */
struct prog_parts {
	const char *image, *functions;
	const struct syscript_state *states;
	u16 *lines;
};

/*
 * Returns the subsystem, held until subsys_put(), if the caller may load programs for it.
 * Otherwise an ERR_PTR, -ENOENT or -EPERM, with the text in @error (RUN_ERROR_LEN bytes).
 */
const struct syscript_prog_type *prog_registry_subsystem(const char *subsystem, char *error);

/* Loads a program for @prog_type: 0, or -errno with the text in @error. */
int prog_registry_load(const struct syscript_prog_type *prog_type, const struct syscript_load *load,
	       struct prog_parts *parts, char *error);
/* Returns 0, -EPERM, -ENOENT, or -EINTR if the caller is being killed. */
int prog_registry_unload(const struct syscript_unload *unload);

/* The ring with this name, with a reference, and its definition; or an ERR_PTR as above. */
struct prog_ring *prog_registry_ring(const char *name, struct syscript_state *def);

/*
 * Calls a program of the caller's namespace: as prog_registry_unload(), with invoke->result set.
 * @data is a copy.
 */
int prog_registry_invoke(struct syscript_invoke *invoke, const void *data, char *error);

/* The first program after @program->id that the caller may see: 0 or -ENOENT. */
int prog_registry_next(struct syscript_program *program);

int prog_registry_init(void);
void prog_registry_exit(void);

#endif /* SYSCRIPT_PROG_REGISTRY_H */
