// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * syscript_walk_*(): walks file trees by scripts/walk.lua, with the program's functions in Lua
 * before it, so that names are filtered in the kernel; without functions by walk_entries.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builtin.h"
#include "user/sys.h"
#include "syscript.h"
#include "syscript_files.h"
#include "walk_entries.h"

#define BUDGET		20000		/* entries in a call, after which signal handlers may run */
#define MEMORY_LIMIT	(1 << 20)
#define TIME_LIMIT	10000000000

/**
 * struct syscript_walk - a walk
 * @entries: a walk without functions, which uses only this, @flags and @sums; otherwise NULL
 */
struct syscript_walk {
	struct entries_walk *entries;
	int script, dirfd;
	bool ended;
	unsigned int flags;
	int64_t token;
	struct syscript_walk_sums sums;
};

static int register_walk(const char *functions, char *error, size_t error_len)
{
	const struct syscript_options options = {
		.size = sizeof(options), .name = "walk",
		.memory_limit = MEMORY_LIMIT, .time_limit_ns = TIME_LIMIT,
		/* As in builtin.c: file systems may be slow. */
		.wall_limit_ns = SYSCRIPT_NO_LIMIT,
	};
	const char *walk = builtin_source(BUILTIN_walk);
	char *source;
	int len, fd;

	len = asprintf(&source, "%s\n%s", functions, walk);
	if (len < 0)
		return -ENOMEM;
	fd = syscript_register(source, len, &options, error, error_len);
	free(source);
	return fd;
}

/* Opens the top of a tree: its descriptor or -errno. */
static int open_top(int dirfd)
{
	return sys_above_standard(sys_call(openat, dirfd, ".",
					   O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int open_walk(struct syscript_walk *walk, const char *functions, int top, char *error,
		     size_t error_len)
{
	if (!functions) {
		walk->entries = entries_walk_open(top, walk->flags);
		return walk->entries ? 0 : -ENOMEM;
	}
	walk->dirfd = top;
	walk->script = register_walk(functions, error, error_len);
	return walk->script < 0 ? walk->script : 0;
}

int syscript_walk_open(struct syscript_walk **walk, int dirfd, const char *functions,
		       unsigned int flags, char *error, size_t error_len)
{
	struct syscript_walk *new;
	int top, err;

	if (error_len && error)
		*error = '\0';
	if (flags & ~SYSCRIPT_WALK_XDEV)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->flags = flags;
	top = open_top(dirfd);
	err = top < 0 ? top : open_walk(new, functions, top, error, error_len);
	if (err) {
		if (top >= 0)
			sys_call(close, top);
		free(new);
		return err;
	}
	*walk = new;
	return 0;
}

/* Makes one call.  Returns the number of bytes of paths, or -errno. */
static ssize_t walk_step(struct syscript_walk *walk, char *paths, size_t size)
{
	const int64_t args[] = {
		walk->dirfd, walk->token, BUDGET, (intptr_t)paths,
		size < 1UL << 52 ? size : 1UL << 52, walk->flags,
	};
	struct syscript_walk_sums *sums = &walk->sums;
	int64_t results[7] = { 0 };
	int ret = syscript_call(walk->script, 6, args, 7, results);

	if (ret < 0 || results[0] < 0)
		return ret < 0 ? ret : results[0];
	walk->token = results[0];
	walk->ended = !walk->token;
	sums->entries += results[1];
	sums->matches += results[2];
	sums->sum += results[3];
	sums->errors += results[4];
	sums->dirs += results[6];
	return results[5];
}

ssize_t syscript_walk_next(struct syscript_walk *walk, char *paths, size_t size,
			   struct syscript_walk_sums *sums)
{
	ssize_t ret = 0;

	if (walk->entries)
		ret = entries_walk_next(walk->entries, paths, size, &walk->sums);
	while (!walk->entries && !ret && !walk->ended)
		ret = walk_step(walk, paths, size);
	if (sums)
		*sums = walk->sums;
	return ret;
}

int syscript_walk_error(struct syscript_walk *walk, char *buf, size_t len)
{
	if (!walk->entries)
		return syscript_error(walk->script, buf, len);
	if (len)
		*buf = '\0';
	return 0;
}

/* Closes the directories that the walk has open. */
static void give_up(struct syscript_walk *walk)
{
	if (walk->entries)
		return entries_walk_close(walk->entries);
	if (!walk->ended) {
		walk->token = -1;
		walk_step(walk, NULL, 0);
	}
	sys_call(close, walk->dirfd);
}

int syscript_walk_restart(struct syscript_walk *walk, int dirfd)
{
	int top = open_top(dirfd);
	struct entries_walk *entries = NULL;

	if (top < 0)
		return top;
	if (walk->entries) {
		entries = entries_walk_open(top, walk->flags);
		if (!entries) {
			sys_call(close, top);
			return -ENOMEM;
		}
	}
	give_up(walk);
	walk->entries = entries;
	walk->dirfd = top;
	walk->token = 0;
	walk->ended = false;
	walk->sums = (struct syscript_walk_sums){ 0 };
	return 0;
}

void syscript_walk_close(struct syscript_walk *walk)
{
	if (!walk)
		return;
	give_up(walk);
	if (!walk->entries)
		syscript_close(walk->script);
	free(walk);
}
