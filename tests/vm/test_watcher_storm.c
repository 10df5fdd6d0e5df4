// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Filters are installed for all threads, threads are killed by their own filters, and descriptors
 * are closed, while other threads run scripts: a filter applies from the next call on, and a
 * process leaves nothing behind.
 *
 * usage: test_watcher_storm [SECONDS]
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "abi.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define RUNNERS		3
#define FDS		4
#define ROUND		0.4		/* s, at most, per process */
#define REFUSED		EDOM		/* the filters' errno for getppid(2) */

/* -- What all threads of a process share ------------------------------------- */

static struct {
	double end;
	int scripts[FDS];		/* closed and registered again by closer() */
	int socks[2];			/* the same */
	pid_t parent;
	int refused;			/* set once getppid(2) is refused for all threads */
	unsigned long calls, filters, deaths;
} storm;

static bool is_over(void)
{
	return abi_seconds() > storm.end;
}

/* -- Filters ----------------------------------------------------------------- */

static int filter_call(unsigned int flags, unsigned int nr, unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* A thread with a filter of its own prevents installing one for all threads. */
static void *installer(void *arg)
{
	static const unsigned int harmless[] = { SYS_getpgid, SYS_getsid, SYS_dup };
	unsigned int seed = (uintptr_t)arg;

	while (!is_over()) {
		unsigned int nr = harmless[rand_r(&seed) % ARRAY_SIZE(harmless)];

		if (!filter_call(SECCOMP_FILTER_FLAG_TSYNC, nr, SECCOMP_RET_ALLOW))
			storm.filters++;
		if (rand_r(&seed) % 8 == 0 &&
		    !filter_call(SECCOMP_FILTER_FLAG_TSYNC, SYS_getppid,
				 SECCOMP_RET_ERRNO | REFUSED))
			__atomic_store_n(&storm.refused, 1, __ATOMIC_RELEASE);
		abi_sleep(0.005);
	}
	return NULL;
}

/* -- Threads that end in a run ------------------------------------------------ */

static void *dying(void *arg)
{
	int *fd = arg;

	filter_call(0, SYS_getpgid, SECCOMP_RET_KILL_THREAD);
	if (*fd >= 0)
		abi_call(*fd, 0, 0, NULL);
	syscall(SYS_getpgid, 0);
	CHECK(!"a thread that a filter kills lives on");
	return arg;
}

static void *killer(void *arg)
{
	pthread_t thread;

	while (!is_over()) {
		int fd = abi_register("function run() syscall.getpgid(0) return 0 end");

		CHECK_EQ(pthread_create(&thread, NULL, dying, &fd), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		close(fd);
		storm.deaths++;
	}
	return arg;
}

/* -- Scripts ------------------------------------------------------------------- */

/* Its result differs from those of the others, which are 0. */
#define PARENT		"function run() local p for i = 1, 20 do p = syscall.getppid() end " \
			"return 4 * p + 1 end"
/* Other threads close its socket. */
#define TALK		"function run(a, b) " \
			"syscall.shutdown(b, 2) " \
			"for i = 1, 10 do syscall.close(syscall.dup(a)) end return 0 end"
#define WAIT		"function run(a) syscall.poll(0, 0, 1) syscall.getpgid(0) return 0 end"

static const char *const sources[FDS] = { PARENT, PARENT, TALK, WAIT };

static bool is_expected(int err)
{
	static const int expected[] = {
		/* closed, and the number reused for something else */
		0, -EBADF, -ENOTTY, -EINVAL,
		/* a fatal signal, and another thread's run that it ended */
		-ECANCELED, -ENOTRECOVERABLE, -EINTR,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(expected); i++)
		if (err == expected[i])
			return true;
	return false;
}

static void *runner(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!is_over()) {
		int which = rand_r(&seed) % FDS, fd = storm.scripts[which];
		bool refused = __atomic_load_n(&storm.refused, __ATOMIC_ACQUIRE);
		int64_t result = 0;
		int err = abi_call(fd, storm.socks[0], storm.socks[1], &result);

		if (!is_expected(err))
			CHECK_EQ(err, 0);
		if (!err && result && (refused || result != 4 * storm.parent + 1))
			CHECK_EQ(result, 4 * -REFUSED + 1);
		__atomic_fetch_add(&storm.calls, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Replaces running scripts by others. */
static void *closer(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!is_over()) {
		int which = rand_r(&seed) % FDS, fd = abi_register(sources[which]), old;

		if (fd >= 0) {
			old = __atomic_exchange_n(&storm.scripts[which], fd, __ATOMIC_ACQ_REL);
			close(old);
		}
		if (rand_r(&seed) % 4 == 0) {
			close(storm.socks[0]);
			close(storm.socks[1]);
			socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, storm.socks);
		}
		abi_sleep(0.002);
	}
	return NULL;
}

/* -- A process ------------------------------------------------------------------ */

static void process(unsigned int seed)
{
	static void *(*const works[])(void *) = { installer, killer, closer };
	pthread_t threads[RUNNERS + ARRAY_SIZE(works)];
	unsigned int n = 0;

	storm.parent = getppid();
	storm.end = abi_seconds() + ROUND * (rand_r(&seed) % 100 + 20) / 120;
	socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, storm.socks);
	for (int i = 0; i < FDS; i++)
		storm.scripts[i] = abi_must_register(sources[i]);
	for (; n < RUNNERS; n++)
		pthread_create(&threads[n], NULL, runner, (void *)(uintptr_t)(seed + n));
	for (unsigned int i = 0; i < ARRAY_SIZE(works); i++, n++)
		pthread_create(&threads[n], NULL, works[i], (void *)(uintptr_t)(seed + n));
	switch (rand_r(&seed) % 4) {
	case 0:		/* in the middle of everything */
		abi_sleep(ROUND / 4);
		_exit(!!abi_failures);
	case 1:		/* the same, by a filter */
		abi_sleep(ROUND / 4);
		filter_call(SECCOMP_FILTER_FLAG_TSYNC, SYS_getsid, SECCOMP_RET_KILL_PROCESS);
		syscall(SYS_getsid, 0);
	}
	while (n--)
		pthread_join(threads[n], NULL);
	printf("%lu %lu %lu\n", storm.calls, storm.filters, storm.deaths);
	exit(!!abi_failures);
}

/* Adds its counts to @total. */
static void round_of(unsigned int seed, unsigned long total[3])
{
	unsigned long counts[3] = { 0 };
	int pipes[2], status = -1;
	pid_t pid;
	FILE *out;

	CHECK_EQ(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		dup2(pipes[1], 1);
		process(seed);
	}
	close(pipes[1]);
	out = fdopen(pipes[0], "r");
	if (fscanf(out, "%lu %lu %lu", &counts[0], &counts[1], &counts[2]) == 3)
		for (int i = 0; i < 3; i++)
			total[i] += counts[i];
	/* Pass on any further output. */
	for (char line[256]; fgets(line, sizeof(line), out);)
		if (*line != '\n')
			fputs(line, stdout);
	fclose(out);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
		CHECK_EQ(status, 0);
	CHECK_EQ(abi_count(pid), 0);
}

int main(int argc, char **argv)
{
	double end = abi_seconds() + (argc > 1 ? atof(argv[1]) : 4);
	const char *kernel = getenv("SYSCRIPT_GUEST");
	unsigned long total[3] = { 0 };
	unsigned int rounds = 0;

	abi_open();
	if (kernel && !strcmp(kernel, "debug"))
		SKIP("a kernel without ftrace has no scripts in threads under filters");
	while (abi_seconds() < end || !total[0])
		round_of(++rounds * 7919, total);
	printf("%u processes: %lu runs, %lu filters for all threads, %lu threads killed\n",
	       rounds, total[0], total[1], total[2]);
	CHECK(total[0] > 0 && total[1] > 0 && total[2] > 0);
	return abi_verdict();
}
