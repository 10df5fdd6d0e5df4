// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A program started with descriptors 0, 1 and 2 closed: the library leaves them closed, whatever it
 * opens, so the program's reads and writes fail as they would without it.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <syscript_files.h>
#include <syscript_sockets.h>

#include "lib_test.h"

/* For the test's errors: standard error is closed. */
static FILE *report;

static void expect(bool ok, const char *what, ...)
{
	va_list args;

	if (ok)
		return;
	va_start(args, what);
	vfprintf(report, what, args);
	va_end(args);
	fputc('\n', report);
	_exit(1);
}

/* Checks that none of the three is open after @what. */
static void expect_closed(const char *what)
{
	for (int fd = 0; fd < 3; fd++)
		expect(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "%d is open after %s", fd, what);
}

static int open_script(unsigned int engine)
{
	static const char source[] = "function run(n) return n + 1 end";
	struct syscript_options options = {
		.size = sizeof(options), .engine = engine, .time_limit_ns = 10000000000,
	};
	char error[512];
	int fd = syscript_register(source, sizeof(source) - 1, &options, error, sizeof(error));

	expect(fd > 2, "engine %#x: descriptor %d, %s", engine, fd, error);
	expect(fcntl(fd, F_GETFD) == FD_CLOEXEC, "engine %#x: it outlives execve()", engine);
	expect(lua_syscall(fd, 1, 41L) == 42, "engine %#x: no result", engine);
	return fd;
}

static void try_engine(unsigned int engine)
{
	int fd = open_script(engine), other = open_script(engine);

	expect_closed("two registrations");
	/* Everything that belongs to a script disappears with it. */
	expect(!syscript_close(fd) && !syscript_close(other), "close");
	expect_closed("closing");
	fd = open_script(engine);
	expect_closed("another one");
	syscript_close(fd);
}

/* Each script of the library, and directories that it keeps open between calls. */
static void try_batches(int dir)
{
	struct syscript_file file = { .path = (uintptr_t)"." };
	struct syscript_walk *walk;
	struct syscript_stat stat;
	char room[8192], error[256];
	int fds[2];
	ssize_t n;

	expect(syscript_readdirplus(dir, room, sizeof(room), 0, 0, NULL) > 0, "readdirplus");
	file.data = (uintptr_t)&stat;
	expect(!syscript_stat_many(dir, &file, 1, 0x7ff, 0), "stat_many");
	expect(syscript_open_read_close(dir, "comm", room, sizeof(room), NULL) > 0, "read");
	expect(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "a pair");
	/* These are the program's, and get the lowest numbers. */
	expect(fds[0] == 0 && fds[1] == 1, "numbers of %d, %d", fds[0], fds[1]);
	close(0);
	close(1);
	expect_closed("batches");
	expect(!syscript_walk_open(&walk, dir, NULL, 0, error, sizeof(error)), "%s", error);
	expect_closed("opening a walk");
	do {
		/* Room for one or two paths, so that it stops in the middle. */
		n = syscript_walk_next(walk, room, 64, NULL);
		expect_closed("a step of a walk");
	} while (n > 0);
	expect(!n, "walk: %zd", n);
	syscript_walk_close(walk);
	expect_closed("a walk");
}

static int child(int dir)
{
	static const char bad[] = "function run(";
	char error[256];

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	try_engine(0);
	try_engine(SYSCRIPT_LUA_ON_LUAJIT);
	try_engine(SYSCRIPT_LUA_ON_CONFINED);
	expect(syscript_register(bad, sizeof(bad) - 1, NULL, error, sizeof(error)) == -ENOEXEC,
	       "%s", error);
	syscript_lint(bad, sizeof(bad) - 1, NULL, error, sizeof(error));
	syscript_probe(SYSCRIPT_BACKEND_AUTO);
	expect_closed("failures");
	try_batches(dir);
	return 0;
}

int main(void)
{
	FILE *file = tmpfile();
	char text[256] = "";
	int dir, status;
	pid_t pid;

	dir = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(file && dir >= 0);
	report = fdopen(fcntl(fileno(file), F_DUPFD_CLOEXEC, 100), "w");
	CHECK(report);
	setlinebuf(report);
	pid = fork();
	if (!pid)
		_exit(child(dir));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	rewind(file);
	if (fread(text, 1, sizeof(text) - 1, file))
		fputs(text, stderr);
	CHECK_EQ(status, 0);
	return 0;
}
