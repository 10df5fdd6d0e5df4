// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Observers: a seccomp filter decides on a script's calls in the kernel; an observer that the
 * kernel cannot consult makes scripts move to user space.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "lib_test.h"

static const char source[] =
	"local n = 0\n"
	"function run() n = n + 1 return n, syscall.getppid(), syscall.getuid() end";

static void filter(int nr, unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		skip("no seccomp filters here");
}

static void call(int fd, int64_t n, int64_t ppid, int64_t uid)
{
	int64_t results[3];

	CHECK_EQ(syscript_call(fd, 0, NULL, 3, results), 3);
	CHECK_EQ(results[0], n);
	CHECK_EQ(results[1], ppid);
	CHECK_EQ(results[2], uid);
}

#define EMULATED	4711

static int called, fresh, where;

/* The filter is consulted in either backend. */
static void test_filter(void)
{
	int later;

	filter(SYS_getppid, SECCOMP_RET_ERRNO | EPERM);
	call(called, 2, -EPERM, getuid());
	later = load(source);
	CHECK_EQ(syscript_backend(later), where);
	call(later, 1, -EPERM, getuid());
	syscript_close(later);
}

static void emulate_getuid(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = EMULATED;
}

/* A SIGSYS handler emulates the call from the registers, which only works in user space. */
static void test_handler(void)
{
	struct sigaction action = { .sa_sigaction = emulate_getuid, .sa_flags = SA_SIGINFO };
	int64_t results[3];
	int last;

	CHECK(!sigaction(SIGSYS, &action, NULL));
	filter(SYS_getuid, SECCOMP_RET_TRAP);
	last = load(source);
	if (syscript_backend(last) == SYSCRIPT_BACKEND_KERNEL) {
		CHECK_EQ(syscript_call(last, 0, NULL, 3, results), -EOPNOTSUPP);
		syscript_close(last);
		last = load(source);
	}
	CHECK_EQ(syscript_backend(last), SYSCRIPT_BACKEND_USER);
	call(last, 1, -EPERM, EMULATED);
	syscript_close(last);
}

/* Under system call user dispatch the kernel runs no scripts for the thread. */
static void test_dispatch(void)
{
	static char allow = SYSCALL_DISPATCH_FILTER_ALLOW;
	int64_t results[3];

	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &allow))
		skip("no system call user dispatch here");

	/* Never called before: it starts afresh, under the same number. */
	call(fresh, 1, -EPERM, EMULATED);
	CHECK_EQ(syscript_backend(fresh), SYSCRIPT_BACKEND_USER);
	call(fresh, 2, -EPERM, EMULATED);

	/* Called before: its state in the kernel would be lost, which must be reported. */
	if (where == SYSCRIPT_BACKEND_KERNEL)
		CHECK_EQ(syscript_call(called, 0, NULL, 3, results), -EOPNOTSUPP);
	else
		call(called, 3, -EPERM, EMULATED);
	CHECK(!prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0));
}

int main(void)
{
	/* A program that insists on the kernel is not moved. */
	if (getenv("SYSCRIPT_BACKEND") && !strcmp(getenv("SYSCRIPT_BACKEND"), "kernel"))
		setenv("SYSCRIPT_BACKEND", "auto", 1);
	called = load(source);
	fresh = load(source);
	where = syscript_backend(called);
	CHECK_EQ(syscript_backend(fresh), where);
	call(called, 1, getppid(), getuid());
	test_filter();
	test_handler();
	test_dispatch();
	syscript_close(called);
	syscript_close(fresh);
	return 0;
}
