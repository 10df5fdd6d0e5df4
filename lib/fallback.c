// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "fallback.h"
#include "user/lock.h"
#include "user/sys.h"
#include "user/user.h"

struct fallback {
	struct fallback *next;
	int fd;
	unsigned long long id;		/* kernel's id: a number may be reused */
	struct syscript_register reg;
	char image[];
};

static struct fallback *all;

static struct fallback *fallback_take(int fd)
{
	struct fallback **link, *fallback;

	for (link = &all; (fallback = *link); link = &fallback->next) {
		if (fallback->fd == fd) {
			*link = fallback->next;
			break;
		}
	}
	return fallback;
}

void fallback_add(int fd, const struct syscript_register *reg)
{
	struct syscript_info info = { 0 };
	struct fallback *fallback;

	/* At most one entry for each number: entries that close(2) left over are freed here. */
	fallback_drop(fd);
	if (device_info(fd, &info) < 0)
		return;
	fallback = malloc(sizeof(*fallback) + reg->image_len);
	if (!fallback)
		return;
	fallback->fd = fd;
	fallback->id = info.id;
	fallback->reg = *reg;
	fallback->reg.image = (unsigned long)fallback->image;
	fallback->reg.error = 0;
	fallback->reg.error_len = 0;
	memcpy(fallback->image, (const void *)reg->image, reg->image_len);

	lock_take(LOCK_FALLBACKS);
	fallback->next = all;
	all = fallback;
	lock_give(LOCK_FALLBACKS);
}

void fallback_drop(int fd)
{
	struct fallback *fallback;

	lock_take(LOCK_FALLBACKS);
	fallback = fallback_take(fd);
	lock_give(LOCK_FALLBACKS);
	free(fallback);
}

/* Gives the new script the number, and the close-on-exec flag, of the old one. */
static int replace(int fd, int user_fd)
{
	int flags = sys_call(fcntl, fd, F_GETFD);
	struct script *script;
	int err;

	err = sys_call(dup3, user_fd, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	script = user_fd_get(user_fd);
	if (err >= 0 && script)
		user_fd_renumber(script, fd);
	if (script)
		user_fd_put(script);
	sys_call(close, user_fd);
	return err < 0 ? err : 0;
}

static int move(int fd)
{
	struct syscript_info info = { 0 };
	struct script *script;
	struct fallback *fallback;
	int user_fd, err = -EOPNOTSUPP;

	/* Another thread may have moved the script already. */
	script = user_fd_get(fd);
	if (script) {
		user_fd_put(script);
		return 0;
	}
	if (device_info(fd, &info) < 0 || info.calls)
		return -EOPNOTSUPP;
	lock_take(LOCK_FALLBACKS);
	fallback = fallback_take(fd);
	lock_give(LOCK_FALLBACKS);
	if (fallback && fallback->id == info.id) {
		user_fd = user_register(&fallback->reg);
		if (user_fd >= 0)
			err = replace(fd, user_fd);
	}
	free(fallback);
	return err;
}

int fallback_move(int fd)
{
	int err;

	if (lock_is_mine(LOCK_MOVE))
		return -EDEADLK;
	lock_take(LOCK_MOVE);
	err = move(fd);
	lock_give(LOCK_MOVE);
	return err;
}
