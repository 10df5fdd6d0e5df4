// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Scripts' memory is charged to the cgroup of the process that runs them, in whole pages; and users
 * cannot take each other's share.
 */
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "abi.h"

#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP		CGROUPS "/memory_test"
#define STRANGERS	54400	/* the first of this test's users */
#define MIB		(1 << 20)

/* Arrays that shrink in place leave holes into which no later one fits. */
#define FRAGMENTS	"local nothing, kept = {}, {} function run(n) " \
			"for size = 4000, 4000 + 10 * n, 10 do local t = {} " \
			"for i = 1, 4 do t[i] = { i, unpack(nothing, 1, size) } end " \
			"for i = 1, 4 do t[i].x = i kept[#kept + 1] = t[i] end end end"
/* Allocates @a KiB and keeps them. */
#define GROW		"local kept = {} function run(n) for i = 1, n do " \
			"kept[i] = (\"x\"):rep(1000) .. i end return n end"

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)) {
		perror("to be another user");
		exit(1);
	}
}

/* A child that runs @part, reports success, and waits to do it again. */
struct child {
	pid_t pid;
	int said, stay;			/* our ends of two pipes */
};

static struct child begin(void (*part)(int arg), int arg, uid_t uid, const char *cgroup)
{
	int said[2], stay[2];
	char c;
	struct child child;

	CHECK(!pipe(said) && !pipe(stay));
	fflush(stdout);
	child = (struct child){ fork(), said[0], stay[1] };
	if (!child.pid) {
		close(said[0]);
		close(stay[1]);
		if (cgroup) {
			int fd = open(cgroup, O_WRONLY);

			CHECK(write(fd, "0", 1) == 1);
		}
		become(uid);
		abi_failures = 0;
		part(arg);
		c = abi_failures ? 1 : 0;
		CHECK(write(said[1], &c, 1) == 1);
		while (read(stay[0], &c, 1) == 1) {
			abi_failures = 0;
			part(arg);
			c = abi_failures ? 1 : 0;
			CHECK(write(said[1], &c, 1) == 1);
		}
		_exit(0);
	}
	close(said[1]);
	close(stay[0]);
	return child;
}

/* 0 if its part succeeded. */
static int done(const struct child *child)
{
	char failed = 1;

	return read(child->said, &failed, 1) == 1 ? failed : -1;
}

static int do_again(const struct child *child)
{
	CHECK_EQ(write(child->stay, "", 1), 1);
	return done(child);
}

static void end(const struct child *child)
{
	close(child->stay);
	waitpid(child->pid, NULL, 0);
	close(child->said);
}

/* -- Users do not take each other's share ----------------------------------- */

static void take_share(int script_mib)
{
	long long share = abi_parameter("max_memory") >> 20;

	for (long long i = 0; i < share / script_mib; i++) {
		int fd = abi_register_limits(FRAGMENTS, SYSCRIPT_NOJIT, script_mib * MIB,
					     ABI_PATIENCE);

		CHECK(fd >= 0);
		/* May fail: the script's memory limit may be too low. */
		abi_call(fd, 20 * script_mib, 0, NULL);
	}
}

/* Takes everything that the limits promise. */
static void take_promised(int scripts)
{
	for (int i = 0; i < scripts; i++) {
		int fd = abi_register_limits(GROW, SYSCRIPT_NOJIT, MIB, ABI_PATIENCE);

		CHECK(fd >= 0);
		CHECK_EQ(abi_call(fd, 800, 0, NULL), 0);
	}
}

/* Each user takes as much as they may, which must leave another user's share. */
static void test_shares(int script_mib)
{
	struct child greedy[6], modest;
	int i, n = sizeof(greedy) / sizeof(greedy[0]);

	for (i = 0; i < n; i++) {
		greedy[i] = begin(take_share, script_mib, STRANGERS + i, NULL);
		CHECK_EQ(done(&greedy[i]), 0);
	}
	modest = begin(take_promised, abi_parameter("max_memory") >> 20, STRANGERS + n, NULL);
	CHECK_EQ(done(&modest), 0);
	end(&modest);
	while (i--)
		end(&greedy[i]);
}

/* -- Memory cgroups -------------------------------------------------------- */

static long long cgroup_number(const char *name)
{
	char path[128];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), CGROUP "/%s", name);
	f = fopen(path, "r");
	if (f) {
		CHECK_EQ(fscanf(f, "%lld", &value), 1);
		fclose(f);
	}
	return value;
}

static void cgroup_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("%s: %s\n", path, strerror(errno));
	close(fd);
}

static bool cgroup_make(const char *max)
{
	cgroup_write(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0755);
	cgroup_write(CGROUP "/memory.max", max);
	return cgroup_number("memory.current") >= 0;
}

#define HOLDERS		32

/* Registers scripts once and calls them each time. */
static void call_many(int kib)
{
	static int fds[HOLDERS];

	for (int i = 0; i < HOLDERS; i++) {
		if (!fds[i])
			fds[i] = abi_register_limits(GROW, SYSCRIPT_NOJIT, 384 << 10,
						     ABI_PATIENCE);
		CHECK(fds[i] > 0);
		CHECK_EQ(abi_call(fds[i], kib, 0, NULL), 0);
	}
}

static void do_nothing(int unused)
{
	(void)unused;
}

static void check_held(long long before, long long least, long long most)
{
	long long held = (cgroup_number("memory.current") - before) >> 10;

	if (held >= least && held <= most)
		return;
	printf("%d scripts hold %lld KiB for the cgroup, not %lld to %lld\n", HOLDERS, held,
	       least, most);
	abi_failures++;
}

/*
 * All of a script's memory is charged: its heap and a stack of 256 KiB. While idle it has no stack,
 * and freed memory at the heap's end is returned.
 */
static void test_charged(void)
{
	struct child child = begin(do_nothing, 0, STRANGERS, CGROUP "/cgroup.procs");
	const char *kernel = getenv("SYSCRIPT_GUEST");
	/* KiB; with KASAN stacks are kept. */
	long long before, idle = HOLDERS * (kernel && !strcmp(kernel, "debug") ? 656 : 400);

	CHECK_EQ(done(&child), 0);
	before = cgroup_number("memory.current");
	end(&child);
	child = begin(call_many, 200, STRANGERS, CGROUP "/cgroup.procs");
	CHECK_EQ(done(&child), 0);
	check_held(before, HOLDERS * (256 + 200), HOLDERS * (256 + 600));
	for (int i = 0; i < 30 && cgroup_number("memory.current") - before > idle << 10; i++)
		abi_sleep(1);
	check_held(before, HOLDERS * 200, idle);
	CHECK_EQ(do_again(&child), 0);
	check_held(before, HOLDERS * (256 + 200), HOLDERS * (256 + 600));
	end(&child);
}

/* A script ends where its cgroup's memory ends. */
static void outgrow(int unused)
{
	int err = 0, fd = 0;

	(void)unused;
	for (int i = 0; i < 16 && fd >= 0 && !err; i++) {
		fd = abi_register_limits(GROW, SYSCRIPT_NOJIT, MIB, ABI_PATIENCE);
		err = fd < 0 ? fd : abi_call(fd, 800, 0, NULL);
	}
	CHECK_EQ(err, -ENOMEM);
	if (fd >= 0)
		CHECK_EQ(abi_call(fd, 0, 0, NULL), -ENOTRECOVERABLE);
}

static void test_limited(void)
{
	struct child child = begin(outgrow, 0, STRANGERS, CGROUP "/cgroup.procs");
	int ret = done(&child);

	/* The kernel may also have killed the process, for its cgroup. */
	CHECK(ret == 0 || ret == -1);
	end(&child);
}

int main(void)
{
	abi_open();
	if (geteuid())
		SKIP("needs root: it becomes several users");
	/* All scripts together get the memory that the guest can spare. */
	CHECK_EQ(abi_set_parameter("max_memory", "16777216"), 0);
	test_shares(1);
	test_shares(16);
	CHECK_EQ(abi_set_parameter("max_memory", "100663296"), 0);
	if (!cgroup_make("max"))
		SKIP("no memory cgroups here");
	test_charged();
	cgroup_make("8388608");
	test_limited();
	while (rmdir(CGROUP) && errno == EBUSY)
		abi_sleep(0.1);
	return abi_verdict();
}
