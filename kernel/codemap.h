/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profiler cannot name machine code that is not in /proc/kallsyms.  The file syscript/symbols
 * in debugfs has the missing lines, a symbol for each function of each program.
 */
#ifndef SYSCRIPT_CODEMAP_H
#define SYSCRIPT_CODEMAP_H

void codemap_init(void);
void codemap_exit(void);

#endif /* SYSCRIPT_CODEMAP_H */
