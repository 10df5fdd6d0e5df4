// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Each system call of the library fails once, with each plausible errno, at each place: the program
 * must get that error, with its message, or its result anyway; and the next time everything must
 * work again.
 *
 * A supervisor, notified by seccomp of the calls of a child process, lets all pass except one. A
 * first child only counts the calls.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syscript_files.h>
#include <syscript_queue.h>

#include "lib_test.h"

#define WAIT_MS		60000
/* A call that the library never makes: it marks the begin and end of the calls that count. */
#define MARK		SYS_getpgid
#define MARK_BEGIN	1
#define MARK_END	2
#define CALLS_MAX	4096

/* Errors to inject. mprotect(2) may be forbidden to make memory executable. */
static const struct {
	int nr;
	const char *name;
	int errors[8];
} calls[] = {
#define CALL(name, ...)	{ SYS_##name, #name, { __VA_ARGS__ } }
	CALL(open, EMFILE, ENFILE, ENOMEM, EACCES, EINTR, EIO),
	CALL(openat, EMFILE, ENFILE, ENOMEM, EACCES, EINTR, EIO),
	CALL(read, EIO, EINTR),
	CALL(pipe2, EMFILE, ENFILE, EPERM),
	CALL(fcntl, EMFILE, EPERM),
	CALL(mmap, ENOMEM, EAGAIN),
	CALL(munmap, ENOMEM),
	CALL(mprotect, ENOMEM, EACCES, EPERM),
	CALL(madvise, EINVAL, ENOMEM, EPERM),
	CALL(memfd_create, EMFILE, ENFILE, ENOMEM, EPERM, ENOSYS),
	CALL(ftruncate, EFBIG, ENOSPC, EINTR, EPERM),
	CALL(getrandom, EINTR, EPERM, ENOSYS),
	CALL(prlimit64, EPERM),
	CALL(clone3, EAGAIN, ENOMEM, EPERM),
	CALL(clone, EAGAIN, ENOMEM, EPERM),
	CALL(timer_create, EAGAIN, ENOMEM, EPERM),
	CALL(timer_settime, EPERM),
	CALL(eventfd2, EMFILE, ENFILE, ENOMEM, EPERM),
	CALL(membarrier, EPERM, ENOSYS),
	CALL(ppoll, EINTR, ENOMEM),
	CALL(getdents64, EIO, ENOENT),
	CALL(prctl, EINVAL, EPERM),
	CALL(clock_gettime, EPERM, EINVAL),
};

/* Calls that are not made to fail: any other fails the test. */
static const int excused[] = {
	/* They fail only for arguments that nothing passes. */
	SYS_close, SYS_fstat, SYS_lseek, SYS_futex, SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_getpid, SYS_gettid, SYS_getuid, SYS_exit, SYS_rseq, SYS_set_robust_list,
	/* It returns no errno. */
	SYS_brk,
	/* A queue's threads make them, to wait and to notify. */
	SYS_futex_waitv, SYS_write,
};

#define CALLS	(sizeof(calls) / sizeof(calls[0]))

/**
 * struct shared - data from the child for the supervisor
 * @listener: its seccomp notification descriptor, or < 0 before that
 * @tries:    attempts; @result must be @wanted
 */
static struct shared {
	int listener;
	struct {
		long result, wanted;
		char text[512];
	} tries[2];
} *shared;

/* -- What is done ------------------------------------------------------------------- */

static char folder[] = "/tmp/sweep-XXXXXX";

static void put_module(void)
{
	char path[sizeof(folder) + 8];
	FILE *file;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/one.lua", folder);
	file = fopen(path, "w");
	CHECK(file && fputs("return 1", file) >= 0 && !fclose(file));
}

static void remove_module(void)
{
	char path[sizeof(folder) + 8];

	snprintf(path, sizeof(path), "%s/one.lua", folder);
	CHECK(!remove(path) && !remove(folder));
}

static void register_and_call(int n, const char *source, const char *modules)
{
	struct syscript_options options = {
		.size = sizeof(options), .time_limit_ns = 10000000000, .modules = modules,
	};
	char *text = shared->tries[n].text;
	int fd = syscript_register(source, strlen(source), &options, text, 512);

	shared->tries[n].wanted = 42;
	shared->tries[n].result = fd;
	if (fd < 0)
		return;
	shared->tries[n].result = lua_syscall(fd, 1, 41L);
	if (shared->tries[n].result < 0)
		syscript_error(fd, text, 512);
	syscript_close(fd);
}

static void try_script(int n)
{
	register_and_call(n, "function run(n) return n + 1 end", NULL);
}

static void try_modules(int n)
{
	register_and_call(n, "local one = require('one')  function run(n) return n + one end",
			  folder);
}

static void try_batch(int n)
{
	char room[4096];
	long bytes;

	CHECK(!lseek(3, 0, SEEK_SET));
	bytes = syscript_readdirplus(3, room, sizeof(room), 0, 0, NULL);
	shared->tries[n].wanted = 1;
	shared->tries[n].result = bytes < 0 ? bytes : bytes > 0;
	/* It returns a number without a message. */
	if (bytes < 0)
		snprintf(shared->tries[n].text, 512, "%s", syscript_strerror(bytes));
}

/* What cannot be read is counted, and not lost. */
static void try_walk(int n)
{
	struct syscript_walk_sums sums = { 0 };
	char *text = shared->tries[n].text;
	struct syscript_walk *walk;
	long done = syscript_walk_open(&walk, 4, "match = function() return true end", 0, text, 512);

	shared->tries[n].wanted = 1;
	shared->tries[n].result = done;
	if (done) {
		/* The text is for errors in the functions. */
		if (!*text)
			snprintf(text, 512, "%s", syscript_strerror(done));
		return;
	}
	done = syscript_walk_next(walk, NULL, 0, &sums);
	shared->tries[n].result = done < 0 ? done : sums.entries + sums.errors;
	if (done < 0 && syscript_walk_error(walk, text, 512) <= 0)
		snprintf(text, 512, "%s", syscript_strerror(done));
	syscript_walk_close(walk);
}

static void try_queue(int n)
{
	static const char source[] = "function run(n) return n + 1 end";
	struct syscript_options options = { .size = sizeof(options), .time_limit_ns = 10000000000 };
	struct syscript_request request = { .nargs = 1, .args = { 41 } };
	struct syscript_completion got = { 0 };
	char *text = shared->tries[n].text;
	struct syscript_queue *queue;
	int done = syscript_queue_open(&queue, source, sizeof(source) - 1, &options, 1, text, 512);

	shared->tries[n].wanted = 42;
	shared->tries[n].result = done;
	if (done)
		return;
	done = syscript_queue_submit(queue, &request, 1);
	if (done > 0)
		done = syscript_queue_wait(queue, &got, 1, 1, WAIT_MS);
	if (done > 0)
		done = got.error;
	shared->tries[n].result = done < 0 ? done : got.result;
	if (done < 0)
		snprintf(text, 512, "%s", syscript_strerror(done));
	syscript_queue_close(queue);
}

/* Has the supervisor asked about the calls of the table, or about @all. */
static void watch(bool all)
{
	struct sock_filter code[2 * CALLS + 4] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog filter = { .filter = code };
	size_t n = 3;

	for (size_t i = 0; i < CALLS; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, all ? SECCOMP_RET_USER_NOTIF :
								       SECCOMP_RET_ALLOW);
	filter.len = n;
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	n = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	/* From here on each call waits for the supervisor. */
	__atomic_store_n(&shared->listener, (int)n, __ATOMIC_RELEASE);
}

static void process(void (*try)(int n), bool all)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	watch(all);
	syscall(MARK, MARK_BEGIN);
	try(0);
	syscall(MARK, MARK_END);
	try(1);
	_exit(0);
}

/* -- The supervisor ------------------------------------------------------------------- */

static size_t line_of(int nr)
{
	size_t i = 0;

	while (i < CALLS && calls[i].nr != nr)
		i++;
	return i;
}

static bool is_excused(int nr)
{
	for (size_t i = 0; i < sizeof(excused) / sizeof(excused[0]); i++)
		if (excused[i] == nr)
			return true;
	return false;
}

static int unlisted;

static bool is_odd(const struct seccomp_data *data, int err)
{
	return data->nr == SYS_mprotect && err != -ENOMEM && !(data->args[2] & PROT_EXEC);
}

/*
 * Makes call number @which between the marks fail with number @error of its errors. Returns the
 * number of calls; @seen gets their table lines.
 */
static int supervise(pid_t pid, int listener, int which, int error, size_t *seen)
{
	struct pollfd poll_on = { .fd = listener, .events = POLLIN };
	bool counts = false;
	int n = 0;

	while (poll(&poll_on, 1, WAIT_MS) == 1 && poll_on.revents & POLLIN) {
		struct seccomp_notif got = { 0 };
		struct seccomp_notif_resp answer = { 0 };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got))
			continue;
		answer.id = got.id;
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		if (got.data.nr == MARK) {
			counts = got.data.args[0] == MARK_BEGIN;
		} else if (counts && line_of(got.data.nr) == CALLS) {
			if (!is_excused(got.data.nr)) {
				fprintf(stderr, "system call %d is in no list here\n", got.data.nr);
				unlisted++;
			}
		} else if (counts && (pid_t)got.pid == pid) {
			CHECK(n < CALLS_MAX);
			seen[n] = line_of(got.data.nr);
			answer.error = -calls[seen[n]].errors[error];
			if (n++ == which && answer.error && !is_odd(&got.data, answer.error))
				answer.flags = 0;
			else
				answer.error = 0;
		}
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	return n;
}

static int take_listener(pid_t pid)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), fd, listener;

	CHECK(pidfd >= 0);
	while ((fd = __atomic_load_n(&shared->listener, __ATOMIC_ACQUIRE)) < 0)
		usleep(100);
	listener = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	CHECK(listener >= 0);
	close(pidfd);
	return listener;
}

static int run(void (*try)(int n), int which, int error, size_t *seen, int *status)
{
	int listener, n;
	pid_t pid;

	*shared = (struct shared){ .listener = -1 };
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		process(try, which < 0);
	listener = take_listener(pid);
	n = supervise(pid, listener, which, error, seen);
	close(listener);
	/* Kill it if it hangs. */
	if (waitpid(pid, status, WNOHANG) == pid)
		return n;
	for (int i = 0; i < 1000 && waitpid(pid, status, WNOHANG) != pid; i++) {
		if (i == 999)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	return n;
}

/*
 * EAGAIN and ENOMEM may replace each other: a thread without memory for its stack gets EAGAIN,
 * and so does locking too much memory, which programs get as ENOMEM. Both messages name the limits.
 */
static bool is_same(int told, int err)
{
	return told == err || (told == EAGAIN && err == ENOMEM) ||
	       (told == ENOMEM && err == EAGAIN) ||
	       /* An error of the runtime has only a number, no message. */
	       (told == ENOSYS && err == EACCES);
}

/* The program's error names the failure: by errno and its message, or in words. */
static bool is_told(long result, const char *text, int err)
{
	return result < 0 && *text &&
	       ((is_same(-result, err) && strstr(text, syscript_strerror(result))) ||
		strstr(text, strerrordesc_np(err)) || strstr(text, syscript_strerror(err)) ||
		(is_same(ENOMEM, err) && strstr(text, "no memory")));
}

static bool is_right(int status, int err)
{
	long first = shared->tries[0].result;

	return !status && shared->tries[1].result == shared->tries[1].wanted &&
	       (first == shared->tries[0].wanted ||
		(err && is_told(first, shared->tries[0].text, err)));
}

/* Call number @which fails with number @error of its errors. */
static bool fails_well(const char *what, void (*try)(int n), int which, int error)
{
	static size_t seen[CALLS_MAX];
	int status, n = run(try, which, error, seen, &status);
	/* It may be another call this time, or none: threads wait or do not have to. */
	size_t line = which < n ? seen[which] : 0;
	int err = which < n ? calls[line].errors[error] : 0;

	if (is_right(status, err))
		return true;
	fprintf(stderr, "%s: call %d, %s, fails with %s: status %d, then %ld, \"%s\"; the next time %ld, \"%s\"\n",
		what, which, calls[line].name, strerrorname_np(err), status,
		shared->tries[0].result, shared->tries[0].text,
		shared->tries[1].result, shared->tries[1].text);
	return false;
}

static int sweep(const char *what, void (*try)(int n))
{
	static size_t seen[CALLS_MAX];
	int status, wrong = 0, n = run(try, -1, 0, seen, &status);

	CHECK_EQ(status, 0);
	CHECK_EQ(shared->tries[0].result, shared->tries[0].wanted);
	CHECK(n > 5);
	for (int i = 0; i < n; i++)
		for (int e = 0; calls[seen[i]].errors[e]; e++)
			wrong += !fails_well(what, try, i, e);
	return wrong;
}

int main(void)
{
	int wrong, fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *backend = getenv("SYSCRIPT_BACKEND");

	/*
	 * The kernel backend makes too few calls to be worth it, and after a failure falls back to
	 * the process.
	 */
	if (backend && !strcmp(backend, "kernel"))
		skip("a call that fails sends the script to the process");
	CHECK(fd == 3 || dup3(fd, 3, O_CLOEXEC) == 3);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	CHECK(shared != MAP_FAILED);
	wrong = sweep("a script", try_script);
	wrong += sweep("a script of the library", try_batch);
	wrong += sweep("a queue", try_queue);
	put_module();
	wrong += sweep("a script with a module", try_modules);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd == 4 || dup3(fd, 4, O_CLOEXEC) == 4);
	wrong += sweep("a walk", try_walk);
	remove_module();
	return wrong || unlisted;
}
