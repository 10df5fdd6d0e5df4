// SPDX-License-Identifier: MIT
/*
 * Disk usage of trees, as du -s: syscript_walk_open(), syscript_walk_restart().
 * A file with several names counts once: `seen` is kept from tree to tree.
 *
 * usage: duplus [-x] [DIRECTORY...]
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syscript.h>
#include <syscript_files.h>
#include <unistd.h>

static const char usage_of_files[] =
	"columns = { 'blocks', 'nlink', 'ino', 'dev' }\n"
	"local seen = {}\n"
	"function sum(e, i)\n"
	"  if e.nlink[i] > 1 and e.type[i] ~= 4 then\n"
	"    local known = seen[e.dev[i]] or {}\n"
	"    if known[e.ino[i]] then return 0 end\n"
	"    seen[e.dev[i]], known[e.ino[i]] = known, true\n"
	"  end\n"
	"  return e.blocks[i]\n"
	"end\n";

/* The first tree opens the walk, the others go on with it. */
static int begin(struct syscript_walk **walk, int fd, unsigned int flags)
{
	char error[512] = "";
	int err;

	if (*walk)
		err = syscript_walk_restart(*walk, fd);
	else
		err = syscript_walk_open(walk, fd, usage_of_files, flags, error, sizeof(error));
	if (err)
		fprintf(stderr, "duplus: %s\n", *error ? error : syscript_strerror(err));
	return err;
}

static int usage_of(struct syscript_walk **walk, const char *path, unsigned int flags)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct syscript_walk_sums sums;
	struct stat st;
	long err;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "duplus: %s: %m\n", path);
		return 1;
	}
	err = begin(walk, fd, flags);
	close(fd);
	if (err)
		return 1;
	err = syscript_walk_next(*walk, NULL, 0, &sums);
	if (err)
		fprintf(stderr, "duplus: %s: %s\n", path, syscript_strerror(err));
	else
		printf("%lld\t%s\n", (long long)(sums.sum + st.st_blocks) / 2, path);
	if (sums.errors)
		fprintf(stderr, "duplus: %s: %lld files or directories could not be read\n", path,
			(long long)sums.errors);
	return err || sums.errors;
}

int main(int argc, char **argv)
{
	struct syscript_walk *walk = NULL;
	unsigned int flags = 0;
	int first = 1, status = 0;

	if (argc > 1 && !strcmp(argv[1], "-x")) {
		flags = SYSCRIPT_WALK_XDEV;
		first = 2;
	}
	if (first == argc)
		status = usage_of(&walk, ".", flags);
	for (int i = first; i < argc; i++)
		status |= usage_of(&walk, argv[i], flags);
	syscript_walk_close(walk);
	return status;
}
