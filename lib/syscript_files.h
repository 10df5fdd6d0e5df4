/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: work on many files or directory entries with one mode switch.  Link with
 * -lsyscript.
 *
 * The functions run the scripts of the same names (scripts/ in the source), which are part of the
 * library: they are registered when first used, in the kernel if possible, and kept. A function
 * that makes a single batch needs no script if the kernel's confined engine can be used: an image
 * of four instructions makes the batch, with the same results. Any thread may call the functions,
 * and so may the child of a fork().
 *
 * They return 0, a positive value, or -errno; they do not change errno.  Effects on each file,
 * and errors, are those of the plain system calls.  A signal handler runs between two files,
 * never in the middle of the work on one.
 *
 * <linux/syscript_files.h> has the structures.
 */
#ifndef _SYSCRIPT_FILES_H
#define _SYSCRIPT_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/syscript_files.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads entries of the directory @dirfd from its position on, with the attributes of @mask
 * (STATX_*; 0 for names only): one struct syscript_dirent after the other, aligned to 8 bytes; so
 * must @buf be.  @flags: SYSCRIPT_DOTS.  *@end (which may be NULL) becomes 1 if there are no
 * more.
 *
 * Returns the bytes written to @buf, 0 at the end, or -errno; -EINVAL if @size
 * has no room for the next entry.
 */
ssize_t syscript_readdirplus(int dirfd, void *buf, size_t size, unsigned int mask,
			     unsigned int flags, int *end);

/*
 * Opens the directory @path, reads its entries and, if they all fit into @buf, closes it: *@fd
 * becomes -1. Otherwise *@fd is the directory, from which syscript_readdirplus() reads the rest,
 * and which the caller closes.
 */
ssize_t syscript_opendirplus(int dirfd, const char *path, void *buf, size_t size,
			     unsigned int mask, unsigned int flags, int *fd);

/* The entry after @entry, if it begins below @buf + the number of bytes returned. */
static inline struct syscript_dirent *syscript_next_dirent(struct syscript_dirent *entry)
{
	return (struct syscript_dirent *)((char *)entry + entry->reclen);
}

/*
 * For @n files: get attributes; read contents; write contents; open, and get attributes. Each
 * file's result is in .result.  Relative paths begin at @dirfd.
 *
 * @mask: STATX_*.  @flags of stat_many: 0 or AT_SYMLINK_NOFOLLOW; of the others:
 * O_*, to which read_many adds O_RDONLY | O_CLOEXEC and write_many O_WRONLY | O_CLOEXEC. @mode:
 * mode of files that are created.
 *
 * They return 0, or -errno if not all of @files could be processed.
 */
int syscript_stat_many(int dirfd, struct syscript_file *files, size_t n,
		       unsigned int mask, int flags);
int syscript_read_many(int dirfd, struct syscript_file *files, size_t n, int flags);
int syscript_write_many(int dirfd, struct syscript_file *files, size_t n, int flags,
			mode_t mode);
int syscript_open_many(int dirfd, struct syscript_file *files, size_t n, int flags,
		       mode_t mode, unsigned int mask);

/*
 * Reads a file to its end, or until @buf is full. *@total (@total may be NULL) becomes its size
 * in bytes, or -1 if only reading to the end could tell. Returns the bytes read or -errno.
 */
ssize_t syscript_open_read_close(int dirfd, const char *path, void *buf, size_t size,
				 int64_t *total);

/*
 * Writes all of @buf to a file.  @flags: O_CREAT, O_TRUNC, O_APPEND, O_EXCL, or SYSCRIPT_ATOMIC:
 * writes and syncs a temporary file, and renames it to @path, so that at any time the file has
 * either its old or all of its new contents; with O_EXCL only if @path does not exist.  Returns
 * the bytes written or -errno.
 */
ssize_t syscript_open_write_close(int dirfd, const char *path, const void *buf,
				  size_t size, int flags, mode_t mode);
#define SYSCRIPT_ATOMIC		(1 << 30)

/*
 * Opens a file and gets its attributes.  @flags and @mode are those of open(2). Returns the
 * descriptor or -errno.
 */
int syscript_open_fstat(int dirfd, const char *path, int flags, mode_t mode,
			unsigned int mask, struct syscript_stat *stat);

/*
 * Copies a file by the first method that works: reflink, copy_file_range(2), sendfile(2), or
 * reading and writing. @flags: O_EXCL; @mode: mode of a new copy. Returns the bytes copied or
 * -errno.
 */
int64_t syscript_copy_file(int from_dirfd, const char *from, int to_dirfd,
			   const char *to, int flags, mode_t mode);

/**
 * struct syscript_sending - what syscript_send_file() sends
 * @dirfd, @path: the file, as for openat(2); a regular file
 * @offset:    offset of the first byte to send
 * @count:     the most bytes of the file to send; 0 for all
 * @head:      bytes that are sent before the file
 * @head_size: size of @head, 0 for none
 * @flags:     SYSCRIPT_LENGTH
 */
struct syscript_sending {
	int dirfd;
	const char *path;
	int64_t offset;
	int64_t count;
	const void *head;
	size_t head_size;
	unsigned int flags;
};

/*
 * Sends after the head the number of bytes of the file that follow, in decimal, and two line
 * ends: then the head of an HTTP reply can end with "Content-Length: ".
 */
#define SYSCRIPT_LENGTH		(1 << 0)

/*
 * Opens a file, sends the head and the file's contents to the socket, pipe or file
 * @out, by sendfile(2), and closes the file.
 *
 * Returns the bytes sent, head included: fewer than requested if @out is non-blocking and full,
 * or a signal came. *@size, if not NULL, becomes the size of the file. Returns -errno if nothing
 * was sent: -EISDIR, -EINVAL if it is not a regular file, or an error of the plain calls.
 */
int64_t syscript_send_file(int out, const struct syscript_sending *what, int64_t *size);

/**
 * struct syscript_walk_sums - totals of a walk, over all of its steps
 * @entries: entries below the top
 * @matches: entries for which match() was true
 * @sum:     the sum of sum()'s results for matches
 * @errors:  entries whose attributes could not be read, and directories that could not be entered
 * @dirs:    directories read, the top included
 */
struct syscript_walk_sums {
	int64_t entries;
	int64_t matches;
	int64_t sum;
	int64_t errors;
	int64_t dirs;
};

struct syscript_walk;

/*
 * Prepares a walk of the tree below @dirfd, which may be closed afterwards. @functions: Lua text
 * with the functions match, sum, prune and the list columns (scripts/walk.lua), or NULL: all
 * entries match, and no script is needed.  @flags: SYSCRIPT_WALK_XDEV.  @error, which may be
 * NULL, gets the text of an error in the functions.
 *
 * Returns 0 or -errno.  A walk is used by one thread at a time.
 */
int syscript_walk_open(struct syscript_walk **walk, int dirfd, const char *functions,
		       unsigned int flags, char *error, size_t error_len);
#define SYSCRIPT_WALK_XDEV	(1 << 0)	/* stay on the file system of @dirfd */

/*
 * Continues the walk.  Stores the paths of matching entries in @paths, relative to the top, each
 * with its NUL; at most @size bytes in all. With NULL the call computes only sums, and finishes
 * the walk. A walk gets paths in all of its calls or in none.
 *
 * Returns the bytes of paths, 0 at the end, or -errno; *@sums (@sums may be NULL) is updated in
 * each case.
 */
ssize_t syscript_walk_next(struct syscript_walk *walk, char *paths, size_t size,
			   struct syscript_walk_sums *sums);

/*
 * The text of the last error in the walk's functions, as syscript_error().
 */
int syscript_walk_error(struct syscript_walk *walk, char *buf, size_t len);

/*
 * Begins another walk with the same functions, of the tree below @dirfd, whether the last walk
 * was finished or not. Nothing is compiled again, and the functions' variables keep their values.
 * @sums begin at 0.
 *
 * Returns 0, or -errno with the walk unchanged.
 */
int syscript_walk_restart(struct syscript_walk *walk, int dirfd);

/* Releases the walk, finished or not. */
void syscript_walk_close(struct syscript_walk *walk);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_FILES_H */
