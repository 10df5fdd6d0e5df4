// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Under libsyscript-speedup.so: whatever has happened to a file, and whatever told
 * the process of it, the next stat(2) says what the kernel says.  Each case runs
 * with attributes fetched before the change; that they were is what unseen shows.
 *
 * usage: speed_up CASE, in an empty directory; without CASE, lists the cases.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What does not come about shows in the comparison. */
#pragma GCC diagnostic ignored "-Wunused-result"

#define FILES	12
#define TARGET	"d/f05"
#define OTHER	"d/f06"

/* Past the library: what it cannot see, and what the kernel says. */
static long raw(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static int raw_stat(const char *path, struct stat *st)
{
	return raw(SYS_newfstatat, AT_FDCWD, (long)path, (long)st, AT_SYMLINK_NOFOLLOW);
}

static void raw_chmod(const char *path)
{
	struct stat st;

	if (raw_stat(path, &st) || raw(SYS_chmod, (long)path, (st.st_mode ^ 0077) & 0777, 0, 0))
		_exit(3);
}

static void die(const char *what)
{
	perror(what);
	_exit(2);
}

static void make_files(void)
{
	char name[32];

	mkdir("d", 0755);
	mkdir("e", 0755);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "d/f%02d", i);
		close(open(name, O_WRONLY | O_CREAT, 0644));
		snprintf(name, sizeof(name), "e/f%02d", i);
		close(open(name, O_WRONLY | O_CREAT, 0600));
	}
}

static int dir_fd = -1;
static DIR *stream;

/* Reads the directory, and asks for the first file: then the others come along. */
static void fetch(int by_fd)
{
	struct dirent *entry;
	struct stat st;
	char name[300], first[300] = "";

	dir_fd = open("d", O_RDONLY | O_DIRECTORY);
	stream = opendir("d");
	while ((entry = readdir(stream))) {
		if (*entry->d_name == '.')
			continue;
		if (!*first)
			strcpy(first, entry->d_name);
	}
	snprintf(name, sizeof(name), "d/%s", first);
	/* It takes two calls in a row. */
	for (int i = 0; i < 2; i++) {
		if (by_fd ? fstatat(dir_fd, first, &st, AT_SYMLINK_NOFOLLOW) : lstat(name, &st))
			die(name);
	}
}

/* What lstat() says of @path is what the kernel says? */
static int is_right(const char *path)
{
	struct stat said, is;
	int ret = lstat(path, &said), err = errno, real = raw_stat(path, &is);

	if (ret || real)
		return (ret ? -err : 0) == real;
	return !memcmp(&said, &is, sizeof(is));
}

/* -- What the process itself does --------------------------------------------------- */

static int writing_fd = -1, lock_fd;
static FILE *writing_stream;
static char *mapping;

static void before_write(void) { writing_fd = open(TARGET, O_RDWR); }
static void before_stdio(void) { writing_stream = fopen(TARGET, "w"); }
static void before_map(void)
{
	before_write();
	ftruncate(writing_fd, 4096);
	mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writing_fd, 0);
}

static void do_nothing(void) { }
static void do_nothing_at(void) { }
static void do_chmod(void) { chmod(TARGET, 0600); }
static void do_fchmodat(void) { fchmodat(dir_fd, "f05", 0600, 0); }
static void do_chown(void) { chown(TARGET, getuid(), getgid()); }
static void do_truncate(void) { truncate(TARGET, 100); }
static void do_unlink(void) { unlink(TARGET); }
static void do_unlinkat(void) { unlinkat(dir_fd, "f05", 0); }
static void do_rename(void) { rename(OTHER, TARGET); }
static void do_rename_away(void) { rename(TARGET, "d/x"); }
static void do_rename_dir(void) { rename("d", "x"); rename("e", "d"); }
static void do_link(void) { link(TARGET, "d/x"); }
static void do_utimens(void) { utimensat(AT_FDCWD, TARGET, NULL, 0); }
static void do_setxattr(void) { setxattr(TARGET, "user.x", "y", 1, 0); }
static void do_creat(void) { close(open(TARGET, O_WRONLY | O_TRUNC)); }
static void do_write(void) { write(writing_fd, "abc", 3); }
static void do_pwritev(void) { pwritev(writing_fd, &(struct iovec){ "abc", 3 }, 1, 5); }
static void do_ftruncate(void) { ftruncate(writing_fd, 77); }
static void do_stdio(void) { fputs("abc", writing_stream); fflush(writing_stream); }
static void do_map(void) { mapping[0]++; msync(mapping, 4096, MS_SYNC); }
static void before_map_closed(void) { before_map(); close(writing_fd); }
static void before_copy(void) { before_write(); lock_fd = dup(writing_fd); close(writing_fd); writing_fd = lock_fd; }
/* One that is open only after another fetch, of files that were asked for, has looked. */
static void before_late_write(void)
{
	struct dirent *entry;
	struct stat st;

	stream = opendir("d");
	dir_fd = dirfd(stream);
	while ((entry = readdir(stream)))
		fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW);
	closedir(stream);
	before_copy();
}
static void do_append(void) { FILE *f = fopen(TARGET, "a"); fputs("abc", f); fclose(f); }
static void do_read(void) { char c; int fd = open(TARGET, O_RDONLY); read(fd, &c, 1); close(fd); }
static void do_chdir(void) { chdir("e"); }
static void do_symlink(void) { unlink(TARGET); symlink("f06", TARGET); }
static void do_system(void) { system("chmod 600 " TARGET); }

static void *thread_chmod(void *arg)
{
	chmod(TARGET, 0600);
	return arg;
}

static void do_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_chmod, NULL);
	pthread_join(thread, NULL);
}

/* -- What others do and tell --------------------------------------------------------- */

static int go[2], ends[2];
static FILE *told;
static pid_t other;

static void tell_byte(void) { raw(SYS_write, ends[1], (long)"x\n", 2, 0); }
static void tell_signal(void) { raw(SYS_kill, getppid(), SIGUSR1, 0, 0); }
static void tell_nothing(void) { }

/* A child that, on the word, changes the file past the library, then tells of it. */
static void begin_other(void (*tell)(void))
{
	char c;

	pipe(go);
	other = fork();
	if (other)
		return;
	raw(SYS_read, go[0], (long)&c, 1, 0);
	raw_chmod(TARGET);
	tell();
	_exit(0);
}

static void word(void) { raw(SYS_write, go[1], (long)"g", 1, 0); }
static void on_usr1(int sig) { (void)sig; }

static void before_wait(void) { begin_other(tell_nothing); }
static void before_pipe(void) { pipe(ends); begin_other(tell_byte); }
static void before_socket(void)
{
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	begin_other(tell_byte);
}
static void before_stream(void) { before_pipe(); told = fdopen(ends[0], "r"); }
static void before_signal(void) { signal(SIGUSR1, on_usr1); begin_other(tell_signal); }
static void before_lock(void) { lock_fd = open("e/f01", O_RDONLY); }

static void do_wait(void) { word(); wait(NULL); }
static void do_pipe(void) { char c; word(); read(ends[0], &c, 1); }
static void do_socket(void) { char c; word(); recv(ends[0], &c, 1, 0); }
static void do_poll(void) { word(); poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, -1); }
static void do_stream(void) { char line[8]; word(); fgets(line, sizeof(line), told); }
static void do_getc(void) { word(); getc_unlocked(told); }
/* Waited for without a call of libc's that the library knows. */
static void do_signal(void) { word(); raw(SYS_wait4, other, 0, 0, 0); }
static void do_lock(void) { raw_chmod(TARGET); flock(lock_fd, LOCK_EX); }

/* What was seen of one file may be a sign for another. */
static void do_sign_stat(void) { struct stat st; raw_chmod(TARGET); lstat("e/f01", &st); }
static void do_sign_gone(void) { struct stat st; raw_chmod(TARGET); lstat("e/gone", &st); }
static void do_sign_access(void) { raw_chmod(TARGET); access("e/gone", F_OK); }
static void do_sign_open(void) { raw_chmod(TARGET); open("e/f01", O_RDONLY); }
static void do_sign_read(void) { char c; raw_chmod(TARGET); read(lock_fd, &c, 1); }
static void do_sign_readdir(void) { raw_chmod(TARGET); rewinddir(stream); readdir(stream); }

static void do_sleep(void) { raw_chmod(TARGET); usleep(1000); }
static void do_late(void) { raw(SYS_nanosleep, (long)&(struct timespec){ 0, 40000000 }, 0, 0, 0); raw_chmod(TARGET); }
/* The third look is the kernel's; so is one that is not right after the first. */
static void do_thrice(void)
{
	struct stat st;

	lstat(TARGET, &st);
	lstat(TARGET, &st);
	raw_chmod(TARGET);
}
static void do_again(void) { struct stat st; lstat(TARGET, &st); lstat("d/f04", &st); raw_chmod(TARGET); }

static void do_unseen(void) { raw_chmod(TARGET); }
static void do_unseen_at(void) { raw_chmod(TARGET); }

/* -- Descriptors that become others --------------------------------------------------- */

static int is_right_at(int fd, const char *name)
{
	struct stat said, is;
	int ret = fstatat(fd, name, &said, AT_SYMLINK_NOFOLLOW), err = errno;
	int real = raw(SYS_newfstatat, fd, (long)name, (long)&is, AT_SYMLINK_NOFOLLOW);

	if (ret || real)
		return (ret ? -err : 0) == real;
	return !memcmp(&said, &is, sizeof(is));
}

static void before_dup2(void) { lock_fd = open("e", O_RDONLY); }
static void do_dup2(void) { dup2(lock_fd, dir_fd); }
static void do_reopen(void) { close(dir_fd); dir_fd = open("e", O_RDONLY); }
static void do_close_range(void)
{
	close_range(dir_fd, dir_fd, 0);
	dir_fd = open("e", O_RDONLY);
}

/* @before is run before attributes are fetched, @by_fd says by what. */
static const struct test {
	const char *name;
	void (*change)(void);
	void (*before)(void);
	int by_fd;
} tests[] = {
#define TEST(test, ...) { .name = #test, .change = do_##test, __VA_ARGS__ }
	TEST(nothing), TEST(nothing_at, .by_fd = 1), TEST(chmod), TEST(chown), TEST(truncate),
	TEST(fchmodat, .by_fd = 1), TEST(unlink), TEST(unlinkat, .by_fd = 1), TEST(rename),
	TEST(rename_away), TEST(rename_dir), TEST(link), TEST(utimens), TEST(setxattr),
	TEST(creat), TEST(write, before_write), TEST(pwritev, before_write),
	TEST(ftruncate, before_write), TEST(stdio, before_stdio), TEST(map, before_map),
	{ "map_closed", do_map, before_map_closed, 0 }, { "copy", do_write, before_copy, 0 },
	{ "late_write", do_write, before_late_write, 0 },
	TEST(append), TEST(read), TEST(chdir), TEST(symlink), TEST(system), TEST(thread),
	TEST(wait, before_wait), TEST(pipe, before_pipe), TEST(socket, before_socket),
	TEST(poll, before_pipe), TEST(stream, before_stream), TEST(getc, before_stream),
	TEST(signal, before_signal), TEST(lock, before_lock), TEST(sleep), TEST(late),
	TEST(thrice), TEST(again), TEST(sign_stat), TEST(sign_gone), TEST(sign_access), TEST(sign_open),
	TEST(sign_read, before_lock), TEST(sign_readdir), TEST(dup2, before_dup2, .by_fd = 1),
	TEST(reopen, .by_fd = 1), TEST(close_range, .by_fd = 1),
	/* Not seen: if these are right, nothing was fetched. */
	TEST(unseen), TEST(unseen_at, .by_fd = 1),
};

/* By a child, so that this process has written none of them. */
static void prepare(void)
{
	pid_t pid = fork();

	if (!pid) {
		make_files();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int run_test(const struct test *test)
{
	prepare();
	if (test->before)
		test->before();
	fetch(test->by_fd);
	test->change();
	if (test->by_fd)
		return !(is_right_at(dir_fd, "f05") && is_right_at(dir_fd, "f08"));
	return !(is_right(TARGET) && is_right("d/f07"));
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (argc < 2)
			puts(tests[i].name);
		else if (!strcmp(argv[1], tests[i].name))
			return run_test(&tests[i]);
	}
	return argc < 2 ? 0 : 2;
}
