// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues with watched threads: seccomp filters installed in all threads, filters that kill threads,
 * strace -f; and threads that follow changes of the process's user IDs.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syscript_queue.h>

#include "lib_test.h"

/* ms, enough for a busy machine. */
#define LONG	30000

/* The system call for each number; neither the library nor the C library uses these. */
static const char source[] =
	"local read = syscall.read\n"
	"function run(what, fd, buf)\n"
	"  if what == 1 then return syscall.getppid() end\n"
	"  if what == 2 then return syscall.getpgid(0) end\n"
	"  if what == 3 then return read(fd, buf, 1) end\n"
	"  if what == 4 then return syscall.geteuid() end\n"
	"  return what\n"
	"end";

static struct syscript_queue *open_queue(unsigned int threads)
{
	const struct syscript_options options = {
		.size = sizeof(options), .time_limit_ns = 500000000,
	};
	struct syscript_queue *queue;
	int err = syscript_queue_open(&queue, source, strlen(source), &options, threads, NULL, 0);

	CHECK_EQ(err, 0);
	return queue;
}

static void submit(struct syscript_queue *queue, int64_t what, int64_t fd, void *buf)
{
	struct syscript_request request = { what, 3, 0, { what, fd, (intptr_t)buf } };

	CHECK_EQ(syscript_queue_submit(queue, &request, 1), 1);
}

static struct syscript_completion next(struct syscript_queue *queue)
{
	struct syscript_completion completion;

	CHECK_EQ(syscript_queue_wait(queue, &completion, 1, 1, LONG), 1);
	return completion;
}

static int64_t request(struct syscript_queue *queue, int64_t what)
{
	struct syscript_completion completion;

	submit(queue, what, 0, NULL);
	completion = next(queue);
	return completion.error ?: completion.result;
}

/* Installs a filter in all threads that returns @action for @nr. */
static void filter_all(unsigned int nr, uint32_t action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter));
}

/* It applies to the next call of a thread that is already in the kernel. */
static void tsync(void)
{
	struct syscript_queue *queue = open_queue(2);

	CHECK_EQ(request(queue, 1), getppid());
	filter_all(SYS_getppid, SECCOMP_RET_ERRNO | 99);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(request(queue, 1), -99);
		CHECK_EQ(request(queue, 7), 7);
	}
	syscript_queue_close(queue);
}

/*
 * A thread killed by a filter: pollers are notified, its requests fail, the other thread continues,
 * and without threads requests are refused.
 */
static void kill_thread(void)
{
	struct syscript_queue *queue = open_queue(2);
	struct syscript_completion got;
	struct pollfd poll_fd = { .fd = syscript_queue_fd(queue), .events = POLLIN };
	struct syscript_request one = { .nargs = 3, .args = { 2 } };

	CHECK_EQ(request(queue, 2), getpgid(0));
	filter_all(SYS_getpgid, SECCOMP_RET_KILL_THREAD);
	for (int left = 1; left >= 0; left--) {
		CHECK_EQ(syscript_queue_reap(queue, &got, 1), 0);
		submit(queue, 2, 0, NULL);
		do
			CHECK_EQ(poll(&poll_fd, 1, LONG), 1);
		while (!syscript_queue_reap(queue, &got, 1));
		CHECK_EQ(got.user_data, 2);
		CHECK_EQ(got.error, -ECANCELED);
		for (int i = 0; i < 300 && left; i++)
			CHECK_EQ(request(queue, 7), 7);
	}
	CHECK_EQ(syscript_queue_submit(queue, &one, 1), -ENOTRECOVERABLE);
	syscript_queue_close(queue);
}

/* With more requests queued behind the one that is killed. */
static void kill_with_more(void)
{
	struct syscript_queue *queue = open_queue(1);
	int ends[2];
	char byte;

	CHECK(!pipe(ends));
	CHECK_EQ(request(queue, 7), 7);
	filter_all(SYS_getpgid, SECCOMP_RET_KILL_THREAD);
	submit(queue, 3, ends[0], &byte);
	submit(queue, 2, 0, NULL);
	for (int i = 0; i < 5; i++)
		submit(queue, 7, 0, NULL);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(next(queue).result, 1);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(next(queue).error, -ECANCELED);
	syscript_queue_close(queue);
}

/* The trace has each system call of the requests. */
static void traced(void)
{
	struct syscript_queue *queue = open_queue(2);

	for (int i = 0; i < 20; i++)
		CHECK_EQ(request(queue, 1), getppid());
	syscript_queue_close(queue);
}

static void under_strace(const char *self)
{
	char command[512];
	int found = 0;
	FILE *trace;

	if (access("/usr/bin/strace", X_OK))
		return;
	snprintf(command, sizeof(command),
		 "env -u SYSCRIPT_BACKEND /usr/bin/strace -f -qq -e trace=getppid %s traced 2>&1 >/dev/null", self);
	trace = popen(command, "r");
	CHECK(trace);
	while (fgets(command, sizeof(command), trace))
		found += strstr(command, "getppid(") != NULL;
	CHECK_EQ(pclose(trace), 0);
	/* The script's calls, and the test's own. */
	CHECK_EQ(found, 40);
}

/* The C library changes the IDs of all threads, wherever they are. */
static void user_ids(void)
{
	struct syscript_queue *queue = open_queue(2);
	int64_t result;
	int ends[2];
	char byte;

	if (geteuid())
		return syscript_queue_close(queue);
	CHECK(!pipe(ends));
	CHECK_EQ(request(queue, 4), 0);
	submit(queue, 3, ends[0], &byte);
	usleep(20000);
	CHECK(!setresuid(1000, 1000, 0));
	CHECK_EQ(write(ends[1], "x", 1), 1);
	/* In the kernel its signal ends the call; outside the call continues. */
	result = next(queue).result;
	CHECK(result == -EINTR || result == 1);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(request(queue, 4), 1000);
	syscript_queue_close(queue);
}

static void apart(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(90);
		test();
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		traced();
		return 0;
	}
	apart(tsync);
	apart(kill_thread);
	apart(kill_with_more);
	apart(user_ids);
	under_strace(argv[0]);
	return 0;
}
