// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A seccomp filter: scripts made before and after it run, in user space, where
 * the filter sees each of their calls.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib_test.h"

/* getppid() fails with EPERM; all else is allowed. */
static void watch(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		skip("no seccomp filters here");
}

static const char source[] =
	"local n = 0\n"
	"function run() n = n + 1 return n, syscall.getppid() end";

static void call(int fd, int64_t n, int64_t ppid)
{
	int64_t results[2];

	CHECK_EQ(syscript_call(fd, 0, NULL, 2, results), 2);
	CHECK_EQ(results[0], n);
	CHECK_EQ(results[1], ppid);
}

int main(void)
{
	int called, fresh, later, where;
	int64_t results[2];

	/* Who insists on the kernel is not moved. */
	if (getenv("SYSCRIPT_BACKEND") && !strcmp(getenv("SYSCRIPT_BACKEND"), "kernel"))
		setenv("SYSCRIPT_BACKEND", "auto", 1);
	called = load(source);
	fresh = load(source);
	where = syscript_backend(called);
	CHECK_EQ(syscript_backend(fresh), where);
	call(called, 1, getppid());
	watch();

	/* Never called: it starts afresh, at the same number. */
	call(fresh, 1, -EPERM);
	CHECK_EQ(syscript_backend(fresh), SYSCRIPT_BACKEND_USER);
	call(fresh, 2, -EPERM);

	/* Called: in the kernel its state would be lost, which must not go unseen. */
	if (where == SYSCRIPT_BACKEND_KERNEL)
		CHECK_EQ(syscript_call(called, 0, NULL, 2, results), -EOPNOTSUPP);
	else
		call(called, 2, -EPERM);

	later = load(source);
	CHECK_EQ(syscript_backend(later), SYSCRIPT_BACKEND_USER);
	call(later, 1, -EPERM);
	syscript_close(called);
	syscript_close(fresh);
	syscript_close(later);
	return 0;
}
