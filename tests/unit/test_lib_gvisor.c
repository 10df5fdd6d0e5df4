// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * In a process whose kernel refuses what gVisor's refuses: a page that fork() clears, and statx()
 * with AT_NO_AUTOMOUNT. Scripts run in the process, with the same results.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syscript_files.h>

#include "lib_test.h"

/* The call fails with EINVAL if its argument is, or has, @value. */
#define REFUSE(call, argument, how, value)						\
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),		\
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 3),				\
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[argument])),	\
	BPF_JUMP(BPF_JMP | how | BPF_K, value, 0, 1),					\
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL)

static void refuse(void)
{
	struct sock_filter code[] = {
		REFUSE(madvise, 2, BPF_JEQ, MADV_WIPEONFORK),
		REFUSE(statx, 2, BPF_JSET, AT_NO_AUTOMOUNT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
	struct statx found;
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
	CHECK_EQ(or_error(madvise(page, 4096, MADV_WIPEONFORK)), -EINVAL);
	CHECK_EQ(or_error(statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, 0, &found)), -EINVAL);
}

static const char counter[] = "local n = 0; function run() n = n + 1; return n end";

/* Only the parent's memory has the script; the child may have its own. */
static void check_fork(void)
{
	int fd = load(counter), own, status;
	pid_t child;

	CHECK_EQ(lua_syscall(fd, 0), 1);
	child = fork();
	if (!child) {
		CHECK_EQ(lua_syscall(fd, 0), -EXDEV);
		own = load(counter);
		CHECK_EQ(lua_syscall(own, 0), 1);
		CHECK_EQ(lua_syscall(fd, 0), -EXDEV);
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(lua_syscall(fd, 0), 2);
	CHECK_EQ(syscript_close(fd), 0);
}

static void check_attributes(void)
{
	struct syscript_stat stat = { 0 };
	struct syscript_file files[] = {
		{ (intptr_t)"/", (intptr_t)&stat, 0, 99 },
		{ (intptr_t)"/nowhere", (intptr_t)&stat, 0, 99 },
	};
	char room[4096];
	struct syscript_dirent *entry = (void *)room;
	int fd = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY);

	CHECK_EQ(syscript_stat_many(AT_FDCWD, files, 2, STATX_BASIC_STATS, 0), 0);
	CHECK_EQ(files[0].result, 0);
	CHECK(S_ISDIR(stat.mode));
	CHECK_EQ(files[1].result, -ENOENT);
	CHECK(syscript_readdirplus(fd, room, sizeof(room), STATX_BASIC_STATS, 0, NULL) > 0);
	CHECK_EQ(entry->error, 0);
	CHECK(S_ISREG(entry->stat.mode));
	close(fd);
}

int main(void)
{
	const char *backend = getenv("SYSCRIPT_BACKEND");

	if (backend && !strcmp(backend, "kernel"))
		skip("there are no scripts in gVisor's kernel");
	refuse();
	check_fork();
	check_attributes();
	return 0;
}
