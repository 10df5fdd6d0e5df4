/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Keeps the sources of scripts of the kernel backend: a script that an observer, such as a seccomp
 * filter, keeps from running before its first call is moved to the user backend.
 */
#ifndef LIB_FALLBACK_H
#define LIB_FALLBACK_H

#include <linux/syscript.h>

/* Best effort: without memory the script just cannot be moved. */
void fallback_add(int fd, const struct syscript_register *reg);
void fallback_drop(int fd);

/*
 * Moves the script of @fd to the user backend, with the same number. Returns 0; -EOPNOTSUPP if
 * the script has been called (its state would be lost), is unknown, or is refused by the user
 * backend; or -EDEADLK in a signal handler that has interrupted this thread's move of a script.
 */
int fallback_move(int fd);

#endif /* LIB_FALLBACK_H */
