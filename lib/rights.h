/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What a script may do, by names. */
#ifndef LIB_RIGHTS_H
#define LIB_RIGHTS_H

#include <stddef.h>
#include <linux/syscript.h>

/*
 * Gives @reg the rights that @names lists, with commas or spaces between.  Returns 0, or
 * -EINVAL with a text.
 */
int rights_parse(struct syscript_register *reg, const char *names, char *error,
		 size_t error_len);

#endif /* LIB_RIGHTS_H */
