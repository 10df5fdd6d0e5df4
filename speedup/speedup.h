/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A library to be loaded before others (LD_PRELOAD): where a program asks for the
 * attributes of one file after another of a directory, the kernel is asked for
 * many at once.  docs/design/speed-up.md has the rule of what may be answered from
 * these, and why.
 */
#ifndef SPEEDUP_H
#define SPEEDUP_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct syscript_stat;

/* Functions that the library puts before libc's. */
#define PUBLIC __attribute__((visibility("default")))

/* Looks @real, a function pointer, up in the libraries after this one. */
#define NEXT(real, name) \
	do { \
		if (!(real)) \
			*(void **)&(real) = dlsym(RTLD_NEXT, name); \
	} while (0)

/* Descriptors from here on are not followed: help ends when one is opened. */
#define FDS	1024

/* -- answers.c ------------------------------------------------------------------ */

/* Whether there may be anything to help with; false once and for all where not. */
bool speedup_active(void);

/* Stops helping this process. */
void speedup_stop(void);

/*
 * The attributes of @path, not followed if it is a symbolic link, if they may be
 * answered with what was fetched.  NULL: the kernel is to be asked.
 */
const struct syscript_stat *speedup_stat(int dirfd, const char *path);

/*
 * What was fetched is worth nothing any more: the process has changed something,
 * or may have learned that another has.  Async-signal-safe.
 */
void speedup_drop(void);

/* The kernel has told this thread something: what was fetched before is older. */
void speedup_saw(void);

/* @fd is about to be closed, or to become another file. */
void speedup_closing(int fd);

/* A handler begins (+1) or ends (-1) in this thread.  Async-signal-safe. */
void speedup_handler(int begins);

/* -- own_files.c ------------------------------------------------------------------ */

/* @fd was opened with @flags of open(2); negative: it was not. */
void own_files_opened(int fd, int flags);

/* @to has become a copy of @from; negative: it has not. */
void own_files_copied(int from, int to);

/* @fd is to be a shared mapping, which may outlive the descriptor. */
void own_files_mapped(int fd);

/* @fd, which is below FDS, is about to be closed. */
void own_files_closing(int fd);

struct own_file {
	dev_t dev;
	ino_t ino;
};

struct own_opening {
	unsigned long number;
	bool is_file;
	struct own_file file;
};

#define OWN_FILES	64

/* What a thread knows of them. */
struct own_files {
	unsigned int n;
	struct own_file list[OWN_FILES];
	struct own_opening seen[FDS];		/* to fill the list from */
};

/* Before a fetch: which files they are.  False: too many. */
bool own_files_look(struct own_files *files);

static inline bool own_files_have(const struct own_files *files, dev_t dev, ino_t ino)
{
	for (unsigned int i = files->n; i--;) {
		if (files->list[i].ino == ino && files->list[i].dev == dev)
			return true;
	}
	return false;
}

/* -- listing.c ------------------------------------------------------------------ */

/* What getdents64(2) has returned at once; a stream has it, and a listing may, too. */
struct chunk {
	atomic_uint users;
	size_t size;			/* of @entries */
	size_t end;			/* bytes that are there */
	char entries[] __attribute__((aligned(16)));
};

/* With one user; NULL without memory. */
struct chunk *chunk_new(size_t size);
void chunk_put(struct chunk *chunk);

/*
 * Names of a directory in the order in which it has them: what is likely to be
 * asked for next.  A hint, which is never right or wrong.  One thread's.
 */
struct listing {
	struct chunk *chunk;
	size_t cursor;
	unsigned long number;		/* no other has it */
	unsigned int misses;
};

#define LISTINGS	16

/* Remembers @chunk in place of the one that was not used for longest. */
void listing_add(struct listing *listings, struct chunk *chunk);

/*
 * The listing that has @name near its cursor, which is then at its entry; it becomes
 * the first.  NULL: there is none.
 */
struct listing *listing_seek(struct listing *listings, const char *name);

/*
 * From the cursor on @most entries, none beyond the first directory if @to_dir: how
 * many, and *@bytes of them.
 */
unsigned int listing_gather(const struct listing *listing, unsigned int most, bool to_dir,
			    size_t *bytes);

/* The one with @number, if it is still there, goes on after @name, which is at @from or later. */
void listing_go_on(struct listing *listings, unsigned long number, size_t from,
		   const char *name);

void listing_free(struct listing *listings);

/* The kernel has put names there.  Returns nothing: it is a hint. */
void speedup_listed(struct chunk *chunk);

#endif /* SPEEDUP_H */
