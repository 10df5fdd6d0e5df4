// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript_readdirplus() compared with getdents64(2) and statx(2), entry by entry. */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "dir_check.h"

#define LARGE	(1 << 20)

static char *buf;			/* LARGE */
static char top[] = "/tmp/syscript-readdirplus-XXXXXX";

static void make(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0640);

	CHECK(fd >= 0);
	CHECK(write(fd, top, strlen(name) % 16) >= 0);
	close(fd);
}

static void odd_entries(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	struct timespec times[2] = { { -5, 999999999 }, { 1L << 33, 1 } };
	char name[256] = "";
	int s = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	CHECK(!bind(s, (struct sockaddr *)&address, sizeof(address)));
	close(s);
	make("regular");
	make(" ");
	make("a\nb");
	make("\xff\xfe");
	make("...");
	make("..a");
	make(".hidden");
	memset(name, 'x', 255);
	make(name);
	for (int len = 1; len < 40; len++) {
		memset(name, 'a' + len % 26, len);
		name[len] = '\0';
		make(name);
	}
	CHECK(!link("regular", "second"));
	CHECK(!symlink("regular", "to-file"));
	CHECK(!symlink(".", "to-dir"));
	CHECK(!symlink("nowhere", "dangling"));
	CHECK(!symlink("loop", "loop"));
	CHECK(!mkfifo("fifo", 0600));
	CHECK(!mkdir("dir", 0700));
	CHECK(!mkdir("none", 0));
	make("old");
	CHECK(!utimensat(AT_FDCWD, "old", times, 0));
	make("sparse");
	CHECK(!truncate("sparse", 1L << 40));
	make("unreadable");
	CHECK(!chmod("unreadable", 0));
	fd = open("deep", O_CREAT | O_WRONLY, 07777);
	CHECK(fd >= 0 && !fchmod(fd, 06755));
	close(fd);
}

static void test_odd(void)
{
	static const size_t sizes[] = { LARGE, 32768, 4096, 1000, 504 };

	CHECK(!mkdir("odd", 0755) && !chdir("odd"));
	odd_entries();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check_dir(".", buf, sizes[i], 0, STABLE);
		check_dir(".", buf, sizes[i], SYSCRIPT_DOTS, STABLE);
	}
	CHECK(!chdir(top));
	check_dir("odd/dir", buf, LARGE, 0, STABLE);
	check_dir("odd/dir", buf, LARGE, SYSCRIPT_DOTS, STABLE);
}

static void test_many(void)
{
	char name[300];

	CHECK(!mkdir("many", 0755) && !chdir("many"));
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "%d-%.*s", i, i % 200, buf);
		make(name);
	}
	check_dir(".", buf, LARGE, 0, STABLE);
	check_dir(".", buf, 40000, SYSCRIPT_DOTS, STABLE);
	CHECK(!chdir(top));
}

/* Mount points, pseudo file systems, devices. */
static void test_system(void)
{
	static const char *const dirs[] = {
		"/", "/dev", "/etc", "/sys", "/sys/kernel", "/proc/self", "/proc/self/ns",
		"/proc/self/task", "/proc/sys/kernel", "/usr/bin", "/proc",
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		check_dir(dirs[i], buf, LARGE, 0, CHANGING);
		check_dir(dirs[i], buf, LARGE, SYSCRIPT_DOTS, CHANGING);
	}
}

static void test_names_only(void)
{
	struct syscript_dirent *entry = (void *)buf;
	int fd = open_dir("odd"), end;
	ssize_t len;

	len = syscript_readdirplus(fd, buf, LARGE, 0, 0, &end);
	CHECK(len > 0 && end);
	for (; (char *)entry < buf + len; entry = syscript_next_dirent(entry)) {
		CHECK_EQ(entry->error, 0);
		CHECK_EQ(entry->stat.mask, 0);
		CHECK_EQ(entry->stat.size, 0);
		CHECK(entry->stat.ino);
	}
	CHECK_EQ(syscript_readdirplus(fd, buf, LARGE, 0, 0, NULL), 0);
	close(fd);
}

static void test_no_search(void)
{
	struct syscript_dirent *entry = (void *)buf;
	ssize_t len;
	int fd;

	if (!geteuid())
		return;
	CHECK(!mkdir("locked", 0700));
	make("locked/file");
	CHECK(!chmod("locked", 0400));
	fd = open_dir("locked");
	len = syscript_readdirplus(fd, buf, LARGE, ALL, 0, NULL);
	CHECK(len > 0);
	CHECK_EQ(entry->error, -EACCES);
	CHECK_EQ(entry->stat.mask, 0);
	close(fd);
	CHECK(!chmod("locked", 0700));
	check_dir("locked", buf, LARGE, 0, STABLE);
}

static void test_errors(void)
{
	int file = open("odd/regular", O_RDONLY), path = open("odd", O_PATH), fd;
	char *readonly = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pipes[2], end = 7;

	CHECK(!pipe(pipes));
	CHECK_EQ(syscript_readdirplus(-1, buf, LARGE, ALL, 0, &end), -EBADF);
	CHECK_EQ(end, 0);
	CHECK_EQ(syscript_readdirplus(9999, buf, LARGE, ALL, 0, NULL), -EBADF);
	CHECK_EQ(syscript_readdirplus(AT_FDCWD, buf, LARGE, ALL, 0, NULL), -EBADF);
	CHECK_EQ(syscript_readdirplus(file, buf, LARGE, ALL, 0, NULL), -ENOTDIR);
	CHECK_EQ(syscript_readdirplus(pipes[0], buf, LARGE, ALL, 0, NULL), -ENOTDIR);
	CHECK_EQ(syscript_readdirplus(path, buf, LARGE, ALL, 0, NULL), -EBADF);
	fd = open_dir("odd");
	CHECK_EQ(syscript_readdirplus(fd, buf, LARGE, ALL, 2, NULL), -EINVAL);
	CHECK_EQ(syscript_readdirplus(fd, buf, 100, ALL, 0, NULL), -EINVAL);
	CHECK_EQ(syscript_readdirplus(fd, buf, 0, ALL, 0, NULL), -EINVAL);
	/* A buffer at a bad address loses no entries. */
	CHECK_EQ(syscript_readdirplus(fd, NULL, LARGE, ALL, 0, NULL), -EFAULT);
	CHECK_EQ(syscript_readdirplus(fd, (void *)8, LARGE, ALL, 0, NULL), -EFAULT);
	CHECK_EQ(syscript_readdirplus(fd, readonly, 8192, ALL, 0, NULL), -EFAULT);
	CHECK_EQ(syscript_readdirplus(fd, (void *)(1L << 50), LARGE, ALL, 0, NULL), -EFAULT);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);
	CHECK(syscript_readdirplus(fd, buf, SIZE_MAX, ALL, 0, &end) > 0);
	CHECK_EQ(end, 1);
	close(fd);

	CHECK(!mkdir("gone", 0700));
	fd = open_dir("gone");
	CHECK(!rmdir("gone"));
	CHECK_EQ(syscript_readdirplus(fd, buf, LARGE, ALL, 0, NULL), -ENOENT);
	close(fd);
	close(file);
	close(path);
}

/* After seekdir(3), and with duplicated descriptors that share the position. */
static void test_position(void)
{
	struct syscript_dirent *entry = (void *)buf;
	int fd = open_dir("many"), twin = dup(fd);
	char first[256];
	size_t n = 0;
	ssize_t len;

	CHECK(syscript_readdirplus(fd, buf, 1000, ALL, 0, NULL) > 0);
	strcpy(first, entry->name);
	lseek(twin, 0, SEEK_SET);
	CHECK(syscript_readdirplus(fd, buf, 1000, ALL, 0, NULL) > 0);
	CHECK(!strcmp(first, entry->name));
	lseek(fd, 0, SEEK_SET);
	for (int i = 0;; i++) {
		len = syscript_readdirplus(i & 1 ? fd : twin, buf, 5000, 0, 0, NULL);
		if (len <= 0)
			break;
		for (entry = (void *)buf; (char *)entry < buf + len; n++)
			entry = syscript_next_dirent(entry);
	}
	CHECK_EQ(len, 0);
	CHECK_EQ(n, 3000);
	close(fd);
	close(twin);
}

/* The same entries as from a descriptor, and no descriptor leaked. */
static void test_path(void)
{
	static char first[LARGE] __attribute__((aligned(8)));
	int fd = open_dir("odd"), other = 7;
	ssize_t len = syscript_readdirplus(fd, first, LARGE, ALL & ~STATX_ATIME, 0, NULL), n;

	close(fd);
	CHECK(len > 0);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, "odd", buf, LARGE, ALL & ~STATX_ATIME, 0, &other),
		 len);
	CHECK_EQ(other, -1);
	CHECK_EQ(open("/", O_RDONLY), fd);
	close(fd);
	n = syscript_opendirplus(AT_FDCWD, "odd", buf, 2000, ALL, 0, &other);
	CHECK(n > 0 && n <= 2000);
	CHECK_EQ(other, fd);
	CHECK_EQ(syscript_readdirplus(other, buf, LARGE, ALL, 0, NULL), len - n);
	close(other);
	CHECK_EQ(syscript_opendirplus(fd, "odd", buf, LARGE, ALL, 0, &other), -EBADF);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, "nowhere", buf, LARGE, ALL, 0, &other), -ENOENT);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, "odd/regular", buf, LARGE, ALL, 0, &other),
		 -ENOTDIR);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, "odd", buf, 100, ALL, 0, &other), -EINVAL);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, "odd", NULL, LARGE, ALL, 0, &other), -EFAULT);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, NULL, buf, LARGE, ALL, 0, &other), -EFAULT);
	CHECK_EQ(syscript_opendirplus(AT_FDCWD, (void *)8, buf, LARGE, ALL, 0, &other), -EFAULT);
	CHECK_EQ(other, -1);
	CHECK_EQ(open("/", O_RDONLY), fd);
	close(fd);
}

static void nothing(int signal)
{
	(void)signal;
}

/* Signals shorten what a call returns, and have no other effect. */
static void test_signals(void)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };

	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < 10; i++)
		check_dir("odd", buf, LARGE, 0, STABLE);
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
}

/* The access mode of a descriptor by /proc/self/fd, as the script sees it. */
static mode_t mode_of_fd(int fd)
{
	struct syscript_dirent *entry = (void *)buf;
	char name[16];
	int dir;
	ssize_t len = syscript_opendirplus(AT_FDCWD, "/proc/self/fd", buf, LARGE, ALL, 0, &dir);

	CHECK(len > 0 && dir == -1);
	snprintf(name, sizeof(name), "%d", fd);
	while ((char *)entry < buf + len && strcmp(entry->name, name))
		entry = syscript_next_dirent(entry);
	CHECK((char *)entry < buf + len);
	CHECK_EQ(entry->error, 0);
	return entry->stat.mode & 0777;
}

/*
 * A name in the dcache that by now refers to another file, on a file system that must revalidate
 * it.
 */
static void test_revalidated(void)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };
	static const mode_t seen[] = { 0500, 0300, 0700 };
	int fd = open("/dev/null", O_RDWR), other;

	for (int i = 0; i < 30; i++) {
		other = open("/dev/null", modes[i % 3]);
		CHECK(dup2(other, fd) == fd);
		close(other);
		CHECK_EQ(mode_of_fd(fd), seen[i % 3]);
	}
	close(fd);
}

/* -- Extended attributes --------------------------------------------------- */

#define MISSING	(SYSCRIPT_NO_ACL | SYSCRIPT_NO_LABEL | SYSCRIPT_NO_XATTR)

/* user::rwx, user 1: r, group::r, mask::r, other::- */
static const unsigned char acl[] = {
	2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255,
	255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
};

static bool has(const char *path, const char *name)
{
	return lgetxattr(path, name, NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
}

static unsigned int missing(const char *path, mode_t mode)
{
	unsigned int none = 0;

	if (!has(path, "system.posix_acl_access") &&
	    (!S_ISDIR(mode) || !has(path, "system.posix_acl_default")))
		none |= SYSCRIPT_NO_ACL;
	if (!has(path, "security.selinux"))
		none |= SYSCRIPT_NO_LABEL;
	if (llistxattr(path, NULL, 0) == 0 || errno == EOPNOTSUPP)
		none |= SYSCRIPT_NO_XATTR;
	return none;
}

static void check_missing(const char *path, unsigned int flags)
{
	struct syscript_dirent *entry = (void *)buf;
	char whole[600];
	ssize_t len;
	int fd;

	len = syscript_opendirplus(AT_FDCWD, path, buf, LARGE, ALL | MISSING, flags, &fd);
	CHECK(len > 0 && fd == -1);
	for (; (char *)entry < buf + len; entry = syscript_next_dirent(entry)) {
		struct syscript_stat stat = { 0 };
		struct syscript_file file = { (intptr_t)whole, (intptr_t)&stat, 0, 0 };

		if (entry->error)
			continue;
		snprintf(whole, sizeof(whole), "%s/%s", path, entry->name);
		errno = 0;
		CHECK_EQ(entry->stat.mask & MISSING, missing(whole, entry->stat.mode));
		CHECK_EQ(entry->stat.mask & ~MISSING & ~ALL, 0);
		CHECK_EQ(syscript_stat_many(AT_FDCWD, &file, 1, ALL | MISSING,
					    AT_SYMLINK_NOFOLLOW), 0);
		CHECK_EQ(stat.mask & MISSING, entry->stat.mask & MISSING);
		if (!S_ISREG(stat.mode) || access(whole, R_OK))
			continue;
		CHECK_EQ(syscript_open_many(AT_FDCWD, &file, 1, O_RDONLY, 0, ALL | MISSING), 0);
		CHECK_EQ(stat.mask & MISSING, entry->stat.mask & MISSING);
		close(file.result);
		CHECK_EQ(syscript_stat_many(AT_FDCWD, &file, 1, ALL | SYSCRIPT_NO_LABEL, 0), 0);
		CHECK_EQ(stat.mask & (MISSING & ~SYSCRIPT_NO_LABEL), 0);
	}
}

/* The bits agree with getxattr(2) and listxattr(2), for each file. */
static void test_missing(void)
{
	CHECK(!mkdir("attributes", 0755) && !chdir("attributes"));
	make("plain");
	make("listed");
	make("labelled");
	make("named");
	CHECK(!mkdir("defaulted", 0755) && !mkdir("dir", 0755));
	CHECK(!symlink("listed", "link"));
	/* If the file system supports it, and this user may. */
	if (!setxattr("listed", "system.posix_acl_access", acl, sizeof(acl), 0))
		CHECK(!(missing("listed", S_IFREG) & SYSCRIPT_NO_ACL));
	if (!setxattr("defaulted", "system.posix_acl_default", acl, sizeof(acl), 0))
		CHECK(!(missing("defaulted", S_IFDIR) & SYSCRIPT_NO_ACL));
	if (!setxattr("labelled", "security.selinux", "l", 2, 0))
		CHECK(!(missing("labelled", S_IFREG) & SYSCRIPT_NO_LABEL));
	if (setxattr("named", "user.name", "n", 1, 0))
		setxattr("named", "trusted.name", "n", 1, 0);
	CHECK(!chdir(top));
	check_missing("attributes", 0);
	check_missing("attributes", SYSCRIPT_DOTS);
	check_missing("odd", 0);
	check_missing("/proc/self/ns", 0);
	check_missing("/sys/kernel", 0);
}

int main(void)
{
	char command[100];

	umask(022);
	CHECK(!posix_memalign((void **)&buf, 8, LARGE));
	memset(buf, 'n', LARGE);
	CHECK(mkdtemp(top) && !chdir(top));
	test_many();
	test_odd();
	test_system();
	test_names_only();
	test_no_search();
	test_errors();
	test_position();
	test_path();
	test_revalidated();
	test_missing();
	test_signals();
	snprintf(command, sizeof(command), "chmod 700 %s/odd/none; rm -rf %s", top, top);
	return system(command) != 0;
}
