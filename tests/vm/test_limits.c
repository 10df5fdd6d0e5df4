// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Death at a limit, the paper's kill, a user's share, the off switch, and module removal. Parts
 * that need root are skipped for other users.
 */
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "abi.h"

#define MS		1000000ULL
#define HOUR		(3600000 * MS)
#define STRANGER	54321	/* a user without scripts */
#define ABI_GROW	"function run() local t = {} " \
			"while true do t[#t + 1] = #t .. 'grow' end end"

static void check_dead(int fd, int err, const char *word)
{
	struct pollfd p = { .fd = fd };
	struct syscript_info info;
	char text[512];

	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(abi_call(fd, 0, 0, NULL), err);
	CHECK_EQ(abi_call(fd, 0, 0, NULL), -ENOTRECOVERABLE);
	CHECK(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)) > 0);
	CHECK(strstr(text, word));
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(p.revents, POLLERR | POLLHUP);
	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_DEAD);
	CHECK_EQ(info.memory, 0);
	CHECK_EQ(info.counters[1].value, 0);	/* mcode */
	CHECK_EQ(info.kills, 1);
	CHECK_EQ(info.calls, 1);
	CHECK_EQ(close(fd), 0);
}

static void test_death(void)
{
	double start = abi_seconds();

	check_dead(abi_register_limits(ABI_LOOP, 0, 0, 200 * MS), -ETIME, "time");
	check_dead(abi_register_limits(ABI_LOOP, SYSCRIPT_NOJIT, 0, 200 * MS),
		   -ETIME, "time");
	/* On a loaded, emulated machine: far less than 100 s. */
	CHECK(abi_seconds() - start < 60);
	check_dead(abi_register_limits(ABI_GROW, 0, 0, ABI_PATIENCE), -ENOBUFS,
		   "memory");
	CHECK_EQ(abi_register_limits("while true do end", 0, 0, 200 * MS), -ETIME);
}

/* Output printed before the script's death can be read. */
static void test_last_words(void)
{
	int fd = abi_register_limits("function run() print(\"to the caller\") "
				     "while true do end end", 0, 0, 200 * MS);
	char text[64];

	CHECK_EQ(abi_call(fd, 0, 0, NULL), -ETIME);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, 4), 14);
	CHECK_EQ(strcmp(text, "to "), 0);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, sizeof(text)), 11);
	CHECK_EQ(strcmp(text, "the caller\n"), 0);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, sizeof(text)), 0);
	close(fd);
}

/* Runs @part in a child process; returns its wait status. */
static int in_child(void (*part)(void))
{
	pid_t pid;
	int status = -1;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		abi_failures = 0;
		part();
		exit(!!abi_failures);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void exceed_time(void)
{
	abi_call(abi_register_limits(ABI_LOOP, SYSCRIPT_KILL, 0, 200 * MS), 0, 0,
		 NULL);
}

static void exceed_memory(void)
{
	abi_call(abi_register_limits(ABI_GROW, SYSCRIPT_KILL, 0, ABI_PATIENCE), 0,
		 0, NULL);
}

static void exceed_in_register(void)
{
	abi_register_limits("while true do end", SYSCRIPT_KILL, 0, 200 * MS);
}

static void exceed_nothing(void)
{
	CHECK_EQ(abi_call(abi_register_limits(ABI_ADD, SYSCRIPT_KILL, 0,
					      ABI_PATIENCE), 1, 2, NULL), 0);
}

static void test_kill(void)
{
	CHECK_EQ(in_child(exceed_time), SIGKILL);
	CHECK_EQ(in_child(exceed_memory), SIGKILL);
	CHECK_EQ(in_child(exceed_in_register), SIGKILL);
	CHECK_EQ(in_child(exceed_nothing), 0);
}

/* SIGKILL ends a run that would take seconds. */
static void test_fatal_signal(void)
{
	double start;
	pid_t pid;
	int fds[2], status;
	char c;

	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		int fd = abi_register_limits(ABI_LOOP, 0, 0, ABI_PATIENCE);

		if (write(fds[1], "", 1) == 1)
			abi_call(fd, 0, 0, NULL);
		exit(1);
	}
	CHECK_EQ(read(fds[0], &c, 1), 1);
	abi_sleep(0.2);
	CHECK_EQ(abi_count(pid), 1);
	start = abi_seconds();
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, SIGKILL);
	/* Its time limit was ten seconds. */
	CHECK(abi_seconds() - start < 8);
	CHECK_EQ(abi_count(pid), 0);
	close(fds[0]);
	close(fds[1]);
}

static void become_stranger(void)
{
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(setresgid(STRANGER, STRANGER, STRANGER), 0);
	CHECK_EQ(setresuid(STRANGER, STRANGER, STRANGER), 0);
}

static void use_up_scripts(void)
{
	long long i, max = abi_parameter("max_scripts");
	int fd = -1;

	become_stranger();
	for (i = 0; i < max; i++) {
		fd = abi_register_limits(ABI_ADD, 0, 128 << 10, ABI_PATIENCE);
		CHECK(fd >= 0);
	}
	CHECK_EQ(abi_register_limits(ABI_ADD, 0, 128 << 10, ABI_PATIENCE), -EDQUOT);
	CHECK_EQ(abi_register_limits(ABI_ADD, SYSCRIPT_CHECK, 128 << 10, ABI_PATIENCE),
		 -EDQUOT);
	close(fd);
	CHECK(abi_register_limits(ABI_ADD, 0, 128 << 10, ABI_PATIENCE) >= 0);
}

static void use_up_memory(void)
{
	struct syscript_register reg = abi_source(ABI_ADD);
	long long max = abi_parameter("max_memory");
	char text[512] = "";
	int big, dead;

	become_stranger();
	/* Failed registrations hold nothing. */
	CHECK_EQ(abi_register_limits("syntax error (", 0, max, ABI_PATIENCE), -ENOEXEC);
	big = abi_register_limits(ABI_ADD, 0, max - (1 << 20), ABI_PATIENCE);
	CHECK(big >= 0);
	dead = abi_register_limits(ABI_LOOP, 0, 1 << 20, 200 * MS);
	CHECK(dead >= 0);
	reg.error = (uintptr_t)text;
	reg.error_len = sizeof(text);
	CHECK_EQ(abi_register_struct(&reg), -EDQUOT);
	CHECK(strstr(text, "max_memory"));
	/* A script's death frees its memory, but not its fd. */
	CHECK_EQ(abi_call(dead, 0, 0, NULL), -ETIME);
	CHECK(abi_register_struct(&reg) >= 0);
	CHECK_EQ(abi_register_struct(&reg), -EDQUOT);
	close(dead);
	CHECK_EQ(abi_register_struct(&reg), -EDQUOT);
	close(big);
	CHECK(abi_register_struct(&reg) >= 0);
}

/*
 * In a user namespace of their own a user has many IDs, but one share. The parent, as root, maps
 * the IDs, as newuidmap(1) does for any user.
 */
#define SUBORDINATE	100000

static int asks[2], tells[2];

static void many_ids(void)
{
	int status = -1;
	char c = 0;

	become_stranger();
	CHECK(abi_register_limits(ABI_ADD, 0, 1 << 20, ABI_PATIENCE) >= 0);
	CHECK_EQ(unshare(CLONE_NEWUSER), 0);
	CHECK_EQ(write(asks[1], &c, 1), 1);
	CHECK_EQ(read(tells[0], &c, 1), 1);
	for (uid_t uid = 0; uid < 8; uid++) {
		pid_t pid = fork();

		if (!pid) {
			abi_failures = 0;
			CHECK_EQ(setresuid(uid, uid, uid), 0);
			CHECK_EQ(abi_register_limits(ABI_ADD, 0, abi_parameter("max_memory"),
						     ABI_PATIENCE), -EDQUOT);
			CHECK(abi_register_limits(ABI_ADD, 0, 1 << 20, ABI_PATIENCE) >= 0);
			_exit(!!abi_failures);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
}

static void test_many_ids(void)
{
	char map[64];
	int fd, n, status = -1;
	pid_t pid;
	char c;

	CHECK(!pipe(asks) && !pipe(tells));
	pid = fork();
	if (!pid) {
		abi_failures = 0;
		many_ids();
		_exit(!!abi_failures);
	}
	CHECK_EQ(read(asks[0], &c, 1), 1);
	snprintf(map, sizeof(map), "/proc/%d/uid_map", pid);
	fd = open(map, O_WRONLY);
	n = snprintf(map, sizeof(map), "0 %d 100", SUBORDINATE);
	CHECK_EQ(write(fd, map, n), n);
	CHECK_EQ(write(tells[1], &c, 1), 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* Users see their own scripts and not root's; root sees both. */
static void see_own(void)
{
	struct syscript_info info;
	int fd;

	become_stranger();
	CHECK_EQ(abi_next(0, &info), -ENOENT);
	fd = abi_must_register(ABI_ADD);
	CHECK_EQ(abi_next(0, &info), 0);
	CHECK_EQ(info.pid, getpid());
	CHECK_EQ(info.uid, STRANGER);
	CHECK_EQ(abi_next(info.id, &info), -ENOENT);
	close(fd);
}

static void test_shares(void)
{
	int fd = abi_must_register(ABI_ADD);

	CHECK_EQ(in_child(use_up_scripts), 0);
	/* Their exit released all of it. */
	CHECK_EQ(in_child(use_up_scripts), 0);
	CHECK_EQ(in_child(see_own), 0);
	close(fd);
}

static void test_share_of_memory(void)
{
	int fd = abi_must_register(ABI_ADD);

	CHECK_EQ(in_child(use_up_memory), 0);
	CHECK_EQ(in_child(use_up_memory), 0);
	close(fd);
}

static void test_parameters(void)
{
	struct syscript_info info;
	int fd;

	CHECK_EQ(abi_set_parameter("max_time_limit", "0"), -ERANGE);
	CHECK_EQ(abi_set_parameter("max_scripts", "-1"), -EINVAL);
	CHECK_EQ(abi_set_parameter("max_memory", "many"), -EINVAL);
	CHECK_EQ(abi_parameter("max_scripts"), 256);

	CHECK_EQ(abi_set_parameter("max_time_limit", "50000000"), 0);
	CHECK_EQ(abi_register_limits(ABI_ADD, 0, 0, 51 * MS), -EINVAL);
	/* The default follows the maximum. */
	fd = abi_register_limits(ABI_ADD, 0, 0, 0);
	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(info.time_limit, 50 * MS);
	close(fd);
	CHECK_EQ(abi_set_parameter("max_time_limit", "10000000000"), 0);
}

static int register_wall(uint64_t wall)
{
	struct syscript_register reg = abi_source(ABI_ADD);

	reg.wall_limit = wall;
	return abi_register_struct(&reg);
}

static void check_wall(uint64_t wall, uint64_t resolved)
{
	struct syscript_info info;
	int fd = register_wall(wall);

	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(info.wall_limit, resolved);
	close(fd);
}

/* No wall-clock limit is possible only if the administrator allows it. */
static void test_wall_clock(void)
{
	CHECK_EQ(abi_parameter("max_wall_limit"), HOUR);
	check_wall(0, SYSCRIPT_WALL_DEFAULT);
	check_wall(SYSCRIPT_NO_LIMIT, HOUR);
	check_wall(HOUR, HOUR);
	CHECK_EQ(register_wall(HOUR + 1), -EINVAL);

	CHECK_EQ(abi_set_parameter("max_wall_limit", "50000000"), 0);
	check_wall(0, 50 * MS);
	check_wall(SYSCRIPT_NO_LIMIT, 50 * MS);
	CHECK_EQ(register_wall(51 * MS), -EINVAL);

	CHECK_EQ(abi_set_parameter("max_wall_limit", "0"), 0);
	check_wall(SYSCRIPT_NO_LIMIT, SYSCRIPT_NO_LIMIT);
	CHECK_EQ(abi_set_parameter("max_wall_limit", "3600000000000"), 0);
}

static void test_switch(void)
{
	int fd = abi_must_register(ABI_ADD);
	struct syscript_info info;

	CHECK_EQ(abi_set_parameter("enabled", "0"), 0);
	CHECK_EQ(abi_register(ABI_ADD), -ESHUTDOWN);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), -ESHUTDOWN);
	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(abi_set_parameter("enabled", "1"), 0);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	close(fd);
}

static void test_removal(void)
{
	int fd = abi_must_register(ABI_ADD);

	/* The module stays while there is a script, even if no process has the device open. */
	close(abi_device);
	CHECK_EQ(syscall(SYS_delete_module, "syscript", O_NONBLOCK), -1);
	CHECK(errno == EAGAIN || errno == EBUSY);
	abi_open();
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	close(fd);
}

int main(void)
{
	abi_open();
	test_death();
	test_last_words();
	test_kill();
	test_fatal_signal();
	if (!geteuid()) {
		test_shares();
		/* The memory that one script may have. */
		CHECK_EQ(abi_set_parameter("max_memory", "16777216"), 0);
		test_share_of_memory();
		test_many_ids();
		CHECK_EQ(abi_set_parameter("max_memory", "100663296"), 0);
		test_parameters();
		test_wall_clock();
		test_switch();
		test_removal();
	}
	return abi_verdict();
}
