// SPDX-License-Identifier: MIT
/*
 * Disk usage of trees, as du -s: syscript_walk_open().  A file with several
 * names counts once in each tree.
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

static int usage_of(const char *path, unsigned int flags)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct syscript_walk_sums sums;
	struct syscript_walk *walk;
	char error[512];
	struct stat st;
	long err;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "duplus: %s: %m\n", path);
		return 1;
	}
	err = syscript_walk_open(&walk, fd, usage_of_files, flags, error, sizeof(error));
	close(fd);
	if (err) {
		fprintf(stderr, "duplus: %s\n", error);
		return 1;
	}
	err = syscript_walk_next(walk, NULL, 0, &sums);
	syscript_walk_close(walk);
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
	unsigned int flags = 0;
	int first = 1, status = 0;

	if (argc > 1 && !strcmp(argv[1], "-x")) {
		flags = SYSCRIPT_WALK_XDEV;
		first = 2;
	}
	if (first == argc)
		return usage_of(".", flags);
	for (int i = first; i < argc; i++)
		status |= usage_of(argv[i], flags);
	return status;
}
