/* SPDX-License-Identifier: GPL-2.0 */
/* Symbols of the kernel that it does not export. */
#ifndef SYSCRIPT_SYMBOLS_H
#define SYSCRIPT_SYMBOLS_H

/*
 * The address of a function or variable, or NULL.  For a function that begins with
 * an endbr64, the address after it: good for direct calls only, as kernels with IBT
 * seal what they never call indirectly.  May sleep; @name stays until symbols_done().
 */
void *symbols_find(const char *name);

/* After the last symbols_find() of a module that is being loaded, whether that failed or not. */
void symbols_done(void);

#endif /* SYSCRIPT_SYMBOLS_H */
