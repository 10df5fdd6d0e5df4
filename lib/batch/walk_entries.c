// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements walk_entries.h in bounded memory. A tree may have any depth, a directory any size,
 * and both may change meanwhile. So for each level only the subdirectories of one batch are kept,
 * and only the deepest levels have an open descriptor. Of higher levels the position is noted;
 * they are found again as "..", if that is still the same directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/sys.h"
#include "walk_entries.h"

#define DEPTH_OPEN	24		/* levels with an open descriptor */
#define ROOM		(32 << 10)	/* bytes of a batch's records */
#define OPEN_FLAGS	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

/**
 * struct level - a directory on the path from the top to the current one
 * @fd:    -1: closed at position @pos of the directory @dev, @ino
 * @names: subdirectories of the last batch, each with its NUL, @used bytes of @room; names from
 *         @next on have not been entered yet
 * @path:  length of its path, with the slash
 * @ended: the directory has no more batches
 */
struct level {
	int fd;
	off_t pos;
	dev_t dev;
	ino_t ino;
	char *names;
	size_t used, room, next, path;
	bool ended;
};

/**
 * struct entries_walk - a walk
 * @levels:  @depth levels in use, and allocated ones for reuse, @nlevels in all
 * @path:    path of the deepest level, with room for @path_room bytes
 * @at:      position in @records, which has the deepest level's last batch up to @end
 * @dev:     device of the top, if other file systems are not to be entered
 * @process: process that has opened it
 * @paths:   1: calls ask for paths, 0: for sums only, -1: not known yet
 */
struct entries_walk {
	struct level *levels;
	unsigned int depth, nlevels;
	char *path;
	size_t path_room, at, end;
	unsigned int flags;
	dev_t dev;
	pid_t process;
	int paths;
	uint64_t records[ROOM / sizeof(uint64_t)];
};

/* -- Levels ------------------------------------------------------------------------ */

/* Makes *@p, of *@room bytes, at least @need bytes long. 0 or -ENOMEM. */
static int make_room(char **p, size_t *room, size_t need)
{
	size_t size = *room ?: 256;
	char *more;

	if (need <= *room)
		return 0;
	while (size < need)
		size *= 2;
	more = realloc(*p, size);
	if (!more)
		return -ENOMEM;
	*p = more;
	*room = size;
	return 0;
}

static int more_levels(struct entries_walk *walk)
{
	unsigned int n = walk->nlevels * 2 ?: 32;
	struct level *more = realloc(walk->levels, n * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memset(more + walk->nlevels, 0, (n - walk->nlevels) * sizeof(*more));
	walk->levels = more;
	walk->nlevels = n;
	return 0;
}

/* A position is valid only in the directory that it was read from. */
static void close_far(struct level *level)
{
	struct stat st = { 0 };

	if (level->fd < 0)
		return;
	level->pos = sys_call(lseek, level->fd, 0, SEEK_CUR);
	if (sys_call(fstat, level->fd, &st))
		level->pos = -1;
	level->dev = st.st_dev;
	level->ino = st.st_ino;
	sys_call(close, level->fd);
	level->fd = -1;
}

/* Makes @fd the deepest level, whose path has @path bytes. */
static int push(struct entries_walk *walk, int fd, size_t path)
{
	struct level *level;

	if (walk->depth == walk->nlevels && more_levels(walk))
		return -ENOMEM;
	level = &walk->levels[walk->depth++];
	level->fd = fd;
	level->used = level->next = 0;
	level->path = path;
	level->ended = false;
	if (walk->depth > DEPTH_OPEN + 1)
		close_far(level - DEPTH_OPEN);
	return 0;
}

static void drop(struct entries_walk *walk)
{
	struct level *level = &walk->levels[--walk->depth];

	if (level->fd >= 0)
		sys_call(close, level->fd);
	level->fd = -1;
}

static int open_dir(int dirfd, const char *name)
{
	return sys_above_standard(sys_call(openat, dirfd, name, OPEN_FLAGS));
}

/* Reopens the level above, through the directory @fd, which was in it. */
static int open_above(const struct level *above, int fd)
{
	int found = open_dir(fd, "..");
	struct stat st;

	if (found < 0)
		return -1;
	if (above->pos >= 0 && !sys_call(fstat, found, &st) && st.st_dev == above->dev &&
	    st.st_ino == above->ino &&
	    sys_call(lseek, found, above->pos, SEEK_SET) == above->pos)
		return found;
	sys_call(close, found);
	return -1;
}

static void pop(struct entries_walk *walk, struct syscript_walk_sums *sums)
{
	struct level *level = &walk->levels[walk->depth - 1];

	if (walk->depth > 1 && level[-1].fd < 0)
		level[-1].fd = open_above(&level[-1], level->fd);
	drop(walk);
	/* The directory was moved: the rest of it, and of the levels above, cannot be reached. */
	while (walk->depth && walk->levels[walk->depth - 1].fd < 0) {
		sums->errors++;
		drop(walk);
	}
}

/* -- Entries ----------------------------------------------------------------------- */

static int keep_name(struct level *level, const struct syscript_dirent *entry)
{
	size_t len = entry->namelen + 1;
	int err = make_room(&level->names, &level->room, level->used + len);

	if (err)
		return err;
	memcpy(level->names + level->used, entry->name, len);
	level->used += len;
	return 0;
}

static bool is_entered(const struct entries_walk *walk, const struct syscript_dirent *entry)
{
	int type = entry->stat.mask & STATX_TYPE ? entry->stat.mode >> 12 & 15 : entry->type;

	return type == DT_DIR &&
	       (!(walk->flags & SYSCRIPT_WALK_XDEV) || entry->stat.dev == walk->dev);
}

/*
 * Appends the entry's path to the @written bytes of @paths: returns its length, or 0 if it does
 * not fit.
 */
static size_t put_path(const struct entries_walk *walk, const struct syscript_dirent *entry,
		       char *paths, size_t size, size_t written)
{
	size_t prefix = walk->levels[walk->depth - 1].path, len = entry->namelen + 1;

	if (prefix + len > size - written)
		return 0;
	memcpy(paths + written, walk->path, prefix);
	memcpy(paths + written + prefix, entry->name, len);
	return prefix + len;
}

/*
 * Appends the paths of the rest of the batch, as far as they fit: returns their bytes, or -errno.
 */
static ssize_t look(struct entries_walk *walk, char *paths, size_t size,
		    struct syscript_walk_sums *sums)
{
	struct level *level = &walk->levels[walk->depth - 1];
	const struct syscript_dirent *entry;
	size_t written = 0, len;
	int err = 0;

	for (; walk->at < walk->end; walk->at += entry->reclen) {
		entry = (const void *)((const char *)walk->records + walk->at);
		if (entry->error) {
			sums->entries += entry->error != -ENOENT;
			sums->errors += entry->error != -ENOENT;
			continue;
		}
		len = paths ? put_path(walk, entry, paths, size, written) : 1;
		if (!len)
			return written ? (ssize_t)written : -ENAMETOOLONG;
		if (is_entered(walk, entry))
			err = keep_name(level, entry);
		if (err)
			return err;
		written += paths ? len : 0;
		sums->entries++;
		sums->matches++;
	}
	return written;
}

/* -- Steps ------------------------------------------------------------------------- */

static void read_batch(struct entries_walk *walk, struct level *level,
		       struct syscript_walk_sums *sums)
{
	unsigned int mask = walk->flags & SYSCRIPT_WALK_XDEV ? STATX_TYPE | STATX_INO : STATX_TYPE;
	int end = 0;
	ssize_t n = syscript_readdirplus(level->fd, walk->records, ROOM, mask, 0, &end);

	level->used = level->next = 0;
	level->ended = end || n <= 0;
	sums->errors += n < 0;
	walk->at = 0;
	walk->end = n > 0 ? n : 0;
}

/* Enters the next subdirectory of @level. */
static int enter(struct entries_walk *walk, struct level *level, struct syscript_walk_sums *sums)
{
	const char *name = level->names + level->next;
	size_t len = strlen(name), path = level->path;
	int fd = open_dir(level->fd, name), err;

	level->next += len + 1;
	if (fd < 0) {
		sums->errors += fd != -ENOENT;
		return 0;
	}
	err = make_room(&walk->path, &walk->path_room, path + len + 1);
	if (!err) {
		memcpy(walk->path + path, name, len);
		walk->path[path + len] = '/';
		err = push(walk, fd, path + len + 1);
	}
	if (err)
		sys_call(close, fd);
	else
		sums->dirs++;
	return err;
}

static int step(struct entries_walk *walk, struct syscript_walk_sums *sums)
{
	struct level *level = &walk->levels[walk->depth - 1];

	if (level->next < level->used)
		return enter(walk, level, sums);
	if (level->ended)
		pop(walk, sums);
	else
		read_batch(walk, level, sums);
	return 0;
}

ssize_t entries_walk_next(struct entries_walk *walk, char *paths, size_t size,
			  struct syscript_walk_sums *sums)
{
	ssize_t ret = 0;

	/* The child's descriptors share their positions with the parent's. */
	if (walk->process != sys_call(getpid))
		return -EXDEV;
	if (walk->paths >= 0 && walk->paths != !!paths)
		return -EINVAL;
	if (walk->paths < 0)
		sums->dirs++;
	walk->paths = !!paths;
	while (!ret && walk->depth)
		ret = walk->at < walk->end ? look(walk, paths, size, sums) : step(walk, sums);
	return ret;
}

/* -- Begin and end ----------------------------------------------------------------- */

struct entries_walk *entries_walk_open(int top, unsigned int flags)
{
	struct entries_walk *walk = calloc(1, sizeof(*walk));
	struct stat st;

	if (!walk)
		return NULL;
	walk->flags = flags;
	walk->paths = -1;
	walk->process = sys_call(getpid);
	if (flags & SYSCRIPT_WALK_XDEV && !sys_call(fstat, top, &st))
		walk->dev = st.st_dev;
	if (push(walk, top, 0)) {
		free(walk);
		return NULL;
	}
	return walk;
}

void entries_walk_close(struct entries_walk *walk)
{
	if (!walk)
		return;
	while (walk->depth)
		drop(walk);
	for (unsigned int i = 0; i < walk->nlevels; i++)
		free(walk->levels[i].names);
	free(walk->levels);
	free(walk->path);
	free(walk);
}
