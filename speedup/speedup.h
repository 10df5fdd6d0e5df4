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

/* -- answers.c ------------------------------------------------------------------ */

/* Whether there is anything to help with; false once and for all where not. */
bool speedup_active(void);

/* Stops helping this process. */
void speedup_stop(void);

/*
 * The attributes of @path, not followed if it is a symbolic link, if they may be
 * answered with what was fetched.  False: the kernel is to be asked.
 */
bool speedup_stat(int dirfd, const char *path, struct syscript_stat *stat);

/*
 * What was fetched is worth nothing any more: the process has changed something,
 * or may have learned that another has.  Async-signal-safe.
 */
void speedup_drop(void);

/* @fd was opened, with @flags of open(2); negative: it was not. */
void speedup_opened(int fd, int flags);

/* @fd is about to be closed, or to become another file. */
void speedup_closing(int fd);

/* The kernel has told this thread something: what was fetched before is older. */
void speedup_saw(void);

/* A handler begins (+1) or ends (-1) in this thread.  Async-signal-safe. */
void speedup_handler(int begins);

/* -- listing.c ------------------------------------------------------------------ */

/*
 * Names of a directory in the order in which it has them: what is likely to be
 * asked for next.  A hint, which is never right or wrong.  One thread's.
 */
struct listing {
	dev_t dev;
	ino_t ino;
	unsigned long stamp;		/* of its last use */
	unsigned int misses;
	unsigned int appetite;		/* files to fetch at once */
	char *names;			/* each with its NUL */
	size_t used, cursor;
};

#define LISTINGS	16
#define LISTING_SIZE	(512 << 10)

/* The listing of a directory, or NULL. */
struct listing *listing_find(struct listing *listings, dev_t dev, ino_t ino);

/* The same; if there is none, the oldest becomes it.  NULL without memory. */
struct listing *listing_get(struct listing *listings, dev_t dev, ino_t ino);

void listing_add(struct listing *listing, const char *name);

/* From @name on, where that is near; NULL if it is not.  What follows it is next. */
const char *listing_seek(struct listing *listing, const char *name);

/* Of @n files that were fetched @used were asked for: @most at once. */
void listing_learn(struct listing *listing, unsigned int n, unsigned int used,
		   unsigned int most);

/* This thread's, or NULL. */
struct listing *speedup_listings(void);

#endif /* SPEEDUP_H */
