/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The rights of a script, by names of system calls and libraries. */
#ifndef LIB_RIGHTS_H
#define LIB_RIGHTS_H

#include <stddef.h>
#include <linux/syscript.h>

/*
 * Gives @reg the rights listed in @names, separated by commas or spaces.  Returns 0, or -EINVAL
 * with a text.
 */
int rights_parse(struct syscript_register *reg, const char *names, char *error,
		 size_t error_len);

#endif /* LIB_RIGHTS_H */
