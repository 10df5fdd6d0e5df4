// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ownership of scripts: fork, execve, descriptor passing, watched threads, and scripts that operate
 * on scripts.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "abi.h"
#include "pass_fd.h"

static int child_status(pid_t pid)
{
	int status = -1;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

/* Everything is refused on scripts of another process. */
static int check_foreign(int fd)
{
	struct syscript_info info;
	char text[64];

	abi_failures = 0;
	CHECK_EQ(abi_call(fd, 1, 2, NULL), -EXDEV);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)), -EXDEV);
	CHECK_EQ(abi_info(fd, &info), -EXDEV);
	CHECK_EQ(abi_ioctl(fd, _IO(SYSCRIPT_IOC_MAGIC, 0x7f), NULL), -EXDEV);
	return !!abi_failures;
}

static void test_fork(void)
{
	int fd = abi_must_register(ABI_ADD);
	pid_t pid = fork();

	if (!pid) {
		int own, bad = check_foreign(fd);

		/* The child owns what it registers. */
		own = abi_must_register(ABI_ADD);
		CHECK_EQ(abi_call(own, 1, 2, NULL), 0);
		exit(bad || abi_failures);
	}
	CHECK_EQ(child_status(pid), 0);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	close(fd);
}

/* The last reference is dropped by a process that is not the owner. */
static void test_last_close_elsewhere(void)
{
	int fd = abi_must_register(ABI_ADD), fds[2];
	int before = abi_count(getpid());
	pid_t pid;

	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		char c;

		close(fds[1]);
		exit(read(fds[0], &c, 1));
	}
	close(fd);
	CHECK_EQ(abi_count(getpid()), before);
	close(fds[1]);
	CHECK_EQ(child_status(pid), 0);
	CHECK_EQ(abi_count(getpid()), before - 1);
	close(fds[0]);
}

/* Like a thread, but another process: it shares the memory map. */
static int call_in_clone(void *arg)
{
	int fd = *(int *)arg;
	struct syscript_call call = { .nargs = 2, .args = { 40, 2 } };

	_exit(ioctl(fd, SYSCRIPT_IOC_CALL, &call) || call.results[0] != 42);
}

static void test_shared_map(void)
{
	size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = abi_must_register(ABI_ADD);
	pid_t pid = clone(call_in_clone, stack + size, CLONE_VM | SIGCHLD, &fd);

	CHECK_EQ(child_status(pid), 0);
	munmap(stack, size);
	close(fd);
}

static void test_exec(void)
{
	int fd = abi_must_register(ABI_ADD);
	pid_t pid;

	fcntl(fd, F_SETFD, 0);
	pid = fork();
	if (!pid) {
		char number[16];
		/* Its own script, so that only execve() makes it foreign. */
		int own = abi_must_register(ABI_ADD);

		fcntl(own, F_SETFD, 0);
		snprintf(number, sizeof(number), "%d", own);
		execl("/proc/self/exe", "test_owner", "foreign", number, NULL);
		exit(1);
	}
	CHECK_EQ(child_status(pid), 0);
	close(fd);
}

static void test_passing(void)
{
	int socks[2], fd, before;
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	pid = fork();
	if (!pid)
		exit(check_foreign(pass_fd_receive(socks[1])));
	fd = abi_must_register(ABI_ADD);
	before = abi_count(getpid());
	pass_fd_send(socks[0], fd);
	CHECK_EQ(child_status(pid), 0);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);

	/* A descriptor closed while in flight is released with the socket. */
	pass_fd_send(socks[0], fd);
	close(fd);
	CHECK_EQ(abi_count(getpid()), before);
	close(socks[0]);
	close(socks[1]);
	CHECK_EQ(abi_count(getpid()), before - 1);
}

/* A dispatch that selects nothing: being watched is what counts. */
static void watch_by_dispatch(void)
{
	static char selector;

	CHECK_EQ(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector),
		 0);
}

static void test_watched(void (*watch)(void))
{
	struct syscript_info info;
	int fd = abi_must_register(ABI_ADD);
	pid_t pid = fork();

	if (!pid) {
		int own = abi_must_register(ABI_ADD);

		CHECK_EQ(abi_call(own, 1, 2, NULL), 0);
		watch();
		CHECK_EQ(abi_call(own, 1, 2, NULL), -EOPNOTSUPP);
		CHECK_EQ(abi_register(ABI_ADD), -EOPNOTSUPP);
		CHECK_EQ(abi_info(own, &info), 0);
		exit(!!abi_failures);
	}
	CHECK_EQ(child_status(pid), 0);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	close(fd);
}

/* Under a tracer that requests system call stops. */
static void test_traced(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		int own = abi_must_register(ABI_ADD);

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		CHECK_EQ(abi_call(own, 1, 2, NULL), -EOPNOTSUPP);
		CHECK_EQ(abi_register(ABI_ADD), -EOPNOTSUPP);
		exit(!!abi_failures);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	CHECK_EQ(status, 0);
}

/* A script that closes the fd it runs from, in a single-threaded process. */
static void test_self_close(void)
{
	int before = abi_count(getpid());
	int fd = abi_must_register("function run(fd, n) local err = syscall.close(fd) "
				   "for i = 1, n do n = {} end return err end");
	int64_t result = -1;

	CHECK_EQ(abi_call(fd, fd, 10000, &result), 0);
	CHECK_EQ(result, 0);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
	CHECK_EQ(abi_count(getpid()), before);
}

/* A script that closes another one. */
static void test_close_other(void)
{
	int before = abi_count(getpid());
	int other = abi_must_register(ABI_ADD);
	int fd = abi_must_register("function run(fd) return syscall.close(fd) end");
	int64_t result = -1;

	CHECK_EQ(abi_call(fd, other, 0, &result), 0);
	CHECK_EQ(result, 0);
	CHECK_EQ(abi_call(other, 1, 2, NULL), -EBADF);
	CHECK_EQ(abi_count(getpid()), before + 1);
	close(fd);
}

/* A script's own ioctl(2) reaches neither itself nor another script. */
static void test_nested(void)
{
	const char *source = "function run(fd, where) "
			     "return syscall.ioctl(fd, where, 0) end";
	int other = abi_must_register(ABI_ADD);
	int fd = abi_must_register(source);
	int64_t result = 0;

	CHECK_EQ(abi_call(fd, fd, SYSCRIPT_IOC_CALL, &result), 0);
	CHECK_EQ(result, -EDEADLK);
	CHECK_EQ(abi_call(fd, other, SYSCRIPT_IOC_CALL, &result), 0);
	CHECK_EQ(result, -EDEADLK);
	CHECK_EQ(abi_call(fd, other, SYSCRIPT_IOC_TEXT, &result), 0);
	CHECK_EQ(result, -EDEADLK);
	CHECK_EQ(abi_call(fd, abi_device, SYSCRIPT_IOC_REGISTER, &result), 0);
	CHECK_EQ(result, -EDEADLK);
	CHECK_EQ(abi_call(other, 1, 2, NULL), 0);
	close(other);
	close(fd);
}

/* A script cannot call scripts by lseek(2) either, as its process can. */
static void test_nested_seek(void)
{
	const char *source = "function run(fd, call) "
			     "return syscall.lseek(fd, -call, 4) end";
	struct syscript_call call = { .nargs = 2, .args = { 40, 2 } };
	int other = abi_must_register(ABI_ADD);
	int fd = abi_must_register(source);
	int64_t result = 0;

	CHECK_EQ(abi_call(fd, fd, (int64_t)&call, &result), 0);
	CHECK_EQ(result, -EDEADLK);
	for (int i = 0; i < 200; i++) {	/* compiled, too */
		CHECK_EQ(abi_call(fd, other, (int64_t)&call, &result), 0);
		CHECK_EQ(result, -EDEADLK);
	}
	CHECK_EQ(call.nresults, 0);
	/* Outside a script it works. */
	CHECK_EQ(abi_call_seek(other, &call), 0);
	CHECK_EQ(call.results[0], 42);
	close(other);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "foreign"))
		return check_foreign(atoi(argv[2]));

	abi_open();
	test_fork();
	test_last_close_elsewhere();
	test_shared_map();
	test_exec();
	test_passing();
	test_watched(watch_by_dispatch);
	test_traced();
	test_self_close();
	test_close_other();
	test_nested();
	test_nested_seek();
	return abi_verdict();
}
