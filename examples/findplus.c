// SPDX-License-Identifier: MIT
/*
 * Paths in a tree for which a condition holds: syscript_walk_open().  The
 * condition is Lua, over the columns of fs.entries() and with the name in it:
 *
 *   findplus /usr 'size > 1e6 and type == REG'
 *   findplus . 'name:match("%.c$")'
 *   findplus -n stamp . 'newer'		# than the file stamp
 *   findplus / 'type == DIR and mode == 1023 + 0x4000'
 *
 * usage: findplus [-x] [-n FILE] DIRECTORY [CONDITION]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syscript.h>
#include <syscript_files.h>
#include <unistd.h>

static const char *const columns[] = {
	"name", "size", "blocks", "mode", "nlink", "uid", "gid", "mtime", "atime", "ctime",
};

/* Only the columns that the condition names are looked up. */
static char *functions_of(const char *condition, const struct stat *newer)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out, "local REG, DIR, LNK = 8, 4, 10\ncolumns = {");
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (strstr(condition, columns[i]))
			fprintf(out, "'%s', ", columns[i]);
	}
	if (newer)
		fprintf(out, "'mtime', 'mtime_nsec', ");
	fprintf(out, "}\nfunction match(e, i)\n  local type = e.type[i]\n");
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (strstr(condition, columns[i]))
			fprintf(out, "  local %s = e.%s[i]\n", columns[i], columns[i]);
	}
	if (newer)
		fprintf(out, "  local newer = e.mtime[i] > %lld or e.mtime[i] == %lld and "
			"e.mtime_nsec[i] > %ld\n", (long long)newer->st_mtim.tv_sec,
			(long long)newer->st_mtim.tv_sec, newer->st_mtim.tv_nsec);
	fprintf(out, "  return %s\nend\n", condition);
	return fclose(out) ? NULL : text;
}

static int print_paths(struct syscript_walk *walk, const char *top)
{
	static char paths[1 << 18];
	struct syscript_walk_sums sums;
	char error[512];
	ssize_t len;

	while ((len = syscript_walk_next(walk, paths, sizeof(paths), &sums)) > 0) {
		for (char *path = paths; path < paths + len; path += strlen(path) + 1)
			printf("%s/%s\n", top, path);
	}
	if (len) {
		syscript_walk_error(walk, error, sizeof(error));
		fprintf(stderr, "findplus: %s\n", error);
	}
	if (sums.errors)
		fprintf(stderr, "findplus: %lld files or directories could not be read\n",
			(long long)sums.errors);
	return len || sums.errors;
}

static int find(const char *top, const char *condition, const struct stat *newer,
		unsigned int flags)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	char *functions = functions_of(condition, newer);
	struct syscript_walk *walk;
	char error[512];

	if (fd < 0) {
		fprintf(stderr, "findplus: %s: %m\n", top);
		return 1;
	}
	err = syscript_walk_open(&walk, fd, functions, flags, error, sizeof(error));
	if (err) {
		fprintf(stderr, "findplus: %s\n", error);
		return 1;
	}
	err = print_paths(walk, top);
	syscript_walk_close(walk);
	free(functions);
	close(fd);
	return err;
}

int main(int argc, char **argv)
{
	struct stat st, *newer = NULL;
	unsigned int flags = 0;
	int option;

	while ((option = getopt(argc, argv, "xn:")) >= 0) {
		if (option == 'x') {
			flags = SYSCRIPT_WALK_XDEV;
		} else if (option != 'n') {
			optind = argc;
			break;
		} else if (stat(optarg, &st)) {
			fprintf(stderr, "findplus: %s: %m\n", optarg);
			return 1;
		} else {
			newer = &st;
		}
	}
	if (argc - optind < 1 || argc - optind > 2) {
		fprintf(stderr, "usage: findplus [-x] [-n FILE] DIRECTORY [CONDITION]\n");
		return 2;
	}
	return find(argv[optind], argc - optind > 1 ? argv[optind + 1] : "true", newer, flags);
}
