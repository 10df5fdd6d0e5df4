/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offers of modules by <linux/syscript_program.h>: subsystems that call programs, and
 * libraries of functions for programs.
 */
#ifndef SYSCRIPT_SUBSYS_REGISTRY_H
#define SYSCRIPT_SUBSYS_REGISTRY_H

#include <linux/types.h>

#include "prog_helpers.h"

struct module;
struct syscript_prog_type;

/* The program type, with its module held until subsys_put(); or NULL. */
const struct syscript_prog_type *subsys_get(const char *name);
void subsys_put(const struct syscript_prog_type *prog_type);

/*
 * The function that programs know as @symbol, LIBRARY_FUNCTION, for the caller; with its
 * library's module, in @owner, held.  NULL: it does not exist, or, with the reason in
 * @error, the caller may not have it.
 */
hook_function *subsys_function(const char *symbol, struct module **owner, char *error,
			       size_t len);

#endif /* SYSCRIPT_SUBSYS_REGISTRY_H */
