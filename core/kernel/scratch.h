/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A script's scratch memory: SCRATCH_SIZE bytes in its process's memory map, for buffers and
 * string arguments.
 *
 * It is a private mapping of a file that only this script has, by which the scratch is recognised
 * when it is unmapped: memory that the process has mapped there since stays.  The file is
 * shmem's, so a mapping that outlives its script does not pin the module.
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
 * Unmaps the scratch, unless the process has changed the mapping: then the process owns it, and
 * may go on to use it. In any process; frees @scratch, which may be NULL. May sleep.
 */
void scratch_unmap(struct scratch *scratch);

#endif /* SYSCRIPT_SCRATCH_H */
