// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript_walk_*() compared with nftw(3), on trees that are wide, deep, odd, or changing. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syscript_files.h>

#include "lib_test.h"

#define DIRS	20		/* of "wide" */
#define SIZES	"columns = { 'size' } sum = function(e, i) return e.size[i] end"

static char top[] = "/tmp/syscript-walk-XXXXXX";

static void make(const char *name, size_t size)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0644);

	CHECK(fd >= 0 && !ftruncate(fd, size));
	close(fd);
}

static void go_to(const char *dir)
{
	CHECK(!mkdir(dir, 0755) && !chdir(dir));
}

static void build_wide(void)
{
	char name[64];

	go_to("wide");
	for (int i = 0; i < DIRS; i++) {
		snprintf(name, sizeof(name), "dir %d", i);
		CHECK(!mkdir(name, 0755));
		for (int k = 0; k < i * 30; k++) {
			snprintf(name, sizeof(name), "dir %d/file-%d", i, k);
			if (k % 50 == 7)
				CHECK(!mkdir(name, 0755));
			else
				make(name, k * 1000);
		}
	}
	CHECK(!symlink(".", "link-to-dir"));
	CHECK(!symlink("nowhere", "dangling"));
	CHECK(!mkfifo("fifo", 0600));
	CHECK(!chdir(top));
}

static void build_deep(int levels)
{
	go_to("deep");
	for (int i = 0; i < levels; i++) {
		make("before", 1);
		CHECK(!mkdir("twig", 0755));
		go_to("d");
		make("after", 10);
	}
	CHECK(!chdir(top));
}

static struct syscript_walk_sums plain;

static int count(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	if (at->level) {
		plain.entries++;
		plain.sum += st->st_size;
	}
	plain.dirs += type == FTW_D || type == FTW_DNR;
	plain.errors += type == FTW_DNR;
	return 0;
}

static struct syscript_walk *walk_of(const char *dir, const char *functions, unsigned int flags)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY), err;
	struct syscript_walk *walk;
	char error[512];

	CHECK(fd >= 0);
	err = syscript_walk_open(&walk, fd, functions, flags, error, sizeof(error));
	close(fd);
	if (err)
		fprintf(stderr, "%s: %s\n", dir, error);
	CHECK_EQ(err, 0);
	return walk;
}

static struct syscript_walk_sums sums_of(const char *dir, const char *functions,
					 unsigned int flags)
{
	struct syscript_walk *walk = walk_of(dir, functions, flags);
	struct syscript_walk_sums sums;

	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	syscript_walk_close(walk);
	return sums;
}

static void check_sums(const char *dir)
{
	struct syscript_walk_sums sums = sums_of(dir, SIZES, 0);

	memset(&plain, 0, sizeof(plain));
	CHECK(!nftw(dir, count, 20, FTW_PHYS));
	CHECK_EQ(sums.entries, plain.entries);
	CHECK_EQ(sums.matches, plain.entries);
	CHECK_EQ(sums.sum, plain.sum);
	CHECK_EQ(sums.errors, plain.errors);
	CHECK_EQ(sums.dirs, plain.dirs - plain.errors);
	sums = sums_of(dir, NULL, 0);
	CHECK_EQ(sums.entries, plain.entries);
	CHECK_EQ(sums.matches, plain.entries);
	CHECK_EQ(sums.sum, 0);
	CHECK_EQ(sums.errors, plain.errors);
	CHECK_EQ(sums.dirs, plain.dirs - plain.errors);
}

static void test_functions(void)
{
	struct syscript_walk_sums sums, all = sums_of("wide", NULL, 0);

	sums = sums_of("wide", "columns = { 'size' } match = function(e, i) return "
		       "e.type[i] == 8 and e.size[i] >= 500000 end", 0);
	CHECK(sums.matches > 100 && sums.matches < all.entries / 2);
	CHECK_EQ(sums.sum, 0);
	CHECK_EQ(sums.entries, all.entries);
	sums = sums_of("wide", "prune = function() return true end", 0);
	CHECK_EQ(sums.dirs, 1);
	CHECK_EQ(sums.entries, DIRS + 3);
	sums = sums_of("wide", "columns = { 'name' } prune = function(e, i) "
		       "return e.name[i]:find('^dir 3') end", 0);
	CHECK(sums.dirs > 10 && sums.dirs < all.dirs);
	sums = sums_of("wide", NULL, SYSCRIPT_WALK_XDEV);
	CHECK_EQ(sums.entries, all.entries);
	CHECK(sums_of("/", "prune = function() return true end", SYSCRIPT_WALK_XDEV).entries > 3);
}

/* Each path exactly once, whatever the size of the buffer. */
static void test_paths(const char *dir, const char *functions, size_t size)
{
	struct syscript_walk *walk = walk_of(dir, functions, 0);
	char *paths = malloc(size);
	struct syscript_walk_sums sums;
	int64_t n = 0, total = 0;
	struct stat st;
	ssize_t len;

	CHECK(!chdir(dir));
	while ((len = syscript_walk_next(walk, paths, size, &sums)) > 0) {
		for (char *path = paths; path < paths + len; path += strlen(path) + 1) {
			CHECK(!lstat(path, &st));
			total += st.st_size;
			n++;
		}
	}
	CHECK(!chdir(top));
	CHECK_EQ(len, 0);
	memset(&plain, 0, sizeof(plain));
	CHECK(!nftw(dir, count, 20, FTW_PHYS));
	CHECK_EQ(n, plain.entries);
	CHECK_EQ(sums.entries, n);
	CHECK_EQ(sums.matches, n);
	CHECK_EQ(total, plain.sum);
	CHECK_EQ(sums.sum, functions ? total : 0);
	syscript_walk_close(walk);
	free(paths);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_errors(void)
{
	int before = descriptors();
	struct syscript_walk *walk;
	char error[512], small[4];

	CHECK_EQ(syscript_walk_open(&walk, -1, NULL, 0, NULL, 0), -EBADF);
	CHECK_EQ(syscript_walk_open(&walk, AT_FDCWD, NULL, 2, NULL, 0), -EINVAL);
	CHECK_EQ(syscript_walk_open(&walk, AT_FDCWD, "match = ", 0, error, sizeof(error)), -ENOEXEC);
	CHECK(strstr(error, "walk"));
	CHECK_EQ(syscript_walk_open(&walk, AT_FDCWD, "columns = { 'x' } error('so')", 0, error,
				    sizeof(error)), -ENOEXEC);
	CHECK(strstr(error, "so"));
	walk = walk_of("wide", "match = function() error('here') end", 0);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, NULL), -EPROTO);
	syscript_walk_close(walk);
	walk = walk_of("wide", NULL, 0);
	CHECK_EQ(syscript_walk_next(walk, small, sizeof(small), NULL), -ENAMETOOLONG);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, NULL), -EINVAL);
	CHECK(syscript_walk_next(walk, error, sizeof(error), NULL) > 0);
	syscript_walk_close(walk);
	syscript_walk_close(NULL);
	/* Abandoned in the middle. */
	walk = walk_of("deep", NULL, 0);
	CHECK(syscript_walk_next(walk, error, sizeof(error), NULL) > 0);
	CHECK(descriptors() > before);
	syscript_walk_close(walk);
	CHECK_EQ(descriptors(), before);
}

/* The same functions on another tree, keeping their counters. */
static void test_restart(void)
{
	struct syscript_walk_sums sums, wide = sums_of("wide", SIZES, 0);
	int before = descriptors(), deep = open("deep", O_RDONLY | O_DIRECTORY);
	struct syscript_walk *walk = walk_of("wide", "local n = 0 columns = { 'size' } "
		"sum = function(e, i) n = n + 1 return n end", 0);
	int64_t n = wide.entries;
	char paths[4096];

	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	CHECK_EQ(sums.sum, n * (n + 1) / 2);
	CHECK_EQ(syscript_walk_restart(walk, -1), -EBADF);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	CHECK_EQ(sums.entries, n);
	/* With paths, abandoned in the middle, then restarted. */
	CHECK_EQ(syscript_walk_restart(walk, deep), 0);
	CHECK(syscript_walk_next(walk, paths, sizeof(paths), NULL) > 0);
	CHECK_EQ(syscript_walk_restart(walk, deep), 0);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	memset(&plain, 0, sizeof(plain));
	CHECK(!nftw("deep", count, 20, FTW_PHYS));
	CHECK_EQ(sums.entries, plain.entries);
	CHECK_EQ(sums.dirs, plain.dirs);
	CHECK(sums.sum > n * plain.entries);
	syscript_walk_close(walk);
	close(deep);
	CHECK_EQ(descriptors(), before);
	/* An error in the functions ends a walk, not its script. */
	walk = walk_of("wide", "local again match = function() "
		       "if not again then again = true error('once') end return true end", 0);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, NULL), -EPROTO);
	CHECK_EQ(syscript_walk_restart(walk, AT_FDCWD), 0);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	CHECK_EQ(sums.matches, sums.entries);
	CHECK(sums.entries > n);
	syscript_walk_close(walk);
	CHECK_EQ(descriptors(), before);
}

/* Walks without functions: abandoned, on another tree, in a child, and with moved levels. */
static void test_entries(void)
{
	int before = descriptors(), deep = open("deep", O_RDONLY | O_DIRECTORY), status;
	struct syscript_walk *walk = walk_of("wide", NULL, 0);
	struct syscript_walk_sums sums, all = sums_of("deep", NULL, 0);
	char paths[4096];
	pid_t pid;

	CHECK(syscript_walk_next(walk, paths, sizeof(paths), NULL) > 0);
	CHECK_EQ(syscript_walk_error(walk, paths, sizeof(paths)), 0);
	CHECK_EQ(syscript_walk_restart(walk, deep), 0);
	CHECK_EQ(syscript_walk_next(walk, NULL, 0, &sums), 0);
	CHECK_EQ(sums.entries, all.entries);
	CHECK_EQ(sums.dirs, all.dirs);
	pid = fork();
	if (!pid)
		_exit(syscript_walk_next(walk, NULL, 0, NULL) != -EXDEV);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK_EQ(syscript_walk_restart(walk, deep), 0);
	for (int i = 0; i < 60; i++)
		CHECK(syscript_walk_next(walk, paths, sizeof(paths), NULL) > 0);
	/*
	 * Its ".." is another directory now: its old ancestors are not found again, except the top.
	 */
	CHECK(!rename("deep/d/d/d", "moved"));
	while (syscript_walk_next(walk, paths, sizeof(paths), &sums) > 0)
		;
	CHECK_EQ(sums.errors, 2);
	CHECK(!rename("moved", "deep/d/d/d"));
	syscript_walk_close(walk);
	close(deep);
	CHECK_EQ(descriptors(), before);
}

/* Tokens that were never handed out. */
static void test_tokens(void)
{
	static char source[1 << 16];
	int64_t results[7], args[] = { 0, 0, 10, 0, 0, 0 };
	FILE *file = fopen(getenv("WALK") ?: "scripts/walk.lua", "r");
	int script;

	if (!file)
		return;
	source[fread(source, 1, sizeof(source) - 1, file)] = '\0';
	fclose(file);
	script = load(source);
	args[0] = open("/usr", O_RDONLY | O_DIRECTORY);
	for (int64_t token = -3; token < 100; token++) {
		args[1] = token;
		if (token == 0 || token == -1)
			continue;
		CHECK(syscript_call(script, 6, args, 7, results) > 0);
		CHECK_EQ(results[0], -EINVAL);
	}
	args[1] = 0;
	CHECK_EQ(syscript_call(script, 6, args, 7, results), 7);
	CHECK(results[0] > 0 && results[1] >= 10);
	args[1] = results[0] + 1;
	CHECK(syscript_call(script, 6, args, 7, results) > 0);
	CHECK_EQ(results[0], -EINVAL);
	args[1] = 1L << 52;
	CHECK(syscript_call(script, 6, args, 7, results) > 0);
	CHECK_EQ(results[0], -EINVAL);
	close(args[0]);
	syscript_close(script);
}

/* Another process changes the tree. */
static void disturb(void)
{
	char from[64], to[64];

	for (unsigned int i = 0;; i++) {
		snprintf(from, sizeof(from), "wide/dir %u/file-%u", i % DIRS, i % 97);
		snprintf(to, sizeof(to), "wide/dir %u/file-%u", i * 7 % DIRS, i % 89 + 1000);
		rename(from, to);
		rename(to, from);
		snprintf(to, sizeof(to), "wide/dir %u", i % DIRS);
		rename(to, "elsewhere");
		rename("elsewhere", to);
		if (!mkdir("wide/dir 3/brief", 0755))
			rmdir("wide/dir 3/brief");
	}
}

static void test_changes(void)
{
	struct syscript_walk_sums sums;
	pid_t pid = fork();

	if (!pid)
		disturb();
	for (int i = 0; i < 15; i++) {
		sums = sums_of("wide", i % 2 ? SIZES : NULL, 0);
		CHECK(sums.entries > 3000);
	}
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_locked(void)
{
	struct syscript_walk_sums sums;

	if (!geteuid())
		return;
	CHECK(!chmod("wide/dir 5", 0));
	CHECK(!chmod("wide/dir 6", 0400));
	sums = sums_of("wide", SIZES, 0);
	/* One directory cannot be read; in another, no file's attributes can. */
	CHECK_EQ(sums.errors, 1 + 6 * 30);
	/* The latter's names and types can be read, but its four directories not entered. */
	CHECK_EQ(sums_of("wide", NULL, 0).errors, 1 + 4);
	CHECK(!chmod("wide/dir 5", 0755));
	CHECK(!chmod("wide/dir 6", 0755));
}

/* A tree may be on a slow file system. */
static void test_wall_limit(void)
{
	struct syscript_walk *walk = walk_of(".", SIZES, 0);
	struct syscript_info info = { 0 };
	int found = 0;

	while (!syscript_next(&info)) {
		if (info.pid != getpid() || strcmp(info.name, "walk"))
			continue;
		CHECK(info.wall_limit > SYSCRIPT_WALL_DEFAULT);
		found++;
	}
	CHECK_EQ(found, 1);
	syscript_walk_close(walk);
}

int main(void)
{
	char command[100];

	CHECK(mkdtemp(top));
	test_tokens();
	CHECK(!chdir(top));
	build_wide();
	build_deep(200);
	check_sums("wide");
	check_sums("deep");
	check_sums("/usr/include/linux");
	test_functions();
	test_paths("wide", SIZES, 1 << 20);
	test_paths("wide", SIZES, 300);
	test_paths("wide", NULL, 1 << 20);
	test_paths("wide", NULL, 300);
	test_paths("deep", NULL, 700);
	test_errors();
	test_restart();
	test_entries();
	test_wall_limit();
	test_locked();
	test_changes();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command) != 0;
}
