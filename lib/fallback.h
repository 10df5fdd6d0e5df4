/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Registrations of the kernel backend, fallback with their source: a script that a
 * watcher (a seccomp filter, say) shuts out before its first call is moved to
 * the user backend.
 */
#ifndef LIB_FALLBACK_H
#define LIB_FALLBACK_H

#include <linux/syscript.h>

/* Best effort: without memory the script is just not movable. */
void fallback_add(int fd, const struct syscript_register *reg);
void fallback_drop(int fd);

/*
 * Puts the script of @fd into the user backend, at the same number.  Returns
 * 0, or -EOPNOTSUPP if it has been called (its state would be lost), if it is not
 * known, or if the user backend does not take it; or -EDEADLK in a handler that has
 * interrupted this thread's move of a script, in the script's top level.
 */
int fallback_move(int fd);

#endif /* LIB_FALLBACK_H */
