/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The entries of a directory with the attributes of their files, as getdents64(2)
 * and, for each, statx(2) would give them to the current task.
 *
 * Plain C, for engines.  readdirplus.c implements this for the module,
 * core/user/readdirplus.c for a process.
 */
#ifndef SYSCRIPT_READDIRPLUS_H
#define SYSCRIPT_READDIRPLUS_H

struct run;

/* Room for the records of one call, some 150 entries. */
#define READDIRPLUS_ROOM	32768

/**
 * struct readdirplus - the next entries of a directory
 * @fd:      the directory; its position moves on
 * @names: 0, or user address of entries as getdents64(2) writes them: these are looked up, and
 *	@fd's position does not change
 * @names_len: bytes of @names; a truncated last entry is ignored
 * @mask:    STATX_*, 0 for names only
 * @flags:   SYSCRIPT_DOTS
 * @room:    the most bytes of records that are wanted
 * @max:     the most entries
 * @records: out: struct syscript_dirent, valid until the next call
 * @used: out: bytes of @records
 * @n: out: number of @records
 * @end: out: the directory has no more entries
 * @start:   out: the position before
 * @taken: out: bytes of @names that were processed
 */
struct readdirplus {
	int fd;
	unsigned long names, names_len;
	unsigned int mask, flags;
	unsigned long room;
	unsigned int max;
	char *records;
	unsigned long used;
	unsigned int n;
	int end;
	long long start;
	unsigned long taken;
};

/*
 * 0 or -errno; -EINVAL if the first entry does not fit into @room, or is invalid.  May stop after
 * the first of many @names.  Replaces a system call: see run_as_syscall().
 */
long readdirplus(struct run *run, struct readdirplus *request);

#endif /* SYSCRIPT_READDIRPLUS_H */
