/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What fs.* (lib_fs.c) asks of its place, beside vm.h.  Only plain C types.
 */
#ifndef SYSCRIPT_VM_FS_H
#define SYSCRIPT_VM_FS_H

struct vm;

/* Room for records of one batch: some 150 entries. */
#define VM_BATCH_SIZE	32768

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

#endif
