/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What fs.* (lib_fs.c) asks of its place, beside vm.h.  Only plain C types.
 */
#ifndef SYSCRIPT_VM_FS_H
#define SYSCRIPT_VM_FS_H

struct vm;

/* Room for records of one batch: some 150 entries. */
#define VM_BATCH_SIZE	32768
#define VM_PATHS_SIZE	8192		/* behind them, for port_files() */

/**
 * struct vm_dir - the next entries of a directory
 * @fd:      the directory; its position moves on
 * @mask:    STATX_*, 0 for names only
 * @flags:   SYSCRIPT_DOTS
 * @room:    how many bytes of records are wanted at most
 * @max:     how many entries
 * @records: out: struct syscript_dirent, valid until the next batch
 * @used:    out: bytes of them
 * @n:       out: how many they are
 * @end:     out: there are no more
 * @start:   out: the position before
 */
struct vm_dir {
	int fd;
	unsigned int mask, flags;
	unsigned long room;
	unsigned int max;
	char *records;
	unsigned long used;
	unsigned int n;
	int end;
	long long start;
};

/*
 * 0 or -errno; -EINVAL if @room has no place for the first entry.  Leaves VM
 * mode, and may set vm->doom as port_syscall() does.
 */
long port_readdirplus(struct vm *vm, struct vm_dir *dir);

enum vm_files_op { VM_FILES_STAT, VM_FILES_READ, VM_FILES_WRITE, VM_FILES_OPEN };

/**
 * struct vm_files - a batch of files
 * @op:    what to do with them
 * @dirfd: where relative paths begin, or AT_FDCWD
 * @addr:  user address of struct syscript_file[n]
 * @n:     how many
 * @flags: stat: 0 or AT_SYMLINK_NOFOLLOW; read, write, open: O_*, beside
 *         O_RDONLY or O_WRONLY, and O_CLOEXEC, for the first two
 * @mode:  of files that are created
 * @mask:  stat, open: STATX_*
 */
struct vm_files {
	enum vm_files_op op;
	int dirfd;
	unsigned long addr;
	unsigned int n;
	int flags;
	unsigned int mode, mask;
};

/*
 * How many were done, each with its own result; fewer than @n if a signal is
 * pending or the array cannot be read on.  -errno if it is not even one.
 */
long port_files(struct vm *vm, const struct vm_files *files);

#endif
