/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM's scratch memory: VM_SCRATCH_SIZE bytes in the process's memory map,
 * for util.buffer() and string arguments.
 *
 * They are as anonymous as the process's own, but mapped from a file of which
 * there is one for each VM: so what is unmapped in the end is the scratch, and
 * nothing that the process has put there since.
 */
#ifndef SYSCRIPT_LUAJIT_SCRATCH_H
#define SYSCRIPT_LUAJIT_SCRATCH_H

struct file;

/* The address, with the file in @file, or -errno.  May sleep. */
long scratch_map(struct file **file);

/*
 * Unmaps it unless the process has changed the mapping: then it is the
 * process's, which may use the rest.  Lets go of @file; NULL is none.
 */
void scratch_unmap(struct file *file, unsigned long addr);

#endif
