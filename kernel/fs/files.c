// SPDX-License-Identifier: GPL-2.0
/*
 * Implements files.h. Besides the mode switches, a batch saves path resolution, because
 * consecutive files of one directory are looked up in it, and descriptors, because a file that is
 * only read or written does not get one.
 *
 * Everything but a regular file under its own name is left to the system calls.
 */
#include <linux/audit.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/xacct.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/unistd.h>
#include <asm/word-at-a-time.h>

#include "compat.h"
#include "attributes.h"
#include "files_entry.h"
#include "internals.h"
#include "fs/readdirplus.h"
#include "kernel/run_priv.h"
#include "kernel/syscalls.h"
#include "syscall_observers.h"

/* Number of remembered directories: files often alternate between a few. */
#define FILES_PARENTS	4

/* A directory, and the part of a path by which it was found. */
struct files_parent {
	struct attributes_parent at;
	bool is_held;
	unsigned long since;		/* jiffies when it was looked up */
	char *dir;
	unsigned int len;
};

struct files {
	struct run *run;
	const struct files_request *request;
	char *path;			/* path of the current file */
	const char *name;		/* last component of @path */
	unsigned int len;
	s64 size;			/* size of a file that has filled its buffer */
	bool wants_size;
	bool is_part;			/* reading stopped before the end of the file */
	struct files_parent parents[FILES_PARENTS];
	struct files_parent *parent;	/* directory of the last file; NULL: none yet */
};

/* -- Directories ----------------------------------------------------------- */

static void files_drop_parent(struct files_parent *parent)
{
	if (parent->is_held)
		path_put(&parent->at.path);
	parent->is_held = false;
}

static noinline void files_init_parents(struct files *files)
{
	char *room = files->path + PATH_MAX;
	unsigned int i;

	for (i = 0; i < FILES_PARENTS; i++) {
		files->parents[i].is_held = false;
		files->parents[i].len = 0;
		files->parents[i].dir = room + i * PATH_MAX;
	}
	files->parent = files->parents;
}

static void files_drop_parents(struct files *files)
{
	unsigned int i;

	if (!files->parent)
		return;
	for (i = 0; i < FILES_PARENTS; i++)
		files_drop_parent(&files->parents[i]);
}

/* Gets the batch's own directory, for names without a slash. */
static int files_base_path(int dirfd, struct path *path)
{
	struct file *file;

	if (dirfd == AT_FDCWD) {
		get_fs_pwd(current->fs, path);
		return 0;
	}
	file = fget_raw(dirfd);
	if (!file)
		return -EBADF;
	*path = file->f_path;
	path_get(path);
	fput(file);
	return 0;
}

static bool files_has_dot_dot(const char *dir)
{
	const char *at;

	for (at = dir; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' && at[1] == '.' && at[2] == '/')
			return true;
	}
	return false;
}

/*
 * Finds directory @dir, which ends with a slash, below the batch's own. vfs_path_lookup() takes
 * that for the root, which only ".." and symbolic links would reveal: both are left to the system
 * calls, as is a single file, for which this does not pay.
 */
static int files_path_below(const struct files *files, const char *dir, struct path *path)
{
	struct path base;
	int err;

	if (files->request->n == 1 || files_has_dot_dot(dir))
		return -EXDEV;
	err = files_base_path(files->request->dirfd, &base);
	if (err)
		return err;
	err = vfs_path_lookup(base.dentry, base.mnt, dir,
			      LOOKUP_DIRECTORY | LOOKUP_NO_SYMLINKS, path);
	path_put(&base);
	return err;
}

/*
 * Finds the directory of the first @len bytes of the path, the last slash included.  Replaces
 * entries round robin.
 */
static int files_find_parent(struct files *files, unsigned int len)
{
	struct files_parent *parent = files->parent + 1;
	struct path path;
	int err;

	if (parent == files->parents + FILES_PARENTS)
		parent = files->parents;
	files->parent = parent;
	files_drop_parent(parent);
	memcpy(parent->dir, files->path, len);
	parent->dir[len] = '\0';
	parent->len = len;
	if (!len)
		err = files_base_path(files->request->dirfd, &path);
	else if (parent->dir[0] == '/' || files->request->dirfd == AT_FDCWD)
		err = kern_path(parent->dir, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &path);
	else
		err = files_path_below(files, parent->dir, &path);
	if (err)
		return err;
	if (!d_can_lookup(path.dentry)) {
		path_put(&path);
		return -ENOTDIR;
	}
	attributes_parent_init(&parent->at, &path);
	parent->is_held = true;
	parent->since = jiffies;
	return 0;
}

/*
 * The directory is looked up again with each tick, so that locking or moving it also affects a
 * long batch.
 */
static bool files_is_parent(const struct files *files, const struct files_parent *parent,
			    unsigned int len)
{
	return len == parent->len && parent->is_held && parent->since == jiffies &&
	       !memcmp(parent->dir, files->path, len);
}

/* Usually it is the directory of the last file. */
static bool files_same_parent(struct files *files, unsigned int len)
{
	unsigned int i;

	if (files_is_parent(files, files->parent, len))
		return true;
	for (i = 0; i < FILES_PARENTS; i++)
		if (files_is_parent(files, &files->parents[i], len)) {
			files->parent = &files->parents[i];
			return true;
		}
	return false;
}

/* -- Paths ----------------------------------------------------------------- */

#define WORD	sizeof(unsigned long)

/*
 * strncpy_from_user() of PATH_MAX bytes spends most of its time on checking the object's bounds;
 * this copies word by word.  Paths near the end of a mapping are left to it.
 */
static long files_copy_path(char *to, const char __user *from)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	unsigned long word, bits;
	long len;

	if (!user_read_access_begin(from, PATH_MAX))
		goto slow;
	for (len = 0; len < PATH_MAX; len += WORD) {
		unsafe_get_user(word, (const unsigned long __user *)(from + len), fault);
		*(unsigned long *)(to + len) = word;
		if (has_zero(word, &bits, &constants)) {
			bits = create_zero_mask(prep_zero_mask(word, bits, &constants));
			len += find_zero(bits);
			break;
		}
	}
	user_read_access_end();
	return len;
fault:
	user_read_access_end();
slow:
	return strncpy_from_user(to, from, PATH_MAX);
}

static bool files_read_path(struct files *files, u64 addr)
{
	long len = files_copy_path(files->path, (const char __user *)addr);

	files->len = len;
	return len > 0 && len < PATH_MAX;
}

/*
 * Finds the directory of a path that has been read.  True if the last component can be looked up
 * there.
 */
static bool files_find_parent_of_name(struct files *files)
{
	unsigned int len = files->len, dir_len = len;

	while (dir_len && files->path[dir_len - 1] != '/')
		dir_len--;
	files->name = files->path + dir_len;
	files->len = len - dir_len;
	if (!files->len || files->len > NAME_MAX || attributes_is_dot(files->name, files->len))
		return false;
	if (!files->parent)
		files_init_parents(files);
	return files_same_parent(files, dir_len) || !files_find_parent(files, dir_len);
}

static bool files_find_name(struct files *files, u64 addr)
{
	return files_read_path(files, addr) && files_find_parent_of_name(files);
}

/* -- Attributes ------------------------------------------------------------ */

static int files_stat_resolved(const struct files *files, const struct syscript_file *f,
			 struct syscript_stat *stat)
{
	const struct files_request *request = files->request;
	unsigned int flags = request->flags & AT_SYMLINK_NOFOLLOW ? 0 : LOOKUP_FOLLOW;
	struct path path;
	int err;

	for (;;) {
		err = compat_user_path_at(request->dirfd, (char __user *)f->path,
					  flags, &path);
		if (!err) {
			err = attributes_get(&path, request->mask, current_user_ns(),
					     stat);
			path_put(&path);
		}
		if (err != -ESTALE || flags & LOOKUP_REVAL)
			return err;
		flags |= LOOKUP_REVAL;
	}
}

static int files_put_stat(const struct syscript_file *f, const struct syscript_stat *stat)
{
	return copy_to_user((void __user *)f->data, stat, sizeof(*stat)) ? -EFAULT : 0;
}

/* By the system call: path resolution tells audit of the names. */
static long files_stat_by_path(const struct files *files, const struct syscript_file *f)
{
	struct syscript_stat stat __uninitialized;

	return files_stat_resolved(files, f, &stat) ?: files_put_stat(f, &stat);
}

static long files_stat(struct files *files, const struct syscript_file *f)
{
	const struct files_request *request = files->request;
	struct syscript_stat stat __uninitialized;
	int err = -ESTALE;

	if (likely(files_find_name(files, f->path)))
		err = attributes_cached(&files->parent->at, files->name, files->len,
					!(request->flags & AT_SYMLINK_NOFOLLOW),
					request->mask, &stat);
	if (unlikely(err == -ESTALE))
		err = files_stat_resolved(files, f, &stat);
	return err ?: files_put_stat(f, &stat);
}

static noinline long files_stat_watched(struct files *files, const struct syscript_file *f)
{
	const struct files_request *request = files->request;
	struct observers_call call = { .nr = __NR_statx, .args = {
		request->dirfd, f->path, request->flags | AT_NO_AUTOMOUNT,
		request->mask & ~ATTRIBUTES_XATTRS, f->data,
	} };

	return observers_ask(files->run, &call) ?:
		observers_done(&call, audits_ask() ? files_stat_by_path(files, f) :
						    files_stat(files, f));
}

/* -- Opening --------------------------------------------------------------- */

/* For one name in a directory, only these flags of open(2) mean the same as for a path. */
#define PLAIN_FLAGS	(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND |	\
			 O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_LARGEFILE)

/* For a single name it does not matter whether the process has changed its root. */
static struct file *files_open_name(struct files *files, int flags)
{
	struct file *file;

	if (!files_find_parent_of_name(files))
		return NULL;
	file = file_open_root(&files->parent->at.path, files->name,
			      flags | O_NOFOLLOW | O_LARGEFILE,
			      files->request->mode);
	/* A symbolic link is followed by path resolution, not here. */
	return file == ERR_PTR(-ELOOP) ? NULL : file;
}

/*
 * Opens a single file by its whole path: looking up the directory first pays only for a second
 * file there.
 */
static bool files_is_alone(const struct files *files)
{
	return files->request->n == 1 &&
	       (files->path[0] == '/' || files->request->dirfd == AT_FDCWD);
}

static struct file *files_open_path(const struct files *files, int flags)
{
	struct filename name = { .name = files->path };

	return static_call(internals_open_name)(&name, flags | O_LARGEFILE,
						files->request->mode);
}

/* As files_open_plain(), without asking observers. */
static __always_inline struct file *files_open_unwatched(struct files *files,
							 const struct syscript_file *f,
							 int flags)
{
	struct file *file;

	if ((flags & ~PLAIN_FLAGS) || !files_read_path(files, f->path))
		return NULL;
	file = files_is_alone(files) && audit_dummy_context() ? files_open_path(files, flags) :
								files_open_name(files, flags);
	if (!IS_ERR_OR_NULL(file))
		compat_fsnotify_open(file);
	return file;
}

/* Opens the file as open(2) does, if it is a regular file. NULL if the system call has to do it. */
static struct file *files_open_plain(struct files *files, const struct syscript_file *f,
			       int flags)
{
	/* Observers see the system calls. */
	return observers_watch() ? NULL : files_open_unwatched(files, f, flags);
}

static long files_open_slow(const struct files *files, const struct syscript_file *f,
		      int flags)
{
	return syscalls_plain(files->run, openat, files->request->dirfd, f->path,
			      flags | O_LARGEFILE, files->request->mode);
}

/* The descriptor takes over the reference. */
static void files_install(unsigned int fd, struct file *file, int flags)
{
	if (!(flags & O_NOFOLLOW)) {
		spin_lock(&file->f_lock);
		file->f_flags &= ~O_NOFOLLOW;
		spin_unlock(&file->f_lock);
	}
	fd_install(fd, file);
}

/*
 * Opens with a descriptor, and puts the file into @file as well, with a reference of its own.
 * The descriptor is allocated first, because open(2) neither creates nor truncates if there is
 * none.
 */
static long files_open_fd(struct files *files, const struct syscript_file *f,
		    struct file **file)
{
	int flags = files->request->flags;
	int fd = get_unused_fd_flags(flags);

	*file = fd < 0 ? NULL : files_open_plain(files, f, flags);
	if (!IS_ERR_OR_NULL(*file)) {
		get_file(*file);
		files_install(fd, *file, flags);
		return fd;
	}
	if (fd >= 0)
		put_unused_fd(fd);
	if (*file)
		return PTR_ERR(*file);
	fd = files_open_slow(files, f, flags);
	if (fd < 0)
		return fd;
	*file = fget_raw(fd);
	/* Another thread may have closed the descriptor. */
	return *file ? fd : -EBADF;
}

static long files_stat_file(struct files *files, const struct syscript_file *f,
			    const struct file *file)
{
	struct syscript_stat stat __uninitialized;

	return attributes_get(&file->f_path, files->request->mask, current_user_ns(),
			      &stat) ?: files_put_stat(f, &stat);
}

static noinline long files_stat_file_watched(struct files *files,
					     const struct syscript_file *f,
					     const struct file *file, long fd)
{
	struct observers_call call = { .nr = __NR_statx, .args = {
		fd, 0, AT_EMPTY_PATH,
		files->request->mask & ~ATTRIBUTES_XATTRS, f->data,
	} };
	long err = observers_ask(files->run, &call);

	if (err)
		return err;
	audits_see_file(file->f_path.dentry);
	return observers_done(&call, files_stat_file(files, f, file));
}

static long files_open(struct files *files, const struct syscript_file *f)
{
	struct file *file;
	long fd = files_open_fd(files, f, &file);
	long err;

	if (fd < 0)
		return fd;
	if (f->data) {
		err = observers_watch() ? files_stat_file_watched(files, f, file, fd) :
					 files_stat_file(files, f, file);
		if (err) {
			close_fd(fd);
			fd = err;
		}
	}
	fput(file);
	return fd;
}

/* -- Contents -------------------------------------------------------------- */

/*
 * Bytes between two checks of clocks and signals, so that a large request, such as an array of
 * untouched pages, does not delay the end of the run.
 */
#define AT_ONCE	(1UL << 20)

/* After a short transfer, which a signal may have caused. */
static bool has_to_stop(struct run *run)
{
	return run_is_over(run, true) || signal_pending(current);
}

/* Reads until the buffer is full or the file ends; an error after some data is not reported. */
static ssize_t files_read_all(struct files *files, struct file *file, u64 addr, size_t size)
{
	struct iov_iter iter;
	ssize_t done = 0, n;
	loff_t pos = 0;

	do {
		iov_iter_ubuf(&iter, READ, (void __user *)addr + done,
			      min(size - done, AT_ONCE));
		n = vfs_iter_read(file, &iter, &pos, 0);
		inc_syscr(current);
		if (n <= 0)
			break;
		add_rchar(current, n);
		done += n;
		if (done == size || pos == i_size_read(file_inode(file)))
			return done;
	} while (!has_to_stop(files->run));
	files->is_part = n;
	return done ?: n;
}

static ssize_t files_write_all(struct run *run, struct file *file, u64 addr, size_t size)
{
	struct iov_iter iter;
	ssize_t done = 0, n;
	loff_t pos = 0;

	do {
		iov_iter_ubuf(&iter, WRITE, (void __user *)addr + done,
			      min(size - done, AT_ONCE));
		n = compat_iter_write(file, &iter, &pos);
		inc_syscw(current);
		if (n <= 0)
			break;
		add_wchar(current, n);
		done += n;
	} while (done < size && !has_to_stop(run));
	return done ?: n;
}

static ssize_t files_transfer_slow(struct files *files, bool reads, long fd, u64 addr,
				   size_t size)
{
	struct run *run = files->run;
	ssize_t done = 0, n;
	size_t some;

	do {
		some = min(size - done, AT_ONCE);
		n = reads ? syscalls_plain(run, read, fd, addr + done, some, 0) :
			    syscalls_plain(run, write, fd, addr + done, some, 0);
		if (n <= 0)
			break;
		done += n;
	} while (done < size && !has_to_stop(run));
	files->is_part = n && done < size;
	return done ?: n;
}

static bool is_plain_file(const struct file *file, bool reads)
{
	const struct file_operations *ops = file->f_op;

	if (!S_ISREG(file_inode(file)->i_mode))
		return false;
	return reads ? !ops->read && ops->read_iter : !ops->write && ops->write_iter;
}

/* An error of close(2) concerns the data written, on a network file system. */
static long files_close_after(struct file *file, long done)
{
	int err = filp_close(file, current->files);

	return done >= 0 && err ? err : done;
}

/* Installs a descriptor for a file that needs the system calls after all. */
static long files_give_fd(struct file *file, int flags)
{
	int fd = get_unused_fd_flags(flags);

	if (fd < 0)
		fput(file);
	else
		files_install(fd, file, flags);
	return fd;
}

static long files_transfer_plain(struct files *files, const struct syscript_file *f, bool reads,
				 struct file *file)
{
	long done;

	if (unlikely(!access_ok((void __user *)f->data, f->size)))
		done = -EFAULT;
	else
		done = reads ? files_read_all(files, file, f->data, f->size) :
			       files_write_all(files->run, file, f->data, f->size);
	files->size = i_size_read(file_inode(file));
	return files_close_after(file, done);
}

/* Reads or writes by system calls; @file, if not NULL, is already open. */
static noinline long files_transfer_fd(struct files *files, const struct syscript_file *f,
				       int flags, struct file *file)
{
	bool reads = (flags & O_ACCMODE) == O_RDONLY;
	long fd, done;
	int err;

	fd = file ? files_give_fd(file, flags) : files_open_slow(files, f, flags);
	if (fd < 0)
		return fd;
	done = files_transfer_slow(files, reads, fd, f->data, f->size);
	if (files->wants_size && done == f->size && !files->run->stop_reason)
		files->size = syscalls_plain(files->run, lseek, fd, 0, SEEK_END, 0);
	/* A run that must end makes no system call. */
	err = files->run->stop_reason ? close_fd(fd) :
	      syscalls_plain(files->run, close, fd, 0, 0, 0);
	return done >= 0 && err ? err : done;
}

/* Reads or writes the file that files_open_plain() has returned. */
static __always_inline long files_transfer_opened(struct files *files,
						  const struct syscript_file *f, int flags,
						  struct file *file)
{
	bool reads = (flags & O_ACCMODE) == O_RDONLY;

	if (IS_ERR(file))
		return PTR_ERR(file);
	return likely(file && is_plain_file(file, reads)) ?
		files_transfer_plain(files, f, reads, file) :
		files_transfer_fd(files, f, flags, file);
}

static long files_transfer(struct files *files, const struct syscript_file *f, int flags)
{
	return files_transfer_opened(files, f, flags, files_open_plain(files, f, flags));
}

/* -- Batches --------------------------------------------------------------- */

static long files_one(struct files *files, const struct syscript_file *f)
{
	switch (files->request->op) {
	case FILES_STAT:
		return unlikely(observers_watch()) ? files_stat_watched(files, f) :
						    files_stat(files, f);
	case FILES_OPEN:
		return files_open(files, f);
	case FILES_READ:
		return files_transfer(files, f, O_RDONLY | O_CLOEXEC | files->request->flags);
	case FILES_WRITE:
		return files_transfer(files, f, O_WRONLY | O_CLOEXEC | files->request->flags);
	}
	return -EINVAL;
}

/* False if there is no memory. */
static bool files_prepare(struct files *files, struct run *run, const struct files_request *request)
{
	char *buffer = run_buffer(run);

	static_assert(READDIRPLUS_ROOM + (1 + FILES_PARENTS) * PATH_MAX <= RUN_BUFFER_SIZE);
	if (!buffer)
		return false;
	files->run = run;
	files->request = request;
	files->wants_size = false;
	files->is_part = false;
	files->size = -1;
	/* Behind the records of a directory, which share the buffer and stay valid. */
	files->path = buffer + READDIRPLUS_ROOM;
	files->parent = NULL;
	return true;
}

struct call {
	struct run *run;
	const struct files_request *request;
};

/* Reads all fields but the result, which is only written. */
static bool files_get(struct syscript_file *f, const struct syscript_file __user *user)
{
	if (!user_read_access_begin(user, sizeof(*user)))
		return false;
	unsafe_get_user(f->path, &user->path, fault);
	unsafe_get_user(f->data, &user->data, fault);
	unsafe_get_user(f->size, &user->size, fault);
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

static long files_as_syscall(void *arg)
{
	struct call *call = arg;
	const struct files_request *request = call->request;
	struct syscript_file __user *user = (void __user *)request->addr;
	struct files files __uninitialized;
	struct syscript_file f;
	unsigned int i;
	int err = 0;

	if (!files_prepare(&files, call->run, request))
		return -ENOMEM;
	for (i = 0; i < request->n && !err; i++, user++) {
		if (!files_get(&f, user)) {
			err = -EFAULT;
			break;
		}
		f.result = syscalls_result(files_one(&files, &f));
		if (put_user(f.result, &user->result))
			err = -EFAULT;
		/* Each file is released before the next is opened. */
		if (run_is_over(call->run, request->op != FILES_STAT) ||
		    signal_pending(current))
			err = -EINTR;
	}
	files_drop_parents(&files);
	return i ? (long)i : err;
}

long files_batch(struct run *run, const struct files_request *request)
{
	struct call call = { run, request };

	return run_as_syscall(run, files_as_syscall, &call, request->op != FILES_STAT);
}

/* -- One file ------------------------------------------------------------------ */

static __always_inline long files_read_one(struct run *run, struct files_reading *reading,
					   bool may_be_watched)
{
	const struct files_request request = { .op = FILES_READ, .dirfd = reading->dirfd, .n = 1 };
	const struct syscript_file f = {
		.path = reading->path, .data = reading->addr, .size = reading->size,
	};
	int flags = O_RDONLY | O_CLOEXEC | reading->flags;
	struct files files __uninitialized;
	struct file *file;
	long done;

	if (!files_prepare(&files, run, &request))
		return -ENOMEM;
	files.wants_size = true;
	file = may_be_watched ? files_open_plain(&files, &f, flags) :
				files_open_unwatched(&files, &f, flags);
	done = files_transfer_opened(&files, &f, flags, file);
	files_drop_parents(&files);
	if (done >= 0)
		reading->total = done < f.size ? done : files_total(done, files.size);
	return done > 0 && files.is_part && signal_pending(current) ? -EINTR : done;
}

long files_read_entry(const struct pt_regs *regs)
{
	struct run *run = (struct run *)regs_arg(regs, 0);
	struct files_reading *reading = (struct files_reading *)regs_arg(regs, 1);
	long ret = files_read_one(run, reading, false);

	/* The file must be released before the next call. */
	usermode_works();
	return syscalls_result(ret);
}

struct reading_call {
	struct run *run;
	struct files_reading *reading;
};

static long read_as_syscall(void *arg)
{
	struct reading_call *call = arg;

	return files_read_one(call->run, call->reading, true);
}

long files_read_sleepable(struct run *run, struct files_reading *reading)
{
	struct reading_call call = { run, reading };

	return run_as_syscall(run, read_as_syscall, &call, true);
}
