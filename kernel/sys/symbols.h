/* SPDX-License-Identifier: GPL-2.0 */
/* Finds symbols of the kernel that it does not export. */
#ifndef SYSCRIPT_SYMBOLS_H
#define SYSCRIPT_SYMBOLS_H

/*
 * The address of a function or variable, or NULL.  For a function that begins with an endbr64 it
 * is the address after that, for direct calls only: kernels with IBT seal functions that they
 * never call indirectly.  May sleep; @name stays until symbols_done().
 */
void *symbols_find(const char *name);

/*
 * Call after the last symbols_find() of a module that is being loaded, whether loading failed or
 * not.
 */
void symbols_done(void);

#endif /* SYSCRIPT_SYMBOLS_H */
