// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Registration and calls: arguments, results, messages, counters. */
#include <fcntl.h>

#include "lib_test.h"

/* Registers, and stores the message in @error. */
static int try_with(const char *source, const struct syscript_options *options, char error[200])
{
	return syscript_register(source, strlen(source), options, error, 200);
}

static void arguments(void)
{
	static char buffer[4] = { 1, 2, 3, 4 };
	int fd = load("function run(a, b, c, d, e, f, g, h)\n"
		      "  return (a or 0) + (b or 0) + (c or 0) + (d or 0) +\n"
		      "    (e or 0) + (f or 0) + (g or 0) + (h or 0) end");
	int address = load("function run(a, i) return util.peek(a + i, 'u1') end");
	short small = -7;

	CHECK_EQ(lua_syscall(fd, 0), 0);
	CHECK_EQ(lua_syscall(fd, 1, -5), -5);
	CHECK_EQ(lua_syscall(fd, 2, small, 3U), -4);
	CHECK_EQ(lua_syscall(fd, 8, 1, 2, 3, 4, 5, 6, 7, 8), 36);
	CHECK_EQ(lua_syscall(fd, 2, 1L << 40, -1), (1L << 40) - 1);
	CHECK_EQ(lua_syscall(address, 2, buffer, 2), 3);
	/* The function itself, for languages without macros. */
	CHECK_EQ((lua_syscall)(fd, 2, 20L, 22L), 42);
	CHECK_EQ(lua_syscall(fd, 9, 1), -EINVAL);
	CHECK_EQ(syscript_call(fd, 9, NULL, 0, NULL), -EINVAL);
	CHECK_EQ(syscript_close(fd), 0);
	CHECK_EQ(syscript_close(address), 0);
}

static void results(void)
{
	int fd = load("function run() return 1, -2, nil, true, false, 6, 7, 8, 9 end");
	int none = load("function run() end");
	int64_t r[SYSCRIPT_RESULTS_MAX + 1];

	memset(r, 0x55, sizeof(r));
	CHECK_EQ(syscript_call(fd, 0, NULL, SYSCRIPT_RESULTS_MAX, r), SYSCRIPT_RESULTS_MAX);
	CHECK_EQ(r[0], 1);
	CHECK_EQ(r[1], -2);
	CHECK_EQ(r[2], 0);
	CHECK_EQ(r[3], 1);
	CHECK_EQ(r[4], 0);
	CHECK_EQ(r[7], 8);
	CHECK_EQ(r[8], 0x5555555555555555);

	memset(r, 0x55, sizeof(r));
	CHECK_EQ(syscript_call(fd, 0, NULL, 1, r), SYSCRIPT_RESULTS_MAX);
	CHECK_EQ(r[1], 0x5555555555555555);
	CHECK_EQ(syscript_call(none, 0, NULL, 0, NULL), 0);
	CHECK_EQ(lua_syscall(none, 0), 0);
	syscript_close(fd);
	syscript_close(none);
}

static void range(void)
{
	int fd = load("function run(a) return a end");
	int half = load("function run() return 0.5 end");
	int text = load("function run() return 'one' end");
	int64_t max = SYSCRIPT_LUA_INT_MAX, more = max + 1, r;
	char error[200];

	CHECK_EQ(syscript_call(fd, 1, &max, 1, &r), 1);
	CHECK_EQ(r, max);
	max = -max;
	CHECK_EQ(syscript_call(fd, 1, &max, 1, &r), 1);
	CHECK_EQ(r, max);
	CHECK_EQ(syscript_call(fd, 1, &more, 1, &r), 1);
	CHECK_EQ(r, more);
	more = INT64_MIN;
	CHECK_EQ(syscript_call(fd, 1, &more, 1, &r), 1);
	CHECK_EQ(r, more);
	CHECK_EQ(syscript_call(half, 0, NULL, 1, &r), -ERANGE);
	CHECK_EQ(syscript_call(text, 0, NULL, 1, &r), -ERANGE);
	CHECK(syscript_error(text, error, sizeof(error)) > 0);
	CHECK(strstr(error, "result 1"));
	syscript_close(fd);
	syscript_close(half);
	syscript_close(text);
}

static void state(void)
{
	int fd = load("local n = 0; function run() n = n + 1; return n end");
	int other = load("local n = 0; function run() n = n + 1; return n end");

	CHECK_EQ(lua_syscall(fd, 0), 1);
	CHECK_EQ(lua_syscall(fd, 0), 2);
	CHECK_EQ(lua_syscall(other, 0), 1);
	syscript_close(fd);
	syscript_close(other);
}

static void errors(void)
{
	struct syscript_options options = { .name = "my.lua" };
	int fd = load_with("function run(a)\n  if a == 1 then error('no luck') end\n  return a\nend",
			   &options);
	char error[200], cut[6];
	int len;

	CHECK_EQ(syscript_error(fd, error, sizeof(error)), 0);
	CHECK_EQ(lua_syscall(fd, 1, 1), -EPROTO);
	len = syscript_error(fd, error, sizeof(error));
	CHECK_EQ(len, strlen(error));
	CHECK(!strcmp(error, "my.lua:2: no luck"));
	CHECK_EQ(syscript_error(fd, cut, sizeof(cut)), len);
	CHECK(!strcmp(cut, "my.lu"));
	/* The script survives an error. */
	CHECK_EQ(lua_syscall(fd, 1, 7), 7);
	syscript_close(fd);
}

static void refused(void)
{
	struct syscript_options options = { .size = sizeof(options) };
	struct { struct syscript_options options; char more[8]; } newer = { .more = "" };
	const char *source = "function run() end";
	char error[200];

	CHECK_EQ(try_load("function run( end"), -ENOEXEC);
	CHECK_EQ(try_load("x = 1"), -ENOEXEC);
	CHECK_EQ(try_load("run = 1"), -ENOEXEC);
	CHECK_EQ(try_load("error('at once')"), -ENOEXEC);
	CHECK_EQ(try_load(""), -EINVAL);
	CHECK_EQ(try_load("\x1bLJ\x02"), -ENOEXEC);
	CHECK_EQ(syscript_register((char *)8, 100, NULL, NULL, 0), -EFAULT);
	CHECK_EQ(syscript_register(source, SYSCRIPT_IMAGE_MAX + 1, NULL, NULL, 0), -E2BIG);
	CHECK_EQ(syscript_register(source, 5, NULL, NULL, 4), -EINVAL);

	options.flags = 1 << 30;
	CHECK_EQ(try_with(source, &options, error), -EINVAL);
	CHECK(*error);
	options.flags = 0;
	options.name = "0123456789012345678901234567890X";
	CHECK_EQ(try_with(source, &options, error), -EINVAL);
	options.name = "a\nb";
	CHECK_EQ(try_with(source, &options, error), -EINVAL);
	options.name = NULL;
	options.memory_limit = SYSCRIPT_MEMORY_MIN - 1;
	CHECK_EQ(try_with(source, &options, error), -EINVAL);
	CHECK(strstr(error, "memory limit"));
	options.memory_limit = 0;
	options.time_limit_ns = 1ULL << 60;
	CHECK_EQ(try_with(source, &options, error), -EINVAL);
	CHECK(strstr(error, "time limit"));
	options.time_limit_ns = 0;
	/* The size of the first version's structure, and a smaller one. */
	options.size = offsetof(struct syscript_options, wall_limit_ns);
	CHECK_EQ(syscript_close(try_with(source, &options, error)), 0);
	options.size--;
	CHECK_EQ(try_with(source, &options, error), -EINVAL);

	newer.options.size = sizeof(newer);
	CHECK_EQ(syscript_close(load_with(source, NULL)), 0);
	newer.more[3] = 1;
	CHECK_EQ(try_with(source, &newer.options, error), -E2BIG);
	newer.more[3] = 0;
	CHECK_EQ(syscript_close(try_with(source, &newer.options, error)), 0);
}

static void check_only(void)
{
	struct syscript_options options = { .size = sizeof(options), .flags = SYSCRIPT_CHECK };
	const char *good = "error('not run')", *bad = "x = = 1";
	char error[200];

	CHECK_EQ(try_with(good, &options, error), 0);
	CHECK_EQ(try_with(bad, &options, error), -ENOEXEC);
	CHECK(strstr(error, ":1:"));
}

static void output(void)
{
	int fd = load("function run(s) print('line', s) end");
	char buf[100];

	CHECK_EQ(syscript_output(fd, buf, sizeof(buf)), 0);
	lua_syscall(fd, 1, 1);
	lua_syscall(fd, 1, 22);
	CHECK_EQ(syscript_output(fd, buf, 4), 4);
	CHECK(!memcmp(buf, "line", 4));
	CHECK_EQ(syscript_output(fd, buf, sizeof(buf)), 11);
	CHECK(!memcmp(buf, "\t1\nline\t22\n", 11));
	CHECK_EQ(syscript_output(fd, buf, sizeof(buf)), 0);
	syscript_close(fd);
}

static void counters(void)
{
	struct syscript_options options = { .name = "count", .memory_limit = 512 << 10 };
	int fd = load_with("function run(a) if a then error('x') end syscall.getpid() end",
			   &options);
	struct syscript_info info, found = { .id = 0 };
	int err;

	lua_syscall(fd, 0);
	lua_syscall(fd, 1, 1);
	lua_syscall(fd, 0);
	CHECK_EQ(syscript_info(fd, &info), 0);
	CHECK_EQ(info.calls, 3);
	CHECK_EQ(info.errors, 1);
	CHECK_EQ(info.kills, 0);
	CHECK_EQ(info.syscalls, 2);
	CHECK_EQ(info.pid, getpid());
	CHECK_EQ(info.uid, getuid());
	CHECK_EQ(info.state, SYSCRIPT_STATE_READY);
	CHECK_EQ(info.memory_limit, 512 << 10);
	CHECK_EQ(info.time_limit, SYSCRIPT_TIME_DEFAULT);
	CHECK(!strcmp(info.name, "count"));
	CHECK(info.memory > 0 && info.memory <= info.memory_peak);

	/* Ticks measure it, so short calls only show in large numbers. */
	for (int i = 0; i < 1000000 && !info.run_time; i++) {
		lua_syscall(fd, 0);
		if (i % 1000 == 0)
			syscript_info(fd, &info);
	}
	CHECK(info.run_time > 0);
	syscript_info(fd, &info);

	while (!(err = syscript_next(&found)) && found.id != info.id)
		;
	CHECK_EQ(err, 0);
	CHECK(!strcmp(found.name, "count"));
	syscript_close(fd);
	found.id = info.id - 1;
	err = syscript_next(&found);
	CHECK(err == -ENOENT || found.id > info.id);
}

static void no_script(void)
{
	struct syscript_info info;
	int null = open("/dev/null", O_RDONLY);
	int pipes[2];
	char buf[8];

	CHECK(!pipe(pipes));
	CHECK_EQ(lua_syscall(null, 0), -ENOTTY);
	CHECK_EQ(lua_syscall(pipes[1], 0), -ENOTTY);
	CHECK_EQ(lua_syscall(-1, 0), -EBADF);
	CHECK_EQ(syscript_error(null, buf, sizeof(buf)), -ENOTTY);
	CHECK_EQ(syscript_info(pipes[0], &info), -ENOTTY);
	CHECK_EQ(syscript_backend(null), -ENOTTY);
	CHECK_EQ(syscript_close(-1), -EBADF);
	close(null);
	close(pipes[0]);
	close(pipes[1]);
}

static void texts(void)
{
	CHECK(strstr(syscript_strerror(-EXDEV), "register"));
	CHECK(!strcmp(syscript_strerror(EXDEV), syscript_strerror(-EXDEV)));
	CHECK(*syscript_strerror(ECHILD));
	CHECK(*syscript_strerror(99999));
}

int main(void)
{
	errno = EUCLEAN;
	arguments();
	results();
	range();
	state();
	errors();
	refused();
	check_only();
	output();
	counters();
	texts();
	CHECK_EQ(errno, EUCLEAN);
	no_script();
	return 0;
}
