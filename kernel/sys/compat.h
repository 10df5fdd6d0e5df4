/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between the kernels that the module builds for, from 6.1 to the newest:
 * functions that older kernels lack are defined here under their newer names, so that no other
 * file tests a version.
 */
#ifndef SYSCRIPT_COMPAT_H
#define SYSCRIPT_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "syscript needs Linux 6.1 or newer"
#endif

#include <linux/mm.h>

#if PAGE_SHIFT != 12
#error "syscript needs a kernel with pages of 4 KiB"
#endif

#include <linux/fs.h>
#include <linux/fsnotify.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/posix_acl.h>
#include <linux/preempt.h>
#include <linux/rcupdate_trace.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/uio.h>
#include <linux/xattr.h>
#include <net/sock.h>

/* 6.1.y has backported these names. */
#ifndef ITER_DEST
#define ITER_SOURCE	WRITE
#define ITER_DEST	READ
#endif
#ifndef __no_stack_protector
#define __no_stack_protector	__attribute__((__no_stack_protector__))
#endif

/* Set if the compiler zeroes all variables on the stack. */
#ifndef __uninitialized
#define __uninitialized	__attribute__((__uninitialized__))
#endif

/* The name of a namespace of exported symbols. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define COMPAT_NS(name)	#name
#else
#define COMPAT_NS(name)	name
#endif

static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*fn)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = fn;
#endif
}

/* Returns 0 or -EINTR. Not all kernels export rtnl_lock_killable(). */
static inline int compat_rtnl_lock_killable(void)
{
	while (!rtnl_trylock()) {
		if (fatal_signal_pending(current))
			return -EINTR;
		schedule_timeout_killable(1);
	}
	return 0;
}

static inline int compat_inode_permission(const struct path *path, int mask)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return inode_permission(mnt_idmap(path->mnt), d_inode(path->dentry), mask);
#else
	return inode_permission(mnt_user_ns(path->mnt), d_inode(path->dentry), mask);
#endif
}

/* The size that getxattr(2) returns without a buffer; access control lists: see below. */
static inline ssize_t compat_getxattr_size(const struct path *path, const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return vfs_getxattr(mnt_idmap(path->mnt), path->dentry, name, NULL, 0);
#else
	return vfs_getxattr(mnt_user_ns(path->mnt), path->dentry, name, NULL, 0);
#endif
}

/*
 * Newer kernels have separate functions for access control lists.  Positive if the file has one,
 * or -errno.
 */
static inline ssize_t compat_acl_size(const struct path *path, const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	struct posix_acl *acl = vfs_get_acl(mnt_idmap(path->mnt), path->dentry, name);
#else
	struct posix_acl *acl = vfs_get_acl(mnt_user_ns(path->mnt), path->dentry, name);
#endif

	if (IS_ERR(acl))
		return PTR_ERR(acl);
	posix_acl_release(acl);
	return 1;
#else
	return compat_getxattr_size(path, name);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
/* Exported, but declared in fs/internal.h. */
int vfs_path_lookup(struct dentry *dentry, struct vfsmount *mnt,
		    const char *name, unsigned int flags, struct path *path);
#endif

/* A shmem file whose pages are charged when they are used, not when it is created. */
static inline struct file *compat_shmem_file_setup(const char *name, loff_t size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return shmem_file_setup(name, size, mk_vma_flags(VMA_NORESERVE_BIT));
#else
	return shmem_file_setup(name, size, VM_NORESERVE);
#endif
}

/* Is a struct filename valid that has only ->name set, and zeros elsewhere? */
#define COMPAT_PLAIN_FILENAME	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))

/* Newer kernels call fsnotify in each function that opens a file. */
static inline void compat_fsnotify_open(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	fsnotify_open(file);
#endif
}

static inline int compat_user_path_at(int dfd, const char __user *name,
				      unsigned int flags, struct path *path)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return user_path_at(dfd, name, flags, path);
#else
	return user_path_at_empty(dfd, name, flags, path, NULL);
#endif
}

static inline ssize_t compat_iter_write(struct file *file, struct iov_iter *iter,
					loff_t *pos)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	ssize_t ret;

	file_start_write(file);
	ret = vfs_iter_write(file, iter, pos, 0);
	file_end_write(file);
	return ret;
#else
	return vfs_iter_write(file, iter, pos, 0);
#endif
}

/* The caller holds siglock. */
static inline int compat_dequeue_signal(sigset_t *mask, kernel_siginfo_t *info)
{
	enum pid_type type;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	return dequeue_signal(current, mask, info, &type);
#else
	return dequeue_signal(mask, info, &type);
#endif
}

/* Around calls of raw_syscalls' tracepoints, whose probes may fault on newer kernels. */
static inline void compat_syscall_tracepoint_lock(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	rcu_read_lock_trace();
#else
	preempt_disable_notrace();
#endif
}

static inline void compat_syscall_tracepoint_unlock(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	rcu_read_unlock_trace();
#else
	preempt_enable_notrace();
#endif
}

static inline void compat_sk_drops_add(struct sock *sk, int n)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	sk_drops_add(sk, n);
#else
	atomic_add(n, &sk->sk_drops);
#endif
}

static inline struct file *compat_fd_file(struct fd fd)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return fd_file(fd);
#else
	return fd.file;
#endif
}

/* Fragments in a device's memory are not readable. */
static inline bool compat_skb_frags_readable(const struct sk_buff *skb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return skb_frags_readable(skb);
#else
	return true;
#endif
}

/* For a mapping that is being made, which no other task sees: takes no lock. */
static inline void compat_vm_flags_init(struct vm_area_struct *vma, vm_flags_t flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_init(vma, flags);
#else
	vma->vm_flags = flags;
#endif
}

#ifndef ftrace_regs_set_instruction_pointer
#define ftrace_regs_set_instruction_pointer ftrace_instruction_pointer_set
#endif

/* An attribute that statx(2) does not show to user space. */
#ifdef STATX_ATTR_CHANGE_MONOTONIC
#define COMPAT_STATX_ATTR_INTERNAL	STATX_ATTR_CHANGE_MONOTONIC
#else
#define COMPAT_STATX_ATTR_INTERNAL	0ULL
#endif

#endif /* SYSCRIPT_COMPAT_H */
