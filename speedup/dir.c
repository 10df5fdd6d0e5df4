// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Directory streams, as libc's: the same system calls with the same sizes, so the
 * program gets what it would get.  What is different: the names are noted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "speedup.h"
#include "sys.h"

#define DIR_SIZE_MIN	32768
#define DIR_SIZE_MAX	1048576

#define MAGIC		0x737973637269707aULL

/*
 * What programs know as DIR.  Some streams are libc's, of the time before this
 * library was ready or after it stopped: those have a size at @magic.
 */
struct stream {
	int fd;
	uint64_t magic;
	pthread_mutex_t lock;
	dev_t dev;
	ino_t ino;
	size_t size, at, end;
	off_t position;			/* of the entry that is next */
	char buffer[] __attribute__((aligned(16)));
};

/* NULL: it is one of libc's. */
static struct stream *stream_of(DIR *dir)
{
	struct stream *stream = (struct stream *)dir;

	return stream && stream->magic == MAGIC ? stream : NULL;
}

static DIR *stream_open(int fd, const struct stat *st)
{
	size_t size = st->st_blksize;
	struct stream *stream;

	if (size < DIR_SIZE_MIN)
		size = DIR_SIZE_MIN;
	if (size > DIR_SIZE_MAX)
		size = DIR_SIZE_MAX;
	stream = malloc(sizeof(*stream) + size);
	if (!stream)
		return NULL;
	memset(stream, 0, sizeof(*stream));
	stream->fd = fd;
	stream->magic = MAGIC;
	stream->size = size;
	stream->dev = st->st_dev;
	stream->ino = st->st_ino;
	pthread_mutex_init(&stream->lock, NULL);
	return (DIR *)stream;
}

PUBLIC DIR *fdopendir(int fd)
{
	static DIR *(*next)(int);
	struct stat st;
	int flags;

	NEXT(next, "fdopendir");
	if (!speedup_active())
		return next(fd);
	if (fstat(fd, &st))
		return NULL;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return NULL;
	}
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return NULL;
	if ((flags & O_ACCMODE) == O_WRONLY || flags & O_PATH) {
		errno = flags & O_PATH ? EBADF : EINVAL;
		return NULL;
	}
	return stream_open(fd, &st);
}

PUBLIC DIR *opendir(const char *path)
{
	static DIR *(*next)(const char *);
	int fd, err;
	DIR *dir;
	struct stat st;

	NEXT(next, "opendir");
	if (!speedup_active())
		return next(path);
	if (!*path) {
		errno = ENOENT;
		return NULL;
	}
	fd = open(path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	dir = fstat(fd, &st) ? NULL : stream_open(fd, &st);
	if (!dir) {
		err = errno;
		close(fd);
		errno = err;
	}
	return dir;
}

static void note_names(const struct stream *stream, bool first)
{
	struct listing *listings = speedup_listings();
	struct listing *listing = listings ?
		listing_get(listings, stream->dev, stream->ino) : NULL;

	if (!listing)
		return;
	if (first) {
		listing->used = 0;
		listing->cursor = 0;
		listing->misses = 0;
	}
	for (size_t at = 0; at < stream->end;) {
		const struct dirent64 *entry = (const void *)(stream->buffer + at);

		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			listing_add(listing, entry->d_name);
		at += entry->d_reclen;
	}
}

/* The next entry; NULL at the end, or with errno. */
static struct dirent64 *stream_next(struct stream *stream)
{
	struct dirent64 *entry;
	long n;

	if (stream->at >= stream->end) {
		n = sys_call(getdents64, stream->fd, stream->buffer, stream->size);
		speedup_saw();
		/* Of a directory that was removed, which is no error for POSIX. */
		if (n < 0 && n != -ENOENT)
			errno = -n;
		stream->at = 0;
		stream->end = n > 0 ? n : 0;
		if (n <= 0)
			return NULL;
		note_names(stream, !stream->position);
	}
	entry = (void *)(stream->buffer + stream->at);
	stream->at += entry->d_reclen;
	stream->position = entry->d_off;
	return entry;
}

PUBLIC struct dirent64 *readdir64(DIR *dir)
{
	static struct dirent64 *(*next)(DIR *);
	struct stream *stream = stream_of(dir);
	struct dirent64 *entry;

	NEXT(next, "readdir64");
	if (!stream)
		return next(dir);
	pthread_mutex_lock(&stream->lock);
	entry = stream_next(stream);
	pthread_mutex_unlock(&stream->lock);
	return entry;
}

PUBLIC int readdir64_r(DIR *dir, struct dirent64 *entry, struct dirent64 **result)
{
	static int (*next)(DIR *, struct dirent64 *, struct dirent64 **);
	struct stream *stream = stream_of(dir);
	int saved = errno, err;
	struct dirent64 *found;

	NEXT(next, "readdir64_r");
	if (!stream)
		return next(dir, entry, result);
	errno = 0;
	pthread_mutex_lock(&stream->lock);
	found = stream_next(stream);
	if (found)
		memcpy(entry, found, found->d_reclen);
	pthread_mutex_unlock(&stream->lock);
	err = errno;
	errno = saved;
	*result = found ? entry : NULL;
	return found ? 0 : err;
}

/* On a 64-bit machine struct dirent64 is the same. */
PUBLIC struct dirent *readdir(DIR *dir)
{
	return (struct dirent *)readdir64(dir);
}

PUBLIC int readdir_r(DIR *dir, struct dirent *entry, struct dirent **result)
{
	return readdir64_r(dir, (struct dirent64 *)entry, (struct dirent64 **)result);
}

PUBLIC int dirfd(DIR *dir)
{
	static int (*next)(DIR *);
	struct stream *stream = stream_of(dir);

	NEXT(next, "dirfd");
	return stream ? stream->fd : next(dir);
}

PUBLIC int closedir(DIR *dir)
{
	static int (*next)(DIR *);
	struct stream *stream = stream_of(dir);
	int fd;

	NEXT(next, "closedir");
	if (!dir) {
		errno = EINVAL;
		return -1;
	}
	if (!stream) {
		speedup_closing(dirfd(dir));
		return next(dir);
	}
	fd = stream->fd;
	stream->magic = 0;
	free(stream);
	return close(fd);
}

static void stream_move(struct stream *stream, off_t position)
{
	pthread_mutex_lock(&stream->lock);
	sys_call(lseek, stream->fd, position, SEEK_SET);
	stream->position = position;
	stream->at = 0;
	stream->end = 0;
	pthread_mutex_unlock(&stream->lock);
}

PUBLIC void seekdir(DIR *dir, long position)
{
	static void (*next)(DIR *, long);
	struct stream *stream = stream_of(dir);

	NEXT(next, "seekdir");
	if (stream)
		stream_move(stream, position);
	else
		next(dir, position);
}

PUBLIC void rewinddir(DIR *dir)
{
	static void (*next)(DIR *);
	struct stream *stream = stream_of(dir);

	NEXT(next, "rewinddir");
	if (stream)
		stream_move(stream, 0);
	else
		next(dir);
}

PUBLIC long telldir(DIR *dir)
{
	static long (*next)(DIR *);
	struct stream *stream = stream_of(dir);

	NEXT(next, "telldir");
	return stream ? stream->position : next(dir);
}
