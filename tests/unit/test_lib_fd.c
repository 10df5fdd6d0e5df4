// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A script is an fd: close, dup, reuse of its number, fork, the quota. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib_test.h"

#define PROCESS_MAX	1024	/* USER_SCRIPTS_MAX */

static const char counter[] = "local n = 0; function run() n = n + 1; return n end";

static void plain_close(void)
{
	/* Far more than the quota and ulimit -n allow at once. */
	for (int i = 0; i < 2000; i++) {
		int fd = load(counter);

		CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		CHECK_EQ(lua_syscall(fd, 0), 1);
		CHECK_EQ(close(fd), 0);
		CHECK_EQ(lua_syscall(fd, 0), -EBADF);
	}
}

static void duplicates(void)
{
	int fd = load(counter), copy = dup(fd);

	CHECK_EQ(lua_syscall(fd, 0), 1);
	CHECK_EQ(lua_syscall(copy, 0), 2);
	close(fd);
	/* Registering cleans up closed scripts: this one is open. */
	syscript_close(load(counter));
	CHECK_EQ(lua_syscall(copy, 0), 3);
	close(copy);
}

/* A call of one script by a number that was another's leaves the other's error text. */
static void number_of_another(unsigned int engine)
{
	static const char negative[] =
		"function run(n) if n < 0 then error('negative') end return n end";
	struct syscript_options options = { .time_limit_ns = 10000000000, .engine = engine };
	int failing = load_with(negative, &options), fd = load_with(counter, &options);
	int number = dup(failing);
	char text[100];

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(dup2(failing, number), number);
		CHECK_EQ(lua_syscall(number, 1, 1), 1);
		CHECK_EQ(lua_syscall(failing, 1, -1), -EPROTO);
		CHECK_EQ(dup2(fd, number), number);
		CHECK_EQ(lua_syscall(number, 0), i + 1);
		CHECK(syscript_error(failing, text, sizeof(text)) > 0);
		CHECK(strstr(text, "negative"));
	}
	CHECK_EQ(lua_syscall(failing, 1, 2), 2);
	CHECK_EQ(syscript_error(failing, text, sizeof(text)), 0);
	close(number);
	close(failing);
	close(fd);
}

static void number_reused(void)
{
	int fd = load(counter), pipes[2], other;

	CHECK(!pipe(pipes));
	CHECK_EQ(lua_syscall(fd, 0), 1);
	CHECK_EQ(dup2(pipes[1], fd), fd);
	CHECK_EQ(lua_syscall(fd, 0), -ENOTTY);
	close(fd);
	other = load(counter);
	CHECK_EQ(lua_syscall(other, 0), 1);
	close(other);
	close(pipes[0]);
	close(pipes[1]);
}

/* As daemons do: closes all descriptors that the program did not open. */
static void close_unknown(void)
{
	int fd = load(counter), other, last = fd + 20;

	for (int i = 3; i < last; i++) {
		if (i != fd)
			close(i);
	}
	/* Files that reuse the library's descriptor numbers stay untouched. */
	for (int i = 3; i < last; i++)
		open("/dev/null", O_RDWR);
	CHECK_EQ(lua_syscall(fd, 0), 1);
	close(fd);
	other = load(counter);
	CHECK_EQ(lua_syscall(other, 0), 1);
	for (int i = 3; i < last; i++) {
		if (i != other && i != fd)
			CHECK(fcntl(i, F_GETFD) >= 0 || i < fd);
	}
	syscript_close(other);
	for (int i = 3; i < last + 20; i++)
		close(i);
}

static void in_child(int fd)
{
	struct syscript_info info;
	int own;

	CHECK_EQ(lua_syscall(fd, 0), -EXDEV);
	CHECK_EQ(syscript_info(fd, &info), -EXDEV);
	own = load(counter);
	CHECK_EQ(lua_syscall(own, 0), 1);
	CHECK_EQ(lua_syscall(fd, 0), -EXDEV);
	CHECK_EQ(syscript_close(own), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(syscript_close(load(counter)), 0);
	CHECK_EQ(syscript_close(fd), 0);
	CHECK_EQ(lua_syscall(fd, 0), -EBADF);
	exit(0);
}

static void forked(void)
{
	int fd = load(counter), status;
	pid_t child;

	CHECK_EQ(lua_syscall(fd, 0), 1);
	child = fork();
	if (!child)
		in_child(fd);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(lua_syscall(fd, 0), 2);
	close(fd);
}

/* A child of vfork() shares its parent's memory. */
static void vforked(void)
{
	int fd = load(counter), status;
	pid_t child = vfork();

	if (!child)
		_exit(lua_syscall(fd, 0) == 1 ? 0 : 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(lua_syscall(fd, 0), 2);
	close(fd);
}

static int load_small(void)
{
	struct syscript_options options = { .memory_limit = SYSCRIPT_MEMORY_MIN };

	return load_with(counter, &options);
}

/* The most scripts that may be alive: in the kernel the administrator's limit per user. */
static int most_scripts(int fd)
{
	int n = PROCESS_MAX;
	FILE *file;

	if (syscript_backend(fd) == SYSCRIPT_BACKEND_KERNEL) {
		file = fopen("/sys/module/syscript/parameters/max_scripts", "r");
		CHECK(file && fscanf(file, "%d", &n) == 1 && n <= PROCESS_MAX);
		fclose(file);
	}
	return n;
}

static void quota(void)
{
	static int fds[PROCESS_MAX];
	struct rlimit files;
	int most, other;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	fds[0] = load_small();
	most = most_scripts(fds[0]);
	for (int i = 1; i < most; i++)
		fds[i] = load_small();
	CHECK_EQ(try_load(counter), -EDQUOT);
	close(fds[0]);
	other = load_small();
	for (int i = 1; i < most; i++)
		CHECK_EQ(syscript_close(fds[i]), 0);
	CHECK_EQ(syscript_close(other), 0);
}

static void memory_quota(void)
{
	struct syscript_options options = { .size = sizeof(options), .memory_limit = 10 << 20 };
	int fds[256 / 10 + 1], n = 0;
	char error[200];

	do {
		CHECK(n < (int)(sizeof(fds) / sizeof(*fds)));
		fds[n] = syscript_register(counter, strlen(counter), &options, error,
					   sizeof(error));
	} while (fds[n++] >= 0);
	CHECK_EQ(fds[--n], -EDQUOT);
	CHECK(n && strstr(error, "close some"));
	while (n--)
		close(fds[n]);
	close(load_with(counter, &options));
}

/* With standard input closed, 0 is an ordinary descriptor. */
static void number_zero(void)
{
	int keep = dup(0), fd;

	close(0);
	fd = load(counter);
	CHECK_EQ(lua_syscall(fd, 0), 1);
	close(fd);
	dup2(keep, 0);
	close(keep);
}

int main(void)
{
	plain_close();
	duplicates();
	number_reused();
	forked();
	vforked();
	quota();
	memory_quota();
	number_zero();
	/* After the quotas, because the library keeps scripts that it has compiled. */
	number_of_another(SYSCRIPT_LUA_ON_LUAJIT);
	number_of_another(SYSCRIPT_LUA_ON_CONFINED);
	close_unknown();
	return 0;
}
