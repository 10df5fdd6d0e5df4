// SPDX-License-Identifier: GPL-2.0
/*
 * Implements readdirplus.h in two steps: iterate_dir() puts names into records, under the
 * directory's lock, unless the process brings the names; then, without the lock, each name is
 * looked up and its attributes are added.
 *
 * Names are looked up in the dcache, because nearly everything else that statx(2) does was done
 * once for the directory.  Names that are not cached, mount points, links and names that need
 * revalidation go through path resolution.
 */
#include <linux/dcache.h>
#include <linux/dirent.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/sched/signal.h>
#include <linux/stat.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <asm/word-at-a-time.h>

#include "compat.h"
#include "attributes.h"
#include "fs/readdirplus.h"
#include "run.h"
#include "kernel/run_priv.h"
#include "kernel/syscalls.h"
#include "syscall_observers.h"

#define WORD	sizeof(unsigned long)

/* The most dot entries in one call of the file system: a server decides how many it sends. */
#define PASSED_MAX	1024

/* -- Names ----------------------------------------------------------------- */

struct names {
	struct dir_context ctx;
	struct readdirplus *request;
	unsigned int passed;		/* number of unwanted entries */
	bool full;
	int error;
};

static inline bool has_slash(unsigned long word)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	unsigned long bits;

	return has_zero(word ^ REPEAT_BYTE('/'), &bits, &constants);
}

/*
 * A process sees a name up to its first NUL, and FUSE allows names with more bytes after it.  For
 * names with slashes getdents64(2) fails with -EIO.
 */
static inline int name_length(const char *name)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const unsigned long *word = (const void *)name;
	unsigned long bits;

	for (; !has_zero(*word, &bits, &constants); word++)
		if (has_slash(*word))
			return -EIO;
	if (has_slash(*word))
		return -EIO;
	bits = create_zero_mask(prep_zero_mask(*word, bits, &constants));
	return (const char *)word - name + find_zero(bits);
}

/* Finishes a record whose name is in place, padded with zeros to the next word. */
static inline void finish_name(struct readdirplus *request, size_t len, u64 ino,
			       unsigned int type)
{
	struct syscript_dirent *entry = (void *)(request->records + request->used);

	entry->reclen = sizeof(*entry) + (len / WORD + 1) * WORD;
	entry->namelen = len;
	entry->type = type;
	memset(entry->reserved, 0, sizeof(entry->reserved));
	entry->error = 0;
	entry->reserved2 = 0;
	entry->stat.ino = ino;
	request->used += entry->reclen;
	request->n++;
}

static inline bool readdirplus_pass(struct names *names)
{
	return names->passed++ < PASSED_MAX;
}

static bool add_name(struct dir_context *ctx, const char *name, int len,
		     loff_t offset, u64 ino, unsigned int type)
{
	struct names *names = container_of(ctx, struct names, ctx);
	struct readdirplus *request = names->request;
	struct syscript_dirent *entry = (void *)(request->records + request->used);
	size_t words = len / WORD + 1;
	size_t size = sizeof(*entry) + words * WORD;
	int seen;

	if (unlikely(len <= 0 || len >= PATH_MAX)) {
		names->error = -EIO;
		return false;
	}
	if (unlikely(attributes_is_dot(name, len)) && !(request->flags & SYSCRIPT_DOTS))
		return readdirplus_pass(names);
	if (size > request->room - request->used || request->n == request->max ||
	    (unlikely(signal_pending(current)) && request->n)) {
		names->full = true;
		return false;
	}
	((unsigned long *)entry->name)[words - 1] = 0;
	memcpy(entry->name, name, len);
	seen = name_length(entry->name);
	if (unlikely(seen != len)) {
		if (seen < 0 || memchr(name, '/', len)) {
			names->error = -EIO;
			return false;
		}
		memset(entry->name + seen, 0, len - seen);
		if (attributes_is_dot(entry->name, seen) && !(request->flags & SYSCRIPT_DOTS))
			return readdirplus_pass(names);
	}
	finish_name(request, seen, ino, type);
	return true;
}

/*
 * Reads until the records are full, or a call of the file system adds none.  As for
 * getdents64(2), only a call without any entries is the directory's end: a server's reply may
 * have only dot entries, and the next reply more entries.
 */
static int get_names(struct file *file, struct readdirplus *request)
{
	struct names names = { .ctx.actor = add_name, .request = request };
	unsigned int before;
	int err;

	err = mutex_lock_killable(&file->f_pos_lock);
	if (err)
		return err;
	request->start = file->f_pos;
	do {
		before = request->n;
		names.passed = 0;
		names.ctx.pos = file->f_pos;
		err = iterate_dir(file, &names.ctx);
		if (err >= 0)
			file->f_pos = names.ctx.pos;
		err = err < 0 ? err : names.error;
	} while (!err && !names.full && request->n > before);
	/* Do not move past dots that were skipped. */
	if (names.full && !request->n)
		file->f_pos = request->start;
	mutex_unlock(&file->f_pos_lock);

	request->end = !err && !names.full && !names.passed;
	/* Entries before an error are valid; the next batch gets the error again. */
	if (request->n)
		return 0;
	return names.full ? -EINVAL : err;
}

/* Copies a name that ends within @room bytes, and returns its length; otherwise 0. */
static size_t readdirplus_copy_name(unsigned long *to, const char *name, size_t room)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	unsigned long word, bits;
	size_t len;

	for (len = 0; len < room; len += WORD) {
		memcpy(&word, name + len, WORD);
		if (has_zero(word, &bits, &constants)) {
			bits = create_zero_mask(prep_zero_mask(word, bits, &constants));
			*to = word & zero_bytemask(bits);
			len += find_zero(bits);
			return len < room && !has_slash(*to) ? len : 0;
		}
		if (has_slash(word))
			break;
		*to++ = word;
	}
	return 0;
}

/*
 * Takes names from a process, which got them from getdents64(2) and may have changed them: as
 * many as have room behind the records.  Bytes after the last name are not read.
 */
static int get_names_given(struct readdirplus *request)
{
	const size_t head = offsetof(struct linux_dirent64, d_name);
	size_t size = min_t(size_t, request->names_len,
			    RUN_BUFFER_SIZE - READDIRPLUS_ROOM - WORD);
	const char *raw = request->records + READDIRPLUS_ROOM;

	if (copy_from_user((void *)raw, (void __user *)request->names, size))
		return -EFAULT;
	request->taken = 0;
	while (size - request->taken > head) {
		const struct linux_dirent64 *given = (const void *)(raw + request->taken);
		struct syscript_dirent *entry = (void *)(request->records + request->used);
		size_t room = given->d_reclen - head, len;

		if (given->d_reclen <= head || given->d_reclen > size - request->taken ||
		    sizeof(*entry) + room + WORD > request->room - request->used)
			break;
		len = readdirplus_copy_name((unsigned long *)entry->name, given->d_name, room);
		if (!len)
			break;
		if (!attributes_is_dot(given->d_name, len))
			finish_name(request, len, given->d_ino, given->d_type);
		request->taken += given->d_reclen;
	}
	return request->taken || !request->names_len ? 0 : -EINVAL;
}

/* -- Attributes ------------------------------------------------------------ */

/* Gets attributes by path resolution from the directory: mounts, network file systems, ... */
static noinline int stat_resolved(const struct attributes_parent *parent, u32 mask,
				  struct syscript_dirent *entry)
{
	unsigned int flags = 0;
	struct path path;
	int err;

	/* An empty path would name the directory. */
	if (!entry->namelen)
		return -ENOENT;
	for (;;) {
		err = vfs_path_lookup(parent->path.dentry, parent->path.mnt,
				      entry->name, flags, &path);
		if (!err) {
			err = attributes_get(&path, mask, parent->ns, &entry->stat);
			path_put(&path);
		}
		if (err != -ESTALE || flags)
			return err;
		flags = LOOKUP_REVAL;
	}
}

static inline int stat_entry(struct run *run, const struct attributes_parent *parent,
			     u32 mask, struct syscript_dirent *entry)
{
	int err = attributes_cached(parent, entry->name, entry->namelen, false,
				    mask, &entry->stat);

	if (likely(err != -ESTALE))
		return err;
	/* Checked only after path resolution: a dcache lookup is short. */
	if (unlikely(run_is_over(run, false)))
		return -EINTR;
	return stat_resolved(parent, mask, entry);
}

/* Do the entry's own fields suffice, or does the file have no more attributes? */
static bool is_known(const struct syscript_dirent *entry, u32 mask)
{
	return !mask || (mask == STATX_TYPE && entry->type != DT_UNKNOWN) ||
	       attributes_is_dot(entry->name, entry->namelen);
}

static void no_attributes(struct syscript_dirent *entry, u64 ino, int error)
{
	memset(&entry->stat, 0, sizeof(entry->stat));
	entry->stat.ino = ino;
	entry->error = error;
}

/*
 * Puts the name into memory of the process, where observers read it: the end of the script's
 * scratch, which nothing else uses during a batch.
 */
static unsigned long readdirplus_show_name(struct run *run, const struct syscript_dirent *entry)
{
	unsigned long room = run_scratch_mapped(run);
	unsigned long at = room + SCRATCH_SIZE - NAME_MAX - 1;

	if (IS_ERR_VALUE(room) || entry->namelen > NAME_MAX ||
	    copy_to_user((void __user *)at, entry->name, entry->namelen + 1))
		return 0;
	return at;
}

static noinline long stat_entry_watched(struct run *run, const struct readdirplus *request,
					const struct attributes_parent *parent,
					struct syscript_dirent *entry)
{
	struct observers_call call = { .nr = __NR_statx, .args = {
		request->fd, readdirplus_show_name(run, entry),
		AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		request->mask & ~ATTRIBUTES_XATTRS,
	} };

	if (run->stop_reason)
		return -EINTR;
	/* Audit learns names from path resolution. */
	return observers_ask(run, &call) ?:
		observers_done(&call, audits_ask() ?
			      stat_resolved(parent, request->mask, entry) :
			      stat_entry(run, parent, request->mask, entry));
}

static void get_attributes(struct run *run, struct file *file, struct readdirplus *request)
{
	struct syscript_dirent *entry = (void *)request->records;
	void *end = request->records + request->used;
	struct attributes_parent parent;
	int err;

	attributes_parent_init(&parent, &file->f_path);
	for (; (void *)entry < end; entry = (void *)entry + entry->reclen) {
		u64 ino = entry->stat.ino;

		if (is_known(entry, request->mask)) {
			no_attributes(entry, ino, 0);
			continue;
		}
		err = unlikely(observers_watch()) ?
			stat_entry_watched(run, request, &parent, entry) :
			stat_entry(run, &parent, request->mask, entry);
		if (unlikely(err))
			no_attributes(entry, ino, syscalls_result(err));
	}
}

static noinline int get_names_watched(struct run *run, struct file *file,
				      struct readdirplus *request)
{
	struct observers_call call = { .nr = __NR_getdents64, .args = {
		request->fd, 0, request->room,
	} };
	long err = observers_ask(run, &call);

	if (err)
		return err;
	err = get_names(file, request);
	observers_done(&call, err ?: request->used);
	return err;
}

/* Reads at least one entry, or the directory's end. */
static int read_names(struct run *run, struct file *file, struct readdirplus *request)
{
	int err;

	do {
		err = unlikely(observers_watch()) ? get_names_watched(run, file, request) :
						   get_names(file, request);
	} while (!err && !request->n && !request->end && !run_is_over(run, false));
	return err;
}

static int read_entries(struct run *run, struct readdirplus *request)
{
	struct file *file = request->names ? fget_raw(request->fd) : fget(request->fd);
	int err;

	if (!file)
		return -EBADF;
	/* Files other than directories may use f_pos_lock differently. */
	if (!S_ISDIR(file_inode(file)->i_mode))
		err = -ENOTDIR;
	else if (request->names)
		err = get_names_given(request);
	else
		err = read_names(run, file, request);
	if (!err && request->n)
		get_attributes(run, file, request);
	fput(file);
	return err;
}

struct call {
	struct run *run;
	struct readdirplus *request;
};

static long readdirplus_as_syscall(void *arg)
{
	struct call *call = arg;
	struct readdirplus *request = call->request;

	request->used = 0;
	request->n = 0;
	request->end = false;
	request->room = min_t(size_t, request->room, READDIRPLUS_ROOM);
	request->records = run_buffer(call->run);
	return request->records ? read_entries(call->run, request) : -ENOMEM;
}

long readdirplus(struct run *run, struct readdirplus *request)
{
	struct call call = { run, request };

	static_assert(READDIRPLUS_ROOM <= RUN_BUFFER_SIZE);
	return run_as_syscall(run, readdirplus_as_syscall, &call, false);
}
