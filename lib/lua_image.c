// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements lua_image.h.
 *
 * The file's code runs with the process's rights. So its path is fixed at installation, only the
 * caller's environment can name another, and the file is used only if no user but root and the
 * caller can have written it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "compound.h"
#include "lua_image.h"
#include "syscript.h"
#include "user/sys.h"

#define INSTALLED	LIBDIR "/syscript/lua.image"

/* The inode of the first user namespace, from include/linux/proc_ns.h. */
#define FIRST_USER_NS	0xeffffffdUL

/* In another user namespace, unmapped ids appear as this one: root outside of it, too. */
static bool is_outside(uid_t owner)
{
	struct stat ns;
	char text[16] = "";
	int fd;

	if (sys_call(newfstatat, AT_FDCWD, "/proc/self/ns/user", &ns, 0) < 0 || ns.st_ino == FIRST_USER_NS)
		return false;
	fd = sys_above_standard(sys_call(openat, AT_FDCWD, "/proc/sys/kernel/overflowuid",
					 O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return false;
	sys_call(read, fd, text, sizeof(text) - 1);
	sys_call(close, fd);
	return *text && owner == strtoul(text, NULL, 10);
}

static bool is_trusted(const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return !st->st_uid || st->st_uid == (uid_t)sys_call(geteuid) || is_outside(st->st_uid);
}

static const struct lua_digests *digests;

/* An image that was built without digests does not end with them. */
static void find_digests(const struct cosy_file *file, size_t size)
{
	const struct lua_digests *last;

	if (size % sizeof(uint32_t) || size < sizeof(*file) + sizeof(*last))
		return;
	last = (const void *)((const char *)file + size - sizeof(*last));
	if (last->magic == LUA_DIGESTS_MAGIC)
		__atomic_store_n(&digests, last, __ATOMIC_RELEASE);
}

const uint8_t *lua_image_digest(uint32_t offset, uint32_t shift)
{
	const struct lua_digests *all = __atomic_load_n(&digests, __ATOMIC_ACQUIRE);
	uint32_t i = shift - LUA_SHIFT_MIN;

	return all && all->offset == offset && i < LUA_SHIFTS ? all->digests[i] : NULL;
}

/* Maps the file for good. Returns 0, or -errno with the text for it in @why. */
static int map(const struct cosy_file **file, int fd, const char **why)
{
	struct stat st;
	long p = sys_call(fstat, fd, &st);

	if (p < 0)
		return p;
	if (!is_trusted(&st)) {
		*why = "others than root and this user may have written it";
		return -EPERM;
	}
	*why = "it is not of this version of the library";
	if (st.st_size < (off_t)sizeof(**file))
		return -EINVAL;
	p = sys_call(mmap, 0, st.st_size, PROT_READ, MAP_PRIVATE, fd);
	if (p < 0 && p > -4096) {
		*why = NULL;
		/* Too much memory is locked. */
		return p == -EAGAIN ? -ENOMEM : p;
	}
	*file = (const void *)p;
	if (file_is_compound(*file, st.st_size)) {
		find_digests(*file, st.st_size);
		return 0;
	}
	sys_call(munmap, p, st.st_size);
	return -EINVAL;
}

static int open_and_map(const char *path, const struct cosy_file **file, const char **why)
{
	int fd = sys_open_to_read(path);
	int err;

	if (fd < 0)
		return fd;
	err = map(file, fd, why);
	sys_call(close, fd);
	return err;
}

/* Returns temporary errors, and -ENOSYS for all others. */
static int tell(int err, const char *path, const char *why, char *error, size_t error_len)
{
	bool passes = err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EINTR ||
		      err == -EIO;

	if (err == -ENOENT)
		snprintf(error, error_len,
			 "no Lua for the confined engine: there is no %s: install the library, or set SYSCRIPT_LUA_IMAGE (make lua-runtime builds it)",
			 path);
	else
		snprintf(error, error_len, "no Lua for the confined engine: %s: %s", path,
			 why ?: passes ? syscript_strerror(err) : strerrordesc_np(-err));
	return passes ? err : -ENOSYS;
}

int lua_image(const struct cosy_file **file, char *error, size_t error_len)
{
	static const struct cosy_file *mapped;
	const char *path = secure_getenv("SYSCRIPT_LUA_IMAGE"), *why = NULL;
	int err;

	*file = __atomic_load_n(&mapped, __ATOMIC_ACQUIRE);
	if (*file)
		return 0;
	path = path && *path ? path : INSTALLED;
	err = open_and_map(path, file, &why);
	if (err)
		return tell(err, path, why, error, error_len);
	/* If two threads map the file at once, one mapping stays unused. */
	__atomic_store_n(&mapped, *file, __ATOMIC_RELEASE);
	return 0;
}
