// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * However a run ends, the next one is independent of it: it completes its work, once; or the script
 * is dead, and does nothing.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "lib_test.h"

#define MS	1000000ULL

/* run(what, fd): the first three loop for ever; 0 writes three bytes. */
static const char source[] =
	"local buf = util.buffer(16)\n"
	"util.poke(buf, 'u1', 97) util.poke(buf + 1, 'u1', 98) util.poke(buf + 2, 'u1', 99)\n"
	"function run(what, fd)\n"
	"  if what == 1 then while true do end end\n"
	"  if what == 2 then while true do syscall.getppid() end end\n"
	"  if what == 3 then error('its own') end\n"
	"  if what == 4 then return 1.5 end\n"
	"  if what == 6 then syscall.getppid() end\n"
	"  if what == 5 then return pcall(function() while true do end end) end\n"
	"  for i = 0, 2 do\n"
	"    if syscall.write(fd, buf + i, 1) ~= 1 then error('not written') end\n"
	"  end\n"
	"  return 3\n"
	"end";

static int pipes[2];

static void writes_once(int fd)
{
	char text[8], error[200] = "x";

	CHECK_EQ(lua_syscall(fd, 2, 0, pipes[1]), 3);
	CHECK_EQ(read(pipes[0], text, sizeof(text)), 3);
	CHECK(!memcmp(text, "abc", 3));
	CHECK_EQ(syscript_error(fd, error, sizeof(error)), 0);
	CHECK_EQ(error[0], '\0');
}

static void writes_nothing(int fd)
{
	char text[8];

	CHECK_EQ(lua_syscall(fd, 2, 0, pipes[1]), -ENOTRECOVERABLE);
	CHECK_EQ(or_error(read(pipes[0], text, sizeof(text))), -EAGAIN);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Twice: state left by the first run must not affect the second, either. */
static void ends_with(struct syscript_options *options, int what, int err, bool dead)
{
	char error[200];
	int fd = load_with(source, options);

	writes_once(fd);
	for (int i = 0; i < (dead ? 1 : 2); i++) {
		CHECK_EQ(lua_syscall(fd, 2, what, pipes[1]), err);
		CHECK(syscript_error(fd, error, sizeof(error)) > 0);
		if (!dead)
			writes_once(fd);
	}
	if (dead)
		writes_nothing(fd);
	syscript_close(fd);
}

static void passing(void)
{
	/* Enough to register, and to write, on a busy machine. */
	struct syscript_options wall = { .wall_limit_ns = 500 * MS, .time_limit_ns = 10000 * MS };
	struct syscript_options long_one = { .time_limit_ns = 10000 * MS };

	ends_with(&wall, 1, -ETIMEDOUT, false);
	ends_with(&wall, 2, -ETIMEDOUT, false);
	ends_with(&wall, 5, -ETIMEDOUT, false);
	ends_with(&long_one, 3, -EPROTO, false);
	ends_with(&long_one, 4, -ERANGE, false);
}

/* Installs a filter that sends SIGSYS for getppid(2), and a handler. */
static void watched(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	const struct sigaction action = { .sa_handler = on_signal };
	int fd = load(source);

	sigaction(SIGSYS, &action, NULL);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(lua_syscall(fd, 2, 6, pipes[1]), -EOPNOTSUPP);
		writes_once(fd);
	}
	syscript_close(fd);
}

/* In a process, signals are handled in the middle of the run. */
static void signalled(void)
{
	struct syscript_options options = { .time_limit_ns = 10000 * MS, .grace_ns = MS };
	const struct itimerval often = { { 0, 100000 }, { 0, 100000 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &action, NULL);
	for (int what = 1; what <= 2; what++) {
		int fd = load_with(source, &options);

		for (int i = 0; i < 2; i++) {
			setitimer(ITIMER_REAL, &often, NULL);
			CHECK_EQ(lua_syscall(fd, 2, what, pipes[1]), -EINTR);
			setitimer(ITIMER_REAL, &never, NULL);
			writes_once(fd);
		}
		syscript_close(fd);
	}
}

/*
 * run(1) grows a table until it is ended, continuing where the last one was ended; run(0) returns
 * how many other entries are missing.
 */
static const char grows[] =
	"local t, n = {}, 0\n"
	"function run(on)\n"
	"  if on == 1 and n > 0 then t[n * 3 + 0.5] = n end\n"
	"  while on == 1 do\n"
	"    if n == 24000 then t, n = {}, 0 collectgarbage() end\n"
	"    n = n + 1\n"
	"    t[n * 3 + 0.5] = n\n"
	"  end\n"
	"  local missing = 0\n"
	"  for i = 1, n - 1 do if t[i * 3 + 0.5] ~= i then missing = missing + 1 end end\n"
	"  for k, v in pairs(t) do if k ~= v * 3 + 0.5 then missing = missing + 1 end end\n"
	"  return missing\n"
	"end";

/* Ended in the middle of a rehash, no entry is lost. */
static void in_a_rehash(void)
{
	struct syscript_options options = {
		.wall_limit_ns = 30 * MS, .time_limit_ns = 10000 * MS, .memory_limit = 16 << 20,
	};
	int fd = -ETIMEDOUT;
	long ret;

	/* On a busy machine registering may exceed the limit. */
	options.size = sizeof(options);
	for (int i = 0; i < 100 && fd == -ETIMEDOUT; i++)
		fd = syscript_register(grows, strlen(grows), &options, NULL, 0);
	CHECK(fd >= 0);

	for (int i = 0; i < 30; i++) {
		CHECK_EQ(lua_syscall(fd, 1, 1), -ETIMEDOUT);
		/* This call itself may exceed the limit. */
		ret = lua_syscall(fd, 1, 0);
		CHECK(!ret || ret == -ETIMEDOUT);
	}
	syscript_close(fd);
}

static void for_good(void)
{
	struct syscript_options time = { .time_limit_ns = 50 * MS };

	ends_with(&time, 1, -ETIME, true);
	ends_with(&time, 5, -ETIME, true);
}

int main(void)
{
	const char *backend = getenv("SYSCRIPT_BACKEND");

	CHECK_EQ(pipe2(pipes, O_NONBLOCK), 0);
	passing();
	in_a_rehash();
	for_good();
	if (backend && !strcmp(backend, "kernel")) {
		signalled();
		watched();
	}
	return 0;
}
