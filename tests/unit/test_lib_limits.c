// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Limits: what ends a script, what does not, and the state afterwards. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "lib_test.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void dead(int fd, const char *limit)
{
	struct pollfd poll_dead = { .fd = fd, .events = POLLIN };
	struct syscript_info info;
	char error[200];

	CHECK_EQ(lua_syscall(fd, 0), -ENOTRECOVERABLE);
	CHECK(syscript_error(fd, error, sizeof(error)) > 0);
	CHECK(strstr(error, limit));
	CHECK_EQ(syscript_info(fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_DEAD);
	CHECK_EQ(info.kills, 1);
	CHECK_EQ(info.memory, 0);
	CHECK_EQ(poll(&poll_dead, 1, 1000), 1);
	CHECK(poll_dead.revents & POLLERR);
	CHECK_EQ(syscript_close(fd), 0);
}

static void time_limit(void)
{
	struct syscript_options options = { .time_limit_ns = 20000000 };
	int fd = load_with("function run() print('before') while true do end end", &options);
	double start = seconds(), took;
	char out[8];

	CHECK_EQ(lua_syscall(fd, 0), -ETIME);
	took = seconds() - start;
	/*
	 * A tick charges a whole period, 1 ms, for the time before it, each time that others had
	 * the CPU.
	 */
	if (took < 0.01)
		printf("a limit of 20 ms lasted %.1f ms\n", took * 1000);
	CHECK(took >= 0.01);
	CHECK(took < 5);
	CHECK_EQ(syscript_output(fd, out, sizeof(out)), 7);
	dead(fd, "time limit");
}

static void time_limit_at_registration(void)
{
	struct syscript_options options = {
		.size = sizeof(options), .time_limit_ns = 20000000, .name = "loop",
	};
	const char *source = "while true do end";
	char error[200];

	CHECK_EQ(syscript_register(source, strlen(source), &options, error, sizeof(error)), -ETIME);
	CHECK(strstr(error, "time limit"));
}

/* Time blocked in a system call is not charged to the script. */
static void blocked(void)
{
	struct syscript_options options = { .time_limit_ns = 20000000 };
	int fd = load_with("function run(ms) return syscall.poll(0, 0, ms) end", &options);

	CHECK_EQ(lua_syscall(fd, 1, 100), 0);
	CHECK_EQ(lua_syscall(fd, 1, 100), 0);
	syscript_close(fd);
}

/* The limit applies to each call, not to the script's lifetime. */
static void many_short_calls(void)
{
	struct syscript_options options = { .time_limit_ns = 20000000 };
	int fd = load_with("function run(n) for i = 1, n do end end", &options);
	double start = seconds();

	while (seconds() - start < 0.1)
		CHECK_EQ(lua_syscall(fd, 1, 1000), 0);
	syscript_close(fd);
}

static void memory_limit(void)
{
	struct syscript_options options = {
		.memory_limit = 256 << 10, .time_limit_ns = 10000000000,
	};
	int fd = load_with("function run() local t = {}\n"
			   "  for i = 1, 1e9 do t[i] = { i } end end", &options);

	CHECK_EQ(lua_syscall(fd, 0), -ENOBUFS);
	dead(fd, "memory limit");
}

/* Dead scripts do not count against the memory limit. */
static void memory_is_given_back(void)
{
	struct syscript_options options = {
		.memory_limit = 8 << 20, .time_limit_ns = 10000000000,
	};
	const char *hog = "function run() local s = 'x' while true do s = s .. s end end";
	int fds[8];

	for (int i = 0; i < 8; i++) {
		fds[i] = load_with(hog, &options);
		CHECK_EQ(lua_syscall(fds[i], 0), -ENOBUFS);
	}
	for (int i = 0; i < 8; i++)
		syscript_close(fds[i]);
}

static void kill_flag(const char *source, uint64_t time_limit)
{
	struct syscript_options options = {
		.flags = SYSCRIPT_KILL, .time_limit_ns = time_limit, .memory_limit = 256 << 10,
	};
	pid_t child = fork();
	int status;

	if (!child) {
		lua_syscall(load_with(source, &options), 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGKILL);
}

int main(void)
{
	time_limit();
	time_limit_at_registration();
	blocked();
	many_short_calls();
	memory_limit();
	memory_is_given_back();
	kill_flag("function run() while true do end end", 20000000);
	kill_flag("function run() local s = 'x' while true do s = s .. s end end", 10000000000);
	return 0;
}
