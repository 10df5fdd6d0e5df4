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
#include <sys/single_threaded.h>
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
	struct chunk *chunk;
	size_t at;
	off_t position;			/* of the entry that is next */
};

static void stream_lock(struct stream *stream)
{
	if (!__libc_single_threaded)
		pthread_mutex_lock(&stream->lock);
}

static void stream_unlock(struct stream *stream)
{
	if (!__libc_single_threaded)
		pthread_mutex_unlock(&stream->lock);
}

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
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->chunk = chunk_new(size);
	if (!stream->chunk) {
		free(stream);
		return NULL;
	}
	stream->fd = fd;
	stream->magic = MAGIC;
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

/* Room for the next entries: listings may have the last ones. */
static struct chunk *stream_chunk(struct stream *stream)
{
	struct chunk *chunk = stream->chunk;

	if (atomic_load(&chunk->users) > 1) {
		chunk = chunk_new(chunk->size);
		if (!chunk)
			return NULL;
		chunk_put(stream->chunk);
		stream->chunk = chunk;
	}
	stream->at = 0;
	chunk->end = 0;
	return chunk;
}

/* False at the end, or with errno. */
static bool stream_read(struct stream *stream)
{
	struct chunk *chunk = stream_chunk(stream);
	long n = chunk ? sys_call(getdents64, stream->fd, chunk->entries, chunk->size) : -ENOMEM;

	speedup_saw();
	/* Of a directory that was removed, which is no error for POSIX. */
	if (n < 0 && n != -ENOENT)
		errno = -n;
	if (n <= 0)
		return false;
	chunk->end = n;
	speedup_listed(chunk);
	return true;
}

/* The next entry; NULL at the end, or with errno. */
static struct dirent64 *stream_next(struct stream *stream)
{
	struct dirent64 *entry;

	if (stream->at >= stream->chunk->end && !stream_read(stream))
		return NULL;
	entry = (void *)(stream->chunk->entries + stream->at);
	stream->at += entry->d_reclen;
	stream->position = entry->d_off;
	return entry;
}

PUBLIC struct dirent64 *readdir64(DIR *dir)
{
	static struct dirent64 *(*next)(DIR *);
	struct stream *stream = stream_of(dir);
	struct dirent64 *entry;

	if (!stream) {
		NEXT(next, "readdir64");
		return next(dir);
	}
	stream_lock(stream);
	entry = stream_next(stream);
	stream_unlock(stream);
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
	stream_lock(stream);
	found = stream_next(stream);
	if (found)
		memcpy(entry, found, found->d_reclen);
	stream_unlock(stream);
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
	chunk_put(stream->chunk);
	free(stream);
	return close(fd);
}

static void stream_move(struct stream *stream, off_t position)
{
	stream_lock(stream);
	sys_call(lseek, stream->fd, position, SEEK_SET);
	stream->position = position;
	stream->at = stream->chunk->end;
	stream_unlock(stream);
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
