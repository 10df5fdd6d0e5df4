// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Threads: calls of one script in turn, scripts in parallel, signals, fork. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "lib_test.h"

#define THREADS	4
#define CALLS	3000

static void *call_many(void *arg)
{
	for (int i = 0; i < CALLS; i++)
		CHECK(lua_syscall(*(int *)arg, 0) > 0);
	return NULL;
}

static void run_threads(void *(*f)(void *), void *arg, size_t step)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, f, (char *)arg + i * step));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static const char counter[] = "local n = 0; function run() n = n + 1; return n end";

static void turns(void)
{
	int fd = load(counter);

	run_threads(call_many, &fd, 0);
	CHECK_EQ(lua_syscall(fd, 0), THREADS * CALLS + 1);
	close(fd);
}

static void side_by_side(void)
{
	int fds[THREADS];

	for (int i = 0; i < THREADS; i++)
		fds[i] = load(counter);
	run_threads(call_many, fds, sizeof(fds[0]));
	for (int i = 0; i < THREADS; i++) {
		CHECK_EQ(lua_syscall(fds[i], 0), CALLS + 1);
		close(fds[i]);
	}
}

static void *register_many(void *unused)
{
	(void)unused;
	for (int i = 0; i < 200; i++) {
		int fd = load(counter);

		CHECK_EQ(lua_syscall(fd, 0), 1);
		CHECK_EQ(i & 1 ? close(fd) : syscript_close(fd), 0);
	}
	return NULL;
}

static void storm(void)
{
	run_threads(register_many, NULL, 0);
}

static void *call_blocking(void *arg)
{
	return (void *)lua_syscall(*(int *)arg, 1, 200);
}

/* The script lives until the call returns. */
static void close_during_call(void)
{
	int fd = load("function run(ms) syscall.poll(0, 0, ms) return 5 end"), copy = fd;
	pthread_t thread;
	void *ret;

	CHECK(!pthread_create(&thread, NULL, call_blocking, &copy));
	usleep(50000);
	CHECK_EQ(syscript_close(fd), 0);
	syscript_close(load(counter));
	pthread_join(thread, &ret);
	CHECK_EQ((long)ret, 5);
}

static volatile sig_atomic_t signals;
static int signal_fd;
static long signal_ret;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
	if (signal_fd)
		signal_ret = lua_syscall(signal_fd, 0);
}

/* No thread of the library handles the program's signals. */
static void signals_are_ours(void)
{
	struct timespec soon = { 0, 100000000 };
	sigset_t set, old;
	int fd = load(counter);

	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	signals = 0;
	kill(getpid(), SIGUSR1);
	lua_syscall(fd, 0);
	usleep(10000);
	CHECK_EQ(signals, 0);
	CHECK_EQ(sigtimedwait(&set, NULL, &soon), SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(fd);
}

/* A handler's call of the script that it interrupts cannot wait for it. */
static void call_from_handler(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	/* Late enough to come in the call, on a busy machine, too. */
	struct itimerspec in = { .it_value = { 0, 200000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int fd = load("function run(ms) if ms then return syscall.poll(0, 0, ms) end end");
	timer_t timer;

	if (syscript_backend(fd) == SYSCRIPT_BACKEND_KERNEL) {
		close(fd);
		return;
	}
	sigaction(SIGUSR1, &action, NULL);
	signals = 0;
	signal_fd = fd;
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	CHECK(!timer_settime(timer, 0, &in, NULL));
	CHECK_EQ(lua_syscall(fd, 1, 10000), -EINTR);
	CHECK_EQ(signals, 1);
	CHECK_EQ(signal_ret, -EDEADLK);
	signal_fd = 0;
	timer_delete(timer);
	close(fd);
}

static volatile int forking;

static void *call_while_forking(void *arg)
{
	while (forking)
		CHECK(lua_syscall(*(int *)arg, 0) > 0);
	return NULL;
}

static void fork_beside_calls(void)
{
	int fd = load(counter), status;
	pthread_t thread;

	forking = 1;
	CHECK(!pthread_create(&thread, NULL, call_while_forking, &fd));
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		if (!child) {
			CHECK_EQ(lua_syscall(fd, 0), -EXDEV);
			CHECK_EQ(lua_syscall(load(counter), 0), 1);
			_exit(0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	forking = 0;
	pthread_join(thread, NULL);
	close(fd);
}

static void *register_while_forking(void *unused)
{
	(void)unused;
	while (forking) {
		int fd = load(counter);
		struct syscript_info info;

		CHECK_EQ(lua_syscall(fd, 0), 1);
		CHECK_EQ(syscript_info(fd, &info), 0);
		CHECK_EQ(syscript_close(fd), 0);
	}
	return NULL;
}

/* Whatever lock other threads hold at a fork, the child can take it. */
static void fork_beside_registrations(void)
{
	pthread_t threads[THREADS];
	int status;

	forking = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, register_while_forking, NULL));
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		if (!child) {
			struct syscript_info info = { 0 };
			int fd;

			alarm(60);
			fd = load(counter);
			CHECK_EQ(lua_syscall(fd, 0), 1);
			CHECK_EQ(syscript_info(fd, &info), 0);
			CHECK_EQ(syscript_close(fd), 0);
			_exit(0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	forking = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* The number of threads of this process, without the caller. */
static int count_others(char *last)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || atoi(entry->d_name) == gettid())
			continue;
		snprintf(last, 300, "/proc/self/task/%s/status", entry->d_name);
		n++;
	}
	closedir(dir);
	return n;
}

static bool has_line(const char *path, const char *line)
{
	char text[4096] = "\n";
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0);
	CHECK(read(fd, text + 1, sizeof(text) - 2) > 0);
	close(fd);
	return strstr(text, line);
}

/* Checks the privileges of the library's thread, if any, and that it ends with the scripts. */
static void rights(bool may_unshare)
{
	bool confined = getenv("SYSCRIPT_ENGINE") && !strcmp(getenv("SYSCRIPT_ENGINE"), "confined");
	char status[300];
	int fd = load(counter), other = load(counter);

	CHECK_EQ(lua_syscall(fd, 0), 1);
	if (syscript_backend(fd) == SYSCRIPT_BACKEND_KERNEL)
		return;
	CHECK_EQ(count_others(status), confined ? 0 : 1);
	if (!confined) {
		usleep(50000);
		/* Only CAP_SETUID and CAP_SETGID, if the process had them: see ids_change(). */
		CHECK(has_line(status, geteuid() ? "\nCapPrm:\t0000000000000000\n" :
						   "\nCapPrm:\t00000000000000c0\n"));
		CHECK(has_line(status, geteuid() ? "\nCapEff:\t0000000000000000\n" :
						   "\nCapEff:\t00000000000000c0\n"));
		CHECK(has_line(status, "\nNoNewPrivs:\t1\n"));
	}
	CHECK_EQ(syscript_close(fd), 0);
	CHECK_EQ(lua_syscall(other, 0), 1);
	CHECK_EQ(syscript_close(other), 0);
	CHECK_EQ(count_others(status), 0);
	CHECK_EQ(unshare(CLONE_NEWUSER) == 0, may_unshare);
}

/* When root's program changes its user ID, the library's threads change it, too. */
static void ids_change(void)
{
	pid_t child = geteuid() ? -1 : fork();
	int status, fd;

	if (!child) {
		fd = load(counter);
		CHECK_EQ(lua_syscall(fd, 0), 1);
		CHECK(!setresgid(1000, 1000, 1000));
		CHECK(!setresuid(1000, 1000, 1000));
		CHECK_EQ(lua_syscall(fd, 0), 2);
		_exit(0);
	}
	if (child < 0)
		return;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static int in_child(bool may_unshare, bool asks)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (asks)
			_exit(unshare(CLONE_NEWUSER) != 0);
		rights(may_unshare);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status;
}

/* A limit ends only the script that exceeds it. */
static void *spin(void *arg)
{
	(void)arg;
	struct syscript_options options = { .time_limit_ns = 30000000 };
	int fd = load_with("function run() while true do end end", &options);

	CHECK_EQ(lua_syscall(fd, 0), -ETIME);
	syscript_close(fd);
	return NULL;
}

static void limits_beside(void)
{
	int fd = load(counter);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, i & 1 ? spin : call_many, &fd));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(lua_syscall(fd, 0), THREADS / 2 * CALLS + 1);
	close(fd);
}

int main(void)
{
	turns();
	side_by_side();
	storm();
	close_during_call();
	signals_are_ours();
	call_from_handler();
	fork_beside_calls();
	fork_beside_registrations();
	limits_beside();
	ids_change();
	CHECK_EQ(in_child(!in_child(false, true), false), 0);
	return 0;
}
