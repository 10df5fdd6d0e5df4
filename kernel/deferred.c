// SPDX-License-Identifier: GPL-2.0
/* See deferred.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>

#include "compat.h"
#include "deferred.h"

/* The kernel's ____fput(): what queued work of fput() calls. */
static task_work_func_t release_file __ro_after_init;

/*
 * Takes the releases out of the task's works, oldest first.  As task_work_run()
 * does it: works are added without a lock, but who cancels one, and so looks
 * past the first, holds ->pi_lock.
 */
static struct callback_head *take_releases(void)
{
	struct callback_head *work, *next, *head, *releases = NULL, *rest = NULL;
	struct callback_head **last = &rest;

	raw_spin_lock_irq(&current->pi_lock);
	for (work = xchg(&current->task_works, NULL); work; work = next) {
		next = work->next;
		if (work->func == release_file) {
			work->next = releases;
			releases = work;
		} else {
			*last = work;
			last = &work->next;
		}
	}
	if (rest) {
		head = READ_ONCE(current->task_works);
		do {
			*last = head;
		} while (!try_cmpxchg(&current->task_works, &head, rest));
	}
	raw_spin_unlock_irq(&current->pi_lock);
	return releases;
}

void __deferred_release(void)
{
	struct callback_head *work = take_releases(), *next;

	for (; work; work = next) {
		next = work->next;
		release_file(work);
	}
}

/* Nothing exports ____fput(): let go of a file and see what gets queued. */
int deferred_init(void)
{
	struct file *file = filp_open("/", O_PATH, 0);
	const struct callback_head *work;

	if (IS_ERR(file))
		return PTR_ERR(file);
	fput(file);
	raw_spin_lock_irq(&current->pi_lock);
	for (work = READ_ONCE(current->task_works); work; work = work->next)
		if ((void *)work >= (void *)file && (void *)work < (void *)(file + 1))
			release_file = work->func;
	raw_spin_unlock_irq(&current->pi_lock);
	if (release_file)
		return 0;
	pr_err("this kernel releases files in a way that is not known here\n");
	return -ENOENT;
}
