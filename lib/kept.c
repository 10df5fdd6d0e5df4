// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "kept.h"
#include "sys.h"
#include "user.h"

struct kept {
	struct kept *next;
	int fd;
	unsigned long long id;		/* of the kernel: the number may be reused */
	struct syscript_register reg;
	char source[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *all;

static struct kept *kept_take(int fd)
{
	struct kept **link, *kept;

	for (link = &all; (kept = *link); link = &kept->next) {
		if (kept->fd == fd) {
			*link = kept->next;
			break;
		}
	}
	return kept;
}

void kept_add(int fd, const struct syscript_register *reg)
{
	struct syscript_info info = { 0 };
	struct kept *kept;

	/* At most one for each number: what close(2) left behind goes here. */
	kept_drop(fd);
	if (device_info(fd, &info) < 0)
		return;
	kept = malloc(sizeof(*kept) + reg->source_len);
	if (!kept)
		return;
	kept->fd = fd;
	kept->id = info.id;
	kept->reg = *reg;
	kept->reg.source = (unsigned long)kept->source;
	kept->reg.error = 0;
	kept->reg.error_len = 0;
	memcpy(kept->source, (const void *)reg->source, reg->source_len);

	pthread_mutex_lock(&lock);
	kept->next = all;
	all = kept;
	pthread_mutex_unlock(&lock);
}

void kept_drop(int fd)
{
	struct kept *kept;

	pthread_mutex_lock(&lock);
	kept = kept_take(fd);
	pthread_mutex_unlock(&lock);
	free(kept);
}

/* The new script takes over the number, and whether execve() closes it. */
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
	struct kept *kept;
	int user_fd, err = -EOPNOTSUPP;

	/* Another thread may have been quicker. */
	script = user_fd_get(fd);
	if (script) {
		user_fd_put(script);
		return 0;
	}
	if (device_info(fd, &info) < 0 || info.calls)
		return -EOPNOTSUPP;
	kept = kept_take(fd);
	if (kept && kept->id == info.id) {
		user_fd = user_register(&kept->reg);
		if (user_fd >= 0)
			err = replace(fd, user_fd);
	}
	free(kept);
	return err;
}

int kept_move(int fd)
{
	int err;

	pthread_mutex_lock(&lock);
	err = move(fd);
	pthread_mutex_unlock(&lock);
	return err;
}
