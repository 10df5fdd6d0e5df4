// SPDX-License-Identifier: GPL-2.0
/*
 * Implements scratch.h. The process may unmap or replace the mapping at any time, and the script
 * may end in another process: the memory is unmapped only where the whole mapping is still the
 * script's file.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "scratch.h"

struct scratch {
	struct work_struct work;	/* embedded, so that freeing needs no allocation */
	struct file *file;
	struct mm_struct *mm;		/* held; also with mm_users while ->work is queued */
	unsigned long addr;
};

static struct workqueue_struct *workqueue;

static void scratch_free(struct scratch *scratch)
{
	fput(scratch->file);
	mmdrop(scratch->mm);
	kfree(scratch);
}

static bool is_whole(const struct scratch *scratch)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool whole;

	if (mmap_read_lock_killable(mm))
		return false;
	vma = find_vma(mm, scratch->addr);
	whole = vma && vma->vm_file == scratch->file &&
		vma->vm_start == scratch->addr &&
		vma->vm_end == scratch->addr + SCRATCH_SIZE;
	mmap_read_unlock(mm);
	return whole;
}

/* Runs in the script's process, or in a kernel thread that has adopted its memory map. */
static void unmap_here(const struct scratch *scratch)
{
	/* The only race is with another thread that maps something at this address now. */
	if (is_whole(scratch))
		vm_munmap(scratch->addr, SCRATCH_SIZE);
}

static void unmap_elsewhere(struct work_struct *work)
{
	struct scratch *scratch = container_of(work, struct scratch, work);

	kthread_use_mm(scratch->mm);
	unmap_here(scratch);
	kthread_unuse_mm(scratch->mm);
	mmput(scratch->mm);
	scratch_free(scratch);
}

long scratch_map(struct scratch **scratch)
{
	struct scratch *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	long ret;

	if (!s)
		return -ENOMEM;
	s->file = compat_shmem_file_setup("syscript-scratch", SCRATCH_SIZE);
	if (IS_ERR(s->file)) {
		ret = PTR_ERR(s->file);
		goto free;
	}
	s->addr = vm_mmap(s->file, 0, SCRATCH_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE, 0);
	if (IS_ERR_VALUE(s->addr)) {
		ret = s->addr;
		goto put_file;
	}
	INIT_WORK(&s->work, unmap_elsewhere);
	mmgrab(current->mm);
	s->mm = current->mm;
	*scratch = s;
	return s->addr;

put_file:
	fput(s->file);
free:
	kfree(s);
	return ret;
}

/*
 * The last descriptor may have been closed by another process, or by the last user of the map, in
 * its exit.  A child's copy of the scratch belongs to the child, and a map without users is about
 * to be freed.
 */
void scratch_unmap(struct scratch *scratch)
{
	if (!scratch)
		return;
	if (current->mm == scratch->mm) {
		unmap_here(scratch);
		scratch_free(scratch);
	} else if (mmget_not_zero(scratch->mm)) {
		queue_work(workqueue, &scratch->work);
	} else {
		scratch_free(scratch);
	}
}

int scratch_init(void)
{
	workqueue = alloc_workqueue("syscript", WQ_UNBOUND, 0);
	return workqueue ? 0 : -ENOMEM;
}

void scratch_exit(void)
{
	destroy_workqueue(workqueue);
}
