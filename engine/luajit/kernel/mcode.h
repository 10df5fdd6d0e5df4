/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for the machine code of all VMs: pages of the module's text, which the loader has mapped
 * read-only and executable, within reach of the VM's relative jumps. They are written through a
 * second mapping, not executable, and writable only between mcode_writable(true) and
 * mcode_writable(false).
 *
 * Addresses are those of the second mapping; code runs at mcode_delta from it.
 */
#ifndef SYSCRIPT_LUAJIT_MCODE_H
#define SYSCRIPT_LUAJIT_MCODE_H

#define MCODE_PAGES	2048

#ifndef __ASSEMBLY__

#include <linux/types.h>

#include "engine.h"

int mcode_init(void);
void mcode_exit(void);

/*
 * These functions do not sleep.  mcode_get(): @size bytes, in whole pages, writable; marks them in
 * @owned, a bitmap of MCODE_PAGES.  NULL if there are none left.
 */
void *mcode_get(unsigned long *owned, unsigned long size);
void mcode_put(unsigned long *owned, void *p, unsigned long size);
void mcode_put_all(unsigned long *owned);
void mcode_writable(void *p, unsigned long size, bool writable);

/* For profilers: records that code at @p was made from @line; calls back for all such records. */
void mcode_note_line(const void *p, unsigned long size, unsigned int line);
void mcode_each(const unsigned long *owned, engine_code_fn *add, void *arg);

/* Is more than half of the area in use? */
bool mcode_scarce(void);

#endif /* __ASSEMBLY__ */
#endif /* SYSCRIPT_LUAJIT_MCODE_H */
