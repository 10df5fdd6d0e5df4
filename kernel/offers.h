/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offers of modules by <linux/syscript_program.h>: subsystems that call programs, and
 * libraries of functions for programs.
 */
#ifndef SYSCRIPT_OFFERS_H
#define SYSCRIPT_OFFERS_H

#include <linux/types.h>

#include "services.h"

struct module;
struct syscript_embedding;

/* The embedding, with its module held until offers_put(); or NULL. */
const struct syscript_embedding *offers_get(const char *name);
void offers_put(const struct syscript_embedding *embedding);

/*
 * The function that programs know as @symbol, LIBRARY_FUNCTION, for the caller; with its
 * library's module, in @owner, held.  NULL: it does not exist, or, with the reason in
 * @error, the caller may not have it.
 */
hook_function *offers_function(const char *symbol, struct module **owner, char *error,
			       size_t len);

#endif /* SYSCRIPT_OFFERS_H */
