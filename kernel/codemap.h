/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For profilers: the lines of /proc/kallsyms that it does not have, those of the
 * programs' machine code, in debugfs: syscript/symbols.
 */
#ifndef SYSCRIPT_CODEMAP_H
#define SYSCRIPT_CODEMAP_H

void codemap_init(void);
void codemap_exit(void);

#endif /* SYSCRIPT_CODEMAP_H */
