// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See lua_image.h. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compound.h"
#include "lua_image.h"

/* From the library, or from a program that it is linked into: installed, as built. */
static const char *const places[] = {
	"syscript/lua.image", "../lib/syscript/lua.image",
	"lua-runtime/lua.image", "../lua-runtime/lua.image",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct cosy_file *image;

/* The file that this code is of, up to its last slash. */
static bool find_own_directory(char *path)
{
	struct link_map *map = NULL;
	Dl_info info;
	char *slash;
	ssize_t len;

	if (dladdr1((void *)lua_image, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	    map->l_name[0]) {
		if (!realpath(map->l_name, path))
			return false;
	} else {
		len = readlink("/proc/self/exe", path, PATH_MAX - 1);
		if (len < 0)
			return false;
		path[len] = '\0';
	}
	slash = strrchr(path, '/');
	if (slash)
		slash[1] = '\0';
	return slash;
}

static int open_next_to_us(void)
{
	char own[PATH_MAX], path[PATH_MAX + 32];
	int fd = -1;

	/* Set-user-ID programs load nothing from a path that others chose. */
	if (getauxval(AT_SECURE) || !find_own_directory(own))
		return -1;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s", own, places[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

static int open_image(void)
{
	const char *said = secure_getenv("SYSCRIPT_LUA_IMAGE");
	int fd = said ? open(said, O_RDONLY | O_CLOEXEC) : open_next_to_us();

	return fd < 0 && !said ? open(LIBDIR "/syscript/lua.image", O_RDONLY | O_CLOEXEC) : fd;
}

static void map_image(void)
{
	int fd = open_image();
	const void *file = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size)
		file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return;
	if (file_is_compound(file, st.st_size))
		image = file;
	else
		munmap((void *)file, st.st_size);
}

const struct cosy_file *lua_image(char *error, size_t error_len)
{
	pthread_once(&once, map_image);
	if (!image)
		snprintf(error, error_len,
			 "no Lua for the confined engine: lua.image is not in %s, next to the library, or where SYSCRIPT_LUA_IMAGE says (make lua-runtime builds it)",
			 LIBDIR "/syscript");
	return image;
}
