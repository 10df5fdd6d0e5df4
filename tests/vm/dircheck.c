// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks syscript_readdirplus() on a directory of any file system.
 *
 * usage: dircheck stable|changing DIRECTORY [COUNT]   entry by entry, COUNT of them
 *        dircheck replies DIRECTORY                   its subdirectories, in large and small parts
 *        dircheck walk DIRECTORY                      prints what a walk finds
 *        dircheck storm DIRECTORY SECONDS             while other processes change it
 *        dircheck races DIRECTORY SECONDS             while it is closed and unmapped
 *        dircheck endless DIRECTORY                   to be killed
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../unit/dir_check.h"

#define SIZE	(1 << 20)
#define KEPT	500			/* files that a storm does not touch */

static char *buf;

/* -- Entry for entry ------------------------------------------------------- */

static int compare(const char *path, enum strict strict, long count)
{
	long n = check_dir(path, buf, SIZE, SYSCRIPT_DOTS, strict);

	if (strict == STABLE) {
		CHECK_EQ(check_dir(path, buf, 5000, SYSCRIPT_DOTS, strict), n);
		CHECK_EQ(check_dir(path, buf, SIZE, 0, strict), n - 2);
	}
	if (count)
		CHECK_EQ(n, count + 2);
	CHECK(n >= 2);
	return 0;
}

/* -- However replies are cut ------------------------------------------------ */

/* All subdirectories of @path: each at once, and in parts with room for hardly a name. */
static void check_replies(const char *path)
{
	DIR *top = opendir(path);
	struct dirent *entry;

	CHECK(top && !chdir(path));
	while ((entry = readdir(top))) {
		if (is_dots(entry->d_name))
			continue;
		check_dir(entry->d_name, buf, SIZE, SYSCRIPT_DOTS, STABLE);
		check_dir(entry->d_name, buf, SIZE, 0, STABLE);
		check_dir(entry->d_name, buf, 2000, 0, STABLE);
	}
	closedir(top);
}

/* Prints the paths that a walk finds, one per line, and the number of errors. */
static void print_walk(const char *path)
{
	int fd = open_dir(path);
	char error[200] = "";
	struct syscript_walk_sums sums;
	struct syscript_walk *walk;
	ssize_t len;

	CHECK_EQ(syscript_walk_open(&walk, fd, NULL, 0, error, sizeof(error)), 0);
	while ((len = syscript_walk_next(walk, buf, 3000, &sums)) > 0)
		for (const char *p = buf; p < buf + len; p += strlen(p) + 1)
			puts(p);
	CHECK_EQ(len, 0);
	printf("errors: %lld\n", (long long)sums.errors);
	syscript_walk_close(walk);
	close(fd);
}

/* -- While others are at work ---------------------------------------------- */

static void name_kept(char *name, int i)
{
	sprintf(name, "kept-%d", i);
}

static void touch(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY, 0644);

	if (fd >= 0)
		close(fd);
}

static void disturb(int dir, unsigned int seed)
{
	char name[64], other[64];

	for (unsigned int i = seed;; i++) {
		sprintf(name, "brief-%u-%u", seed, i % 300);
		sprintf(other, "other-%u-%u", seed, i * 7 % 300);
		touch(dir, name);
		renameat(dir, name, dir, other);
		if (i % 3 == 0)
			unlinkat(dir, other, 0);
		if (i % 50 == 0) {
			mkdirat(dir, name, 0755);
			unlinkat(dir, name, AT_REMOVEDIR);
		}
	}
}

/* Every file that stays is found, once and correctly; others are correct or missing. */
static void look_at_storm(const char *path, ino_t *inodes)
{
	static unsigned char times[KEPT];
	int fd = open_dir(path), end = 0, i;

	memset(times, 0, sizeof(times));
	while (!end) {
		struct syscript_dirent *entry = (void *)buf;
		ssize_t len = syscript_readdirplus(fd, buf, SIZE, ALL, 0, &end);

		CHECK(len >= 0);
		for (; (char *)entry < buf + len; entry = syscript_next_dirent(entry)) {
			if (sscanf(entry->name, "kept-%d", &i) != 1) {
				CHECK(!entry->error || entry->error == -ENOENT);
				continue;
			}
			CHECK_EQ(entry->error, 0);
			CHECK_EQ(entry->stat.ino, inodes[i]);
			CHECK_EQ(entry->stat.size, i % 100);
			times[i]++;
		}
	}
	for (i = 0; i < KEPT; i++)
		CHECK_EQ(times[i], 1);
	close(fd);
}

static int storm(const char *path, int seconds)
{
	int dir = open_dir(path), rounds = 0;
	static ino_t inodes[KEPT];
	time_t end = time(NULL) + seconds;
	pid_t pids[2];
	char name[64];

	for (int i = 0; i < KEPT; i++) {
		struct stat st;

		name_kept(name, i);
		touch(dir, name);
		CHECK(!fstatat(dir, name, &st, 0));
		inodes[i] = st.st_ino;
		CHECK(i % 100 == 0 || !ftruncate(openat(dir, name, O_WRONLY | O_CLOEXEC), i % 100));
	}
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			disturb(dir, i);
	}
	for (; time(NULL) < end || rounds < 3; rounds++)
		look_at_storm(path, inodes);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
	}
	return 0;
}

/* -- While descriptors are closed and memory goes --------------------------- */

static volatile int over;
static int racing = -1;

static void *close_and_open(void *arg)
{
	while (!over) {
		int fd = open(arg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		__atomic_store_n(&racing, fd, __ATOMIC_RELEASE);
		usleep(200);
		close(fd);
		/* By now the descriptor refers to another file. */
		dup2(0, fd);
		usleep(50);
		close(fd);
	}
	return NULL;
}

static void *unmap_and_map(void *arg)
{
	while (!over) {
		mprotect(arg, SIZE / 2, PROT_NONE);
		usleep(100);
		mprotect(arg, SIZE / 2, PROT_READ | PROT_WRITE);
		madvise(arg, SIZE, MADV_DONTNEED);
		usleep(300);
	}
	return NULL;
}

static int allowed(ssize_t len)
{
	return len >= 0 || len == -EBADF || len == -ENOTDIR || len == -EFAULT;
}

static int races(const char *path, int seconds)
{
	char *shaky = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct syscript_file file = { (uintptr_t)path, (uintptr_t)shaky, 0, 0 };
	time_t end = time(NULL) + seconds;
	long good = 0, bad = 0;
	pthread_t threads[2];

	/* The library's scripts must not get a descriptor that is closed meanwhile. */
	CHECK_EQ(syscript_readdirplus(-1, shaky, SIZE, ALL, 0, NULL), -EBADF);
	CHECK_EQ(syscript_stat_many(AT_FDCWD, &file, 1, ALL, 0), 0);
	CHECK(!pthread_create(&threads[0], NULL, close_and_open, (void *)path));
	CHECK(!pthread_create(&threads[1], NULL, unmap_and_map, shaky));
	while (time(NULL) < end || good < 5) {
		int fd = __atomic_load_n(&racing, __ATOMIC_ACQUIRE);
		ssize_t len = syscript_readdirplus(fd, shaky + 8 * (good % 7), SIZE - 64, ALL, 0, NULL);

		CHECK(allowed(len));
		good += len >= 0;
		bad += len < 0;
		CHECK_EQ(syscript_stat_many(AT_FDCWD, &file, 1, ALL, 0), 0);
		CHECK(file.result == 0 || file.result == -EFAULT);
	}
	over = 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%ld read, %ld refused\n", good, bad);
	return 0;
}

static _Noreturn void endless(const char *path)
{
	int fd = open_dir(path);

	puts("at work");
	fflush(stdout);
	for (;;) {
		while (syscript_readdirplus(fd, buf, SIZE, ALL, 0, NULL) > 0)
			;
		lseek(fd, 0, SEEK_SET);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	long number = argc > 3 ? atol(argv[3]) : 0;

	buf = malloc(SIZE);
	if (!strcmp(mode, "stable"))
		return compare(argv[2], STABLE, number);
	if (!strcmp(mode, "changing"))
		return compare(argv[2], CHANGING, number);
	if (!strcmp(mode, "replies"))
		return check_replies(argv[2]), 0;
	if (!strcmp(mode, "walk"))
		return print_walk(argv[2]), 0;
	if (!strcmp(mode, "storm"))
		return storm(argv[2], number);
	if (!strcmp(mode, "races"))
		return races(argv[2], number);
	if (!strcmp(mode, "endless"))
		endless(argv[2]);
	fprintf(stderr, "usage: dircheck MODE DIRECTORY [NUMBER]\n");
	return 2;
}
