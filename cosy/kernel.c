// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * See kernel.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/sys.h"
#include "kernel.h"

/* What a segment may take in one run, where the module's own limits allow it. */
#define TIME_LIMIT	10000000000ULL	/* ns */
/* Machine code for each byte of an image, and what comes on top. */
#define CODE_FACTOR	4
#define MEMORY_BASE	(320UL << 10)

static bool opens(const char *path)
{
	int fd = sys_call(openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		sys_call(close, fd);
	return fd >= 0;
}

bool kernel_is_there(void)
{
	return opens(DEVICE_PATH_CONFINED) || opens(DEVICE_PATH);
}

/* The last part of a path: what fits, from its end. */
static void set_name(struct syscript_register *reg, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name), max = sizeof(reg->name) - 1;

	memcpy(reg->name, len > max ? name + len - max : name, len > max ? max : len);
}

static int register_limited(struct syscript_register *reg)
{
	int fd;

	reg->time_limit = TIME_LIMIT;
	fd = device_register(reg);
	if (fd != -EINVAL)
		return fd;
	/* More than this machine allows. */
	reg->time_limit = 0;
	return device_register(reg);
}

int kernel_register(struct kernel_script *script, const void *image, size_t len,
		    const char *name, void *arena, size_t arena_size, char *error,
		    size_t error_len)
{
	struct syscript_register reg = {
		.engine = SYSCRIPT_ENGINE_CONFINED, .format = SYSCRIPT_CONFINED_BPF,
		.image = (unsigned long)image, .image_len = len,
		.memory_limit = CODE_FACTOR * len + MEMORY_BASE,
		.wall_limit = SYSCRIPT_NO_LIMIT,
		.error = (unsigned long)error, .error_len = error_len,
		.shared = (unsigned long)arena, .shared_len = arena_size,
	};
	struct syscript_info info = { 0 };
	int fd;

	error[0] = '\0';
	set_name(&reg, name);
	fd = register_limited(&reg);
	if (fd < 0) {
		if (!error[0])
			snprintf(error, error_len, "the kernel does not take it: %s: see 'syscript doctor'",
				 strerror(-fd));
		return fd;
	}
	*script = (struct kernel_script){ .registered = true, .fd = fd };
	if (!device_info(fd, &info))
		script->id = info.id;
	return 0;
}

/* Did a run fail, or was there none? */
static bool has_run(struct kernel_script *script)
{
	struct syscript_info info = { 0 };

	if (device_info(script->fd, &info) || info.id != script->id)
		return false;
	return info.errors + info.kills != 0;
}

/* See the list in the uapi header. */
bool kernel_has_failed(struct kernel_script *script, int err, char *error, size_t error_len)
{
	struct syscript_text text = {
		.which = SYSCRIPT_TEXT_ERROR, .len = error_len, .buffer = (unsigned long)error,
	};

	if (has_run(script)) {
		if (device_text(script->fd, &text) < 0)
			snprintf(error, error_len, "%s", strerror(-err));
		return true;
	}
	/* It is no script of this process any more: the program closed it. */
	if (err != -EOPNOTSUPP && err != -ESHUTDOWN)
		script->registered = false;
	return false;
}

/* The program may have closed it, and opened something else. */
static bool is_open(const struct kernel_script *script)
{
	struct syscript_info info = { 0 };
	int err = device_info(script->fd, &info);

	return err == -EXDEV || (!err && info.id == script->id);
}

void kernel_close_all(struct kernel_script *scripts, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (scripts[i].registered && is_open(&scripts[i]))
			close(scripts[i].fd);
		scripts[i].registered = false;
	}
}
