// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * In a process that may not make memory executable (systemd's MemoryDenyWriteExecute, PR_SET_MDWE),
 * new scripts are interpreted; those compiled before continue.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib_test.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		65
#define PR_MDWE_REFUSE_EXEC_GAIN	1
#endif

static const char source[] =
	"local total = 0\n"
	"function run(n, kind)\n"
	"  if kind == 1 then for i = 1, n do total = total + i end\n"
	"  else for i = 1, n do total = total + #tostring(i % 10) end end\n"
	"  return total\n"
	"end\n";

/* Like systemd: no mprotect() that makes memory executable. */
static int deny_by_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int deny_by_prctl(void)
{
	return prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0);
}

static struct syscript_info info_of(int fd)
{
	struct syscript_info info;

	CHECK_EQ(syscript_info(fd, &info), 0);
	return info;
}

static void check_interprets(void)
{
	struct syscript_options options = {
		.backend = SYSCRIPT_BACKEND_USER, .time_limit_ns = 10000000000,
	};
	int fd = load_with(source, &options);

	CHECK_EQ(lua_syscall(fd, 2, 100000, 1), 5000050000);
	CHECK_EQ(info_of(fd).counters[0].value, 0);
	CHECK(info_of(fd).flags & SYSCRIPT_NOJIT);
	CHECK_EQ(syscript_close(fd), 0);
}

/* A script that had compiled code when the denial came. */
static void check_goes_on(int (*deny)(void))
{
	struct syscript_options options = {
		.backend = SYSCRIPT_BACKEND_USER, .time_limit_ns = 10000000000,
	};
	int fd = load_with(source, &options);
	struct syscript_info before, after;

	CHECK_EQ(lua_syscall(fd, 2, 100000, 1), 5000050000);
	before = info_of(fd);
	CHECK(before.counters[0].value > 0 && !(before.flags & SYSCRIPT_NOJIT));
	if (deny())
		skip("this kernel has no such thing");
	CHECK_EQ(lua_syscall(fd, 2, 100000, 1), 2 * 5000050000);
	for (int i = 1; i <= 3; i++)
		CHECK_EQ(lua_syscall(fd, 2, 100000, 2), 2 * 5000050000 + i * 100000);
	after = info_of(fd);
	CHECK_EQ(after.counters[0].value, before.counters[0].value);
	CHECK_EQ(after.state, SYSCRIPT_STATE_READY);
	CHECK_EQ(syscript_close(fd), 0);
}

static int in_child(int (*deny)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		check_goes_on(deny);
		check_interprets();
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	CHECK_EQ(in_child(deny_by_filter), 0);
	return in_child(deny_by_prctl);
}
