// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Batches of files and the single-file functions, compared with the plain calls.
 *
 * usage: test_lib_files [DIRECTORY]    in which to make the files; /tmp
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syscript_files.h>

#include "lib_test.h"

#define ALL	(STATX_BASIC_STATS | STATX_BTIME)
#define LARGE	(1 << 20)

static char top[200];
static char *buf, *other;

/* Each has a peculiarity; some cause errors. */
static const char *const paths[] = {
	"file", "./file", "dir/file", "dir/../file", "dir//file", "dir/./file", "dir/b",
	"dir/c", "dir", "dir/", "dir/.", "dir/..", ".", "..", "/", "//", "", "file/",
	"file/x", "nowhere", "nowhere/x", "dir/nowhere", "to-file", "to-dir", "to-dir/file",
	"to-dir/", "dangling", "loop", "loop/x", "dir/up", "empty", "large", "none",
	"locked/file", "...", ".hidden", "/proc/self/comm", "/proc/version", "/proc/self",
	"/proc/self/cwd/file", "/dev/null", "/etc/passwd", "/etc/shadow", "/nowhere/x",
	"/sys/kernel/uevent_seqnum", "/usr/bin/sh", "/usr/../usr/bin/sh", "file",
	"dir/sub/file", "dir/sub/other", "dir//sub/./file", "dir/sub/../file",
	"dir/sub/../../file", "to-dir/sub/file", "to-root/etc/passwd", "to-root/file",
	"dir/..sub/file", "dir/sub../file", "dir/sub/none/x", "dir/file/x", "locked/sub/file",
};
#define PATHS	(sizeof(paths) / sizeof(*paths))

static void fill(const char *name, size_t size, mode_t mode)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0600);

	CHECK(fd >= 0);
	for (size_t at = 0; at < size; at += 4096)
		CHECK(pwrite(fd, buf, size - at < 4096 ? size - at : 4096, at) > 0);
	CHECK(!fchmod(fd, mode));
	close(fd);
}

static void build(void)
{
	CHECK(!mkdir("dir", 0755));
	CHECK(!mkdir("dir/sub", 0755));
	CHECK(!mkdir("dir/..sub", 0755));
	CHECK(!mkdir("dir/sub..", 0755));
	CHECK(!mkdir("locked", 0700));
	CHECK(!mkdir("locked/sub", 0755));
	fill("file", 1024, 0644);
	fill("dir/file", 5, 0600);
	fill("dir/b", 1, 0400);
	fill("dir/sub/file", 6, 0644);
	fill("dir/sub/other", 7, 0644);
	fill("dir/..sub/file", 8, 0644);
	fill("dir/sub../file", 9, 0644);
	fill("locked/sub/file", 3, 0644);
	fill("dir/c", 4096, 0644);
	fill("empty", 0, 0644);
	fill("large", 3 * 4096 + 7, 0644);
	fill("none", 5, 0);
	fill("...", 3, 0644);
	fill(".hidden", 3, 0644);
	fill("locked/file", 3, 0644);
	CHECK(!chmod("locked", 0));
	CHECK(!symlink("file", "to-file"));
	CHECK(!symlink("dir", "to-dir"));
	CHECK(!symlink("/", "to-root"));
	CHECK(!symlink("../file", "dir/up"));
	CHECK(!symlink("nowhere", "dangling"));
	CHECK(!symlink("loop", "loop"));
}

static void check_stat(const struct syscript_stat *stat, const struct stat *st)
{
	CHECK_EQ(stat->ino, st->st_ino);
	CHECK_EQ(stat->dev, st->st_dev);
	CHECK_EQ(stat->rdev, st->st_rdev);
	CHECK_EQ(stat->mode, st->st_mode);
	CHECK_EQ(stat->uid, st->st_uid);
	CHECK_EQ(stat->gid, st->st_gid);
	CHECK_EQ(stat->size, st->st_size);
	CHECK_EQ(stat->blocks, st->st_blocks);
	CHECK_EQ(stat->mtime.tv_sec, st->st_mtim.tv_sec);
	CHECK_EQ(stat->mtime.tv_nsec, st->st_mtim.tv_nsec);
}

static void expect(const char *what, const char *path, long long result, long long plain)
{
	if (result == plain)
		return;
	fprintf(stderr, "%s of %s: %lld, not %lld\n", what, path, result, plain);
	exit(1);
}

static void test_stat(int dirfd, int flags)
{
	static struct syscript_stat stats[PATHS];
	struct syscript_file files[PATHS];

	for (size_t i = 0; i < PATHS; i++)
		files[i] = (struct syscript_file){ (intptr_t)paths[i], (intptr_t)&stats[i], 0, 99 };
	CHECK_EQ(syscript_stat_many(dirfd, files, PATHS, ALL, flags), 0);
	for (size_t i = 0; i < PATHS; i++) {
		struct stat st;
		int err = fstatat(dirfd, paths[i], &st, flags | AT_NO_AUTOMOUNT) ? -errno : 0;

		expect("stat", paths[i], files[i].result, err);
		if (!err && strncmp(paths[i], "/proc/self", 10))
			check_stat(&stats[i], &st);
	}
}

#define TURNS	60

/* Files in @dirs directories with names of equal length, alternating. */
static void test_turns(unsigned int dirs)
{
	static struct syscript_stat stats[TURNS];
	struct syscript_file files[TURNS];
	char names[TURNS][16];
	struct stat st;

	for (unsigned int i = 0; i < TURNS; i++) {
		unsigned int dir = i * i % dirs;

		sprintf(names[i], "turn%u", dir);
		mkdir(names[i], 0755);
		strcat(names[i], "/f");
		if (access(names[i], F_OK))
			fill(names[i], dir + 1, 0644);
		files[i] = (struct syscript_file){ (intptr_t)names[i], (intptr_t)&stats[i], 0, 99 };
	}
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, TURNS, ALL, 0), 0);
	for (unsigned int i = 0; i < TURNS; i++) {
		CHECK_EQ(files[i].result, 0);
		CHECK(!stat(names[i], &st));
		check_stat(&stats[i], &st);
	}
}

/* As much as fits, or -errno. */
static ssize_t plain_read(int dirfd, const char *path, char *to, size_t size, int flags)
{
	int fd = openat(dirfd, path, O_RDONLY | flags);
	ssize_t done = 0, n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, to + done, size - done)) > 0)
		done += n;
	if (n < 0 && !done)
		done = -errno;
	close(fd);
	return done;
}

static void test_read(int dirfd, size_t size, int flags)
{
	struct syscript_file files[PATHS];

	for (size_t i = 0; i < PATHS; i++)
		files[i] = (struct syscript_file){
			(intptr_t)paths[i], (intptr_t)buf + i * 16384, size, 99,
		};
	CHECK_EQ(syscript_read_many(dirfd, files, PATHS, flags), 0);
	for (size_t i = 0; i < PATHS; i++) {
		ssize_t plain = plain_read(dirfd, paths[i], other, size, flags);

		expect("read", paths[i], files[i].result, plain);
		if (plain > 0)
			CHECK(!memcmp(buf + i * 16384, other, plain));
	}
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_open(int dirfd, int flags)
{
	static struct syscript_stat stats[PATHS];
	struct syscript_file files[PATHS];
	int before = open_descriptors(), opened = 0;

	for (size_t i = 0; i < PATHS; i++)
		files[i] = (struct syscript_file){ (intptr_t)paths[i], (intptr_t)&stats[i], 0, 99 };
	CHECK_EQ(syscript_open_many(dirfd, files, PATHS, flags, 0, ALL), 0);
	for (size_t i = 0; i < PATHS; i++) {
		int fd = openat(dirfd, paths[i], flags), plain = fd < 0 ? -errno : fd;
		struct stat st;

		if (plain < 0 || files[i].result < 0) {
			expect("open", paths[i], files[i].result, plain);
			continue;
		}
		opened++;
		CHECK(!fstat(files[i].result, &st));
		if (strncmp(paths[i], "/proc/self", 10))
			check_stat(&stats[i], &st);
		CHECK_EQ(fcntl(files[i].result, F_GETFL), fcntl(fd, F_GETFL));
		CHECK_EQ(fcntl(files[i].result, F_GETFD), fcntl(fd, F_GETFD));
		CHECK_EQ(lseek(files[i].result, 0, SEEK_CUR), lseek(fd, 0, SEEK_CUR));
		close(fd);
	}
	CHECK(opened > 5);
	CHECK(open_descriptors() >= before + opened);
	for (size_t i = 0; i < PATHS; i++) {
		if (files[i].result >= 0)
			close(files[i].result);
	}
}

static void test_one(void)
{
	int64_t total = 0;
	struct syscript_stat stat;
	struct stat st;
	int fd;

	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "large", buf, LARGE, &total), 3 * 4096 + 7);
	CHECK_EQ(total, 3 * 4096 + 7);
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "large", buf, 100, &total), 100);
	CHECK_EQ(total, 3 * 4096 + 7);
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "empty", buf, 100, &total), 0);
	CHECK_EQ(total, 0);
	CHECK(syscript_open_read_close(AT_FDCWD, "/proc/version", buf, LARGE, &total) > 0);
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "nowhere", buf, 10, NULL), -ENOENT);
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "dir", buf, 10, NULL), -EISDIR);
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "file", NULL, 10, NULL), -EFAULT);
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, NULL, buf, 10, NULL), -EFAULT);

	fd = syscript_open_fstat(AT_FDCWD, "file", O_RDWR | O_CLOEXEC, 0, ALL, &stat);
	CHECK(fd >= 0 && !fstat(fd, &st));
	check_stat(&stat, &st);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	CHECK_EQ(syscript_open_fstat(AT_FDCWD, "file", O_RDONLY, 0, ALL, (void *)8), -EFAULT);
	fd = syscript_open_fstat(AT_FDCWD, "created", O_CREAT | O_EXCL | O_WRONLY, 0666, ALL, &stat);
	CHECK(fd >= 0);
	CHECK_EQ(stat.mode, S_IFREG | 0644);
	close(fd);
	CHECK_EQ(syscript_open_fstat(AT_FDCWD, "created", O_CREAT | O_EXCL | O_WRONLY, 0666, ALL, NULL),
		 -EEXIST);
}

static void contains(const char *path, const char *text)
{
	char got[100] = "";

	CHECK_EQ(plain_read(AT_FDCWD, path, got, sizeof(got) - 1, 0), (ssize_t)strlen(text));
	CHECK(!strcmp(got, text));
}

#define WRITE(path, text, flags)	\
	syscript_open_write_close(AT_FDCWD, path, text, strlen(text), flags, 0666)

/* Without a free descriptor, open(2) has no effect on the file. */
static void test_no_descriptor(void)
{
	struct rlimit before = leave_descriptors(0);
	long plain = or_error(open((const char *)8, O_RDONLY));

	CHECK_EQ(syscript_open_fstat(AT_FDCWD, "large", O_WRONLY | O_TRUNC, 0, 0, NULL), -EMFILE);
	CHECK_EQ(syscript_open_fstat(AT_FDCWD, "untouched", O_WRONLY | O_CREAT, 0644, 0, NULL),
		 -EMFILE);
	/* Which of the two errors comes first depends on the kernel version. */
	CHECK(plain == -EFAULT || plain == -EMFILE);
	CHECK_EQ(syscript_open_fstat(AT_FDCWD, NULL, O_RDONLY, 0, 0, NULL), plain);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK_EQ(syscript_open_read_close(AT_FDCWD, "large", buf, LARGE, NULL), 3 * 4096 + 7);
	CHECK_EQ(access("untouched", F_OK), -1);
}

static void check_no_temporary(void)
{
	CHECK(system("ls -A . dir | grep -q '^\\.\\(new\\|dir\\|brand\\)\\|\\.[0-9]*-[0-9]*$'"));
}

static void test_write(void)
{
	struct stat before, after;

	CHECK_EQ(WRITE("new", "x", 0), -ENOENT);
	CHECK_EQ(WRITE("new", "hello world", O_CREAT), 11);
	contains("new", "hello world");
	CHECK_EQ(WRITE("new", "HELLO", 0), 5);
	contains("new", "HELLO world");
	CHECK_EQ(WRITE("new", "!!", O_APPEND), 2);
	contains("new", "HELLO world!!");
	CHECK_EQ(WRITE("new", "abc", O_TRUNC), 3);
	contains("new", "abc");
	CHECK_EQ(WRITE("new", "", O_TRUNC), 0);
	contains("new", "");
	CHECK_EQ(WRITE("new", "abc", O_CREAT | O_EXCL), -EEXIST);
	CHECK_EQ(WRITE("dir", "abc", 0), -EISDIR);
	CHECK_EQ(WRITE("dangling", "through", O_CREAT), 7);
	contains("nowhere", "through");
	CHECK(!unlink("nowhere"));
	CHECK_EQ(WRITE("to-file", "abc", O_NOFOLLOW), -ELOOP);
	CHECK_EQ(WRITE("/dev/null", "abc", 0), 3);
	CHECK_EQ(WRITE("/dev/full", "abc", 0), -ENOSPC);
	CHECK_EQ(syscript_open_write_close(AT_FDCWD, "new", NULL, 5, 0, 0), -EFAULT);
	if (geteuid()) {
		CHECK_EQ(WRITE("none", "abc", 0), -EACCES);
		CHECK_EQ(WRITE("dir/b", "abc", 0), -EACCES);
		CHECK_EQ(WRITE("/etc/new", "abc", O_CREAT), access("/etc", W_OK) ? -errno : 3);
	}
	CHECK(!stat("new", &before));
	CHECK_EQ(WRITE("new", "atomic", SYSCRIPT_ATOMIC), 6);
	contains("new", "atomic");
	CHECK(!stat("new", &after));
	CHECK(before.st_ino != after.st_ino);
	CHECK_EQ(after.st_mode, S_IFREG | 0644);
	CHECK_EQ(WRITE("new", "more", SYSCRIPT_ATOMIC | O_EXCL), -EEXIST);
	contains("new", "atomic");
	CHECK_EQ(WRITE("dir/brand-new", "more", SYSCRIPT_ATOMIC | O_EXCL), 4);
	contains("dir/brand-new", "more");
	CHECK_EQ(WRITE("nowhere/x", "more", SYSCRIPT_ATOMIC), -ENOENT);
	CHECK_EQ(WRITE("dir", "more", SYSCRIPT_ATOMIC), -EISDIR);
	CHECK_EQ(syscript_open_write_close(AT_FDCWD, "new", NULL, 5, SYSCRIPT_ATOMIC, 0600), -EFAULT);
	CHECK_EQ(syscript_open_write_close(AT_FDCWD, NULL, "x", 1, SYSCRIPT_ATOMIC, 0600), -EFAULT);
	contains("new", "atomic");
	check_no_temporary();
}

/* The call @nr fails with @err if its argument @arg is not 0. */
static void refuse(int nr, int arg, int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[arg])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
}

/* On file systems that cannot rename only if the name is free, with links and without. */
static void write_by_links(void)
{
	struct stat st;

	refuse(SYS_renameat2, 4, EINVAL);
	CHECK_EQ(WRITE("linked", "text", SYSCRIPT_ATOMIC | O_EXCL), 4);
	contains("linked", "text");
	CHECK(!stat("linked", &st) && st.st_nlink == 1);
	CHECK_EQ(WRITE("linked", "more", SYSCRIPT_ATOMIC | O_EXCL), -EEXIST);
	contains("linked", "text");
	CHECK_EQ(WRITE("linked", "other", SYSCRIPT_ATOMIC), 5);
	contains("linked", "other");
	refuse(SYS_linkat, 1, EPERM);
	CHECK_EQ(WRITE("no-link", "text", SYSCRIPT_ATOMIC | O_EXCL), -EINVAL);
	CHECK(access("no-link", F_OK));
	check_no_temporary();
}

static void test_write_by_links(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		write_by_links();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void same_contents(const char *a, const char *b)
{
	ssize_t n = plain_read(AT_FDCWD, a, buf, LARGE, 0);

	CHECK_EQ(plain_read(AT_FDCWD, b, other, LARGE, 0), n);
	CHECK(!memcmp(buf, other, n));
}

static void test_copy(void)
{
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "large", AT_FDCWD, "copy", 0, 0640), 3 * 4096 + 7);
	same_contents("large", "copy");
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "file", AT_FDCWD, "copy", 0, 0640), 1024);
	same_contents("file", "copy");
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "empty", AT_FDCWD, "copy", 0, 0640), 0);
	same_contents("empty", "copy");
	CHECK(syscript_copy_file(AT_FDCWD, "/proc/version", AT_FDCWD, "copy", 0, 0640) > 0);
	same_contents("/proc/version", "copy");
	CHECK(syscript_copy_file(AT_FDCWD, "/usr/bin/env", AT_FDCWD, "copy", 0, 0640) > 0);
	same_contents("/usr/bin/env", "copy");
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "file", AT_FDCWD, "/dev/null", 0, 0640), 1024);
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "file", AT_FDCWD, "file", 0, 0640), -EINVAL);
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "file", AT_FDCWD, "to-file", 0, 0640), -EINVAL);
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "file", AT_FDCWD, "copy", O_EXCL, 0640), -EEXIST);
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "dir", AT_FDCWD, "copy", 0, 0640), -EISDIR);
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "nowhere", AT_FDCWD, "copy", 0, 0640), -ENOENT);
	CHECK_EQ(syscript_copy_file(AT_FDCWD, "file", AT_FDCWD, "nowhere/copy", 0, 0640), -ENOENT);
}

/* Reads everything at @fd, which must be @head and then the @n bytes at @file. */
static void arrived(int fd, const char *head, const char *file, ssize_t n)
{
	ssize_t len = strlen(head), got = 0, ret;

	while (got < len + n && (ret = read(fd, buf + got, LARGE - got)) > 0)
		got += ret;
	CHECK_EQ(got, len + n);
	CHECK(!memcmp(buf, head, len) && !memcmp(buf + len, file, n));
	CHECK_EQ(recv(fd, buf, 1, MSG_DONTWAIT), -1);
}

#define SEND(out, size, ...)	\
	syscript_send_file(out, &(struct syscript_sending){ .dirfd = AT_FDCWD, __VA_ARGS__ }, size)
#define HEAD(text, how)	.head = (text), .head_size = strlen(text), .flags = (how)

static void test_send(void)
{
	const ssize_t whole = 3 * 4096 + 7;
	int64_t size = -1, n;
	int pair[2], out;

	CHECK_EQ(plain_read(AT_FDCWD, "large", other, LARGE, 0), whole);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_EQ(SEND(pair[0], &size, .path = "large"), whole);
	CHECK_EQ(size, whole);
	arrived(pair[1], "", other, whole);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", HEAD("head\n", 0)), 5 + whole);
	arrived(pair[1], "head\n", other, whole);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .offset = 4000, .count = 200,
		      HEAD("Content-Length: ", SYSCRIPT_LENGTH)), 16 + 3 + 4 + 200);
	arrived(pair[1], "Content-Length: 200\r\n\r\n", other + 4000, 200);
	/* At the end, beyond the end, an empty file; and a length of zero. */
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .offset = whole - 7, .count = 100), 7);
	arrived(pair[1], "", other + whole - 7, 7);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .offset = 1L << 40), 0);
	CHECK_EQ(SEND(pair[0], NULL, .path = "empty", HEAD("", SYSCRIPT_LENGTH)), 5);
	arrived(pair[1], "0\r\n\r\n", "", 0);

	CHECK_EQ(SEND(pair[0], NULL, .path = "nowhere", HEAD("x", 0)), -ENOENT);
	CHECK_EQ(SEND(pair[0], NULL, .path = "dir", HEAD("x", 0)), -EISDIR);
	CHECK_EQ(SEND(pair[0], NULL, .path = "/dev/zero", HEAD("x", 0)), -EINVAL);
	CHECK_EQ(SEND(pair[0], NULL, .path = NULL, HEAD("x", 0)), -EFAULT);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .head = (void *)8, .head_size = 9), -EFAULT);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .offset = -1), -EINVAL);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .count = -1), -EINVAL);
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", .flags = 2), -EINVAL);
	CHECK_EQ(SEND(-1, NULL, .path = "large"), -EBADF);
	arrived(pair[1], "", "", 0);

	/* A full socket: the number of bytes sent is returned, and the rest can follow. */
	CHECK(!fcntl(pair[0], F_SETFL, O_NONBLOCK));
	while (send(pair[0], buf, 1, 0) == 1)
		;
	CHECK_EQ(SEND(pair[0], NULL, .path = "large", HEAD("x", 0)), -EAGAIN);
	while ((n = recv(pair[1], buf, LARGE, MSG_DONTWAIT)) > 0)
		;
	for (int64_t at = 0; at < whole; at += n) {
		n = SEND(pair[0], NULL, .path = "large", .offset = at);
		CHECK(n > 0);
		arrived(pair[1], "", other + at, n);
	}
	/* Neither a socket nor a pipe. */
	out = open("sent", O_WRONLY | O_CREAT, 0600);
	CHECK_EQ(SEND(out, NULL, .path = "file", HEAD("", 0)), 1024);
	same_contents("file", "sent");
	CHECK_EQ(SEND(out, NULL, .path = "file", HEAD("n: ", SYSCRIPT_LENGTH)), 3 + 8 + 1024);
	close(out);
	close(pair[0]);
	CHECK_EQ(recv(pair[1], buf, 1, 0), 0);
	close(pair[1]);
}

static void test_addresses(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct syscript_file *files;
	struct syscript_stat stat;

	CHECK(page != MAP_FAILED && !munmap(page + 4096, 4096));
	files = (void *)(page + 4096) - 2 * sizeof(*files);
	files[0] = files[1] = (struct syscript_file){ (intptr_t)"file", (intptr_t)&stat, 0, 99 };
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 2, ALL, 0), 0);
	files[0].result = files[1].result = 99;
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 3, ALL, 0), -EFAULT);
	CHECK_EQ(files[1].result, 0);
	CHECK_EQ(syscript_stat_many(AT_FDCWD, NULL, 1, ALL, 0), -EFAULT);
	CHECK_EQ(syscript_stat_many(AT_FDCWD, NULL, 0, ALL, 0), 0);
	files[0].path = 16;
	files[1].data = 16;
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 2, ALL, 0), 0);
	CHECK_EQ(files[0].result, -EFAULT);
	CHECK_EQ(files[1].result, -EFAULT);
	/* A path that ends with the last mapped byte, and one without an end. */
	memcpy(page + 4096 - 5, "file", 5);
	files = &(struct syscript_file){ (intptr_t)page + 4096 - 5, (intptr_t)&stat, 0, 99 };
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 1, ALL, 0), 0);
	CHECK_EQ(files->result, 0);
	memset(page, 'x', 4096);
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 1, ALL, 0), 0);
	CHECK_EQ(files->result, -EFAULT);
	memset(buf, 'x', 5000);
	buf[5000] = '\0';
	files->path = (intptr_t)buf;
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 1, ALL, 0), 0);
	CHECK_EQ(files->result, -ENAMETOOLONG);
	/* A name that is too long for most file systems, and unknown to others. */
	files->path = (intptr_t)buf + 5000 - 256;
	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 1, ALL, 0), 0);
	CHECK(access(buf + 5000 - 256, F_OK) && files->result == -errno);
	files->path = (intptr_t)"file";
	CHECK_EQ(syscript_stat_many(-7, files, 1, ALL, 0), 0);
	CHECK_EQ(files->result, -EBADF);
}

static void *reader(void *arg)
{
	struct syscript_stat stat;
	char own[2048];

	for (int i = 0; i < 200; i++) {
		int fd = syscript_open_fstat(AT_FDCWD, "file", O_RDONLY, 0, ALL, &stat);

		CHECK(fd >= 0);
		close(fd);
		CHECK_EQ(stat.size, 1024);
		CHECK_EQ(syscript_open_read_close(AT_FDCWD, "file", own, sizeof(own), NULL), 1024);
	}
	return arg;
}

static void test_threads(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, reader, NULL));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

/* -- Descriptors that another thread closes meanwhile ---------------------- */

static atomic_bool over;
static int first_free;

static bool is_free(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

/* Finds the lowest free number above all descriptors, including the library's. */
static void find_first_free(void)
{
	int last = 1023;

	while (is_free(last))
		last--;
	for (int fd = 0; fd < last; fd++)
		if (is_free(fd))
			CHECK(dup2(last, fd) == fd);
	first_free = last + 1;
}

static void close_all(void)
{
	for (int fd = first_free; fd < first_free + 8; fd++)
		close(fd);
}

static void *closer(void *arg)
{
	while (!atomic_load(&over))
		close_all();
	return arg;
}

/* Whether the descriptor was closed, or the result was an error. */
static bool is_closed_or(bool good, long result)
{
	if (!good)
		CHECK_EQ(result, -EBADF);
	return !good;
}

static void test_closed_meanwhile(void)
{
	/* Files whose descriptors are allocated in all possible ways. */
	static const char *const names[] = { "file", "/proc/self/comm", "to-file", "dir/.." };
	struct syscript_file files[4];
	struct syscript_stat stats[4];
	char texts[4][2048];
	int met = 0;
	pthread_t thread;

	find_first_free();
	CHECK(!pthread_create(&thread, NULL, closer, NULL));
	for (int round = 0; round < 1000 || (!met && round < 20000); round++) {
		for (int i = 0; i < 4; i++)
			files[i] = (struct syscript_file){ (intptr_t)names[i], (intptr_t)&stats[i],
							   0, 0 };
		CHECK_EQ(syscript_open_many(AT_FDCWD, files, 4, O_RDONLY | O_CLOEXEC, 0, ALL), 0);
		for (int i = 0; i < 4; i++)
			met += is_closed_or(files[i].result >= first_free, files[i].result);
		for (int i = 0; i < 3; i++)
			files[i] = (struct syscript_file){ (intptr_t)names[i], (intptr_t)texts[i],
							   sizeof(texts[i]), 0 };
		CHECK_EQ(syscript_read_many(AT_FDCWD, files, 3, 0), 0);
		for (int i = 0; i < 3; i++)
			met += is_closed_or(files[i].result > 0, files[i].result);
		close_all();
	}
	CHECK(met);	/* or the race was never hit */
	atomic_store(&over, true);
	CHECK(!pthread_join(thread, NULL));
}

static void test_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		reader(NULL);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	reader(NULL);
}

/* Programs that become daemons close unknown descriptors. */
static void test_closed(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	reader(NULL);
	for (int fd = 3; fd < 20; fd++)
		dup2(0, fd);
	reader(NULL);
	for (int fd = 3; fd < 20; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	char command[2 * sizeof(top) + 100];
	int dirfd;

	umask(022);
	buf = malloc(LARGE);
	other = malloc(LARGE);
	memset(buf, 'b', LARGE);
	snprintf(top, sizeof(top), "%s/syscript-files-XXXXXX", argc > 1 ? argv[1] : "/tmp");
	CHECK(mkdtemp(top) && !chdir(top));
	build();
	dirfd = open(".", O_PATH | O_CLOEXEC);
	CHECK(!chdir("dir"));
	test_stat(dirfd, 0);
	CHECK(!chdir(top));
	test_stat(AT_FDCWD, 0);
	test_stat(AT_FDCWD, AT_SYMLINK_NOFOLLOW);
	test_stat(-7, 0);
	test_turns(3);
	test_turns(11);
	test_read(AT_FDCWD, 16384, 0);
	test_read(AT_FDCWD, 1000, 0);
	test_read(dirfd, 4096, O_NOFOLLOW);
	test_open(AT_FDCWD, O_RDONLY);
	test_open(dirfd, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	test_open(AT_FDCWD, O_PATH);
	test_open(AT_FDCWD, O_RDONLY | O_DIRECTORY);
	test_one();
	test_no_descriptor();
	test_write();
	test_write_by_links();
	test_copy();
	test_send();
	test_addresses();
	if (argc == 1) {	/* the same on all file systems */
		test_threads();
		test_closed_meanwhile();
		test_fork();
		test_closed();
	}
	snprintf(command, sizeof(command), "chmod 700 %s/locked; rm -rf %s", top, top);
	return system(command) != 0;
}
