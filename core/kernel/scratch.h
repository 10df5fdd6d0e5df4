/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A script's scratch memory: SCRATCH_SIZE bytes in its process's memory map, for
 * buffers and string arguments.
 *
 * It is private memory, mapped from a file of its own for each script: so only the
 * scratch is unmapped in the end, and nothing that the process has mapped there
 * since.  The file is the kernel's own (shmem): a mapping that outlives its script
 * does not hold the module.
 */
#ifndef SYSCRIPT_SCRATCH_H
#define SYSCRIPT_SCRATCH_H

#define SCRATCH_SIZE	(1 << 20)	/* bytes */

struct scratch;

int scratch_init(void);
/* Waits for work that scratch_unmap() has queued. */
void scratch_exit(void);

/* Maps a scratch for the current process: its address, or -errno.  May sleep. */
long scratch_map(struct scratch **scratch);

/*
 * Unmaps it, unless the process has changed the mapping: then it is the
 * process's, which may use the rest.  In any process; frees @scratch, which may
 * be NULL.  May sleep.
 */
void scratch_unmap(struct scratch *scratch);

#endif /* SYSCRIPT_SCRATCH_H */
