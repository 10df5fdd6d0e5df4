// SPDX-License-Identifier: GPL-2.0
/* See scratch.h. */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "../compat.h"
#include "scratch.h"
#include "vm.h"

/* As a private mapping of /dev/zero. */
static int scratch_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma_set_anonymous(vma);
	return 0;
}

/* The owner keeps the module for as long as the process has the mapping. */
static const struct file_operations scratch_file_ops = {
	.owner = THIS_MODULE,
	.mmap = scratch_file_mmap,
	.llseek = noop_llseek,
};

long scratch_map(struct file **file)
{
	unsigned long addr;

	*file = anon_inode_getfile("[syscript-scratch]", &scratch_file_ops, NULL,
				   O_RDWR);
	if (IS_ERR(*file)) {
		addr = PTR_ERR(*file);
		goto none;
	}
	addr = vm_mmap(*file, 0, VM_SCRATCH_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE, 0);
	if (!IS_ERR_VALUE(addr))
		return addr;
	fput(*file);
none:
	*file = NULL;
	return addr;
}

static bool is_whole(struct file *file, unsigned long addr)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool whole;

	/* An exiting process has no map, or none that is worth the trouble. */
	if (!mm || mmap_read_lock_killable(mm))
		return false;
	vma = find_vma(mm, addr);
	whole = vma && vma->vm_file == file && vma->vm_start == addr &&
		vma->vm_end == addr + VM_SCRATCH_SIZE;
	mmap_read_unlock(mm);
	return whole;
}

void scratch_unmap(struct file *file, unsigned long addr)
{
	if (!file)
		return;
	/* Only another thread that puts something there right now is too late. */
	if (is_whole(file, addr))
		vm_munmap(addr, VM_SCRATCH_SIZE);
	fput(file);
}
