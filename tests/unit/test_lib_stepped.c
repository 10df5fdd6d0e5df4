// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A signal at every instruction of a call, whose handler calls another script and the interrupted
 * one. This process single-steps a child; each step begins with the signal, which stays pending
 * where the library blocks it.
 *
 * And signals during registrations, whose handler registers a script.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "lib_test.h"

#define SOON	100		/* s */
#define STEPS_MIN	300
#define TRAP_FLAG	0x100ULL

static int mine, other;
static volatile int handled, nested, refused, wrong;

static void handler(int number)
{
	int64_t n = number, result = 0;

	handled++;
	if (syscript_call(other, 1, &n, 1, &result) != 1 || result != n + 2)
		wrong++;
	result = 0;
	switch (syscript_call(mine, 1, &n, 1, &result)) {
	case 1:
		nested++;
		wrong += result != n + 1;
		break;
	case -EDEADLK:
		refused++;
		break;
	default:
		wrong++;
	}
}

static void child(void)
{
	struct syscript_options options = { .time_limit_ns = 10000000000 };
	int64_t n = 40, result = 0;
	int ret;

	mine = load_with("function run(n) return n + 1 end", &options);
	other = load_with("function run(n) return n + 2 end", &options);
	signal(SIGUSR1, handler);
	CHECK_EQ(syscript_call(mine, 1, &n, 1, &result), 1);
	CHECK_EQ(syscript_call(other, 1, &n, 1, &result), 1);
	raise(SIGSTOP);
	ret = syscript_call(mine, 1, &n, 1, &result);
	raise(SIGSTOP);
	CHECK_EQ(ret, 1);
	CHECK_EQ(result, 41);
	CHECK_EQ(wrong, 0);
	CHECK(handled >= STEPS_MIN);
	CHECK(refused > 0 && nested > 0);
	_exit(0);
}

static pid_t pid;

static void hangs(int number)
{
	static const char text[] = "what a handler has interrupted hangs\n";

	(void)number;
	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(2);
	kill(pid, SIGKILL);
	_exit(1);
}

static int resume(int number)
{
	int status;

	CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, number), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status));
	return WSTOPSIG(status);
}

/*
 * Steps with a signal each, until the child stops itself. The kernel clears the trap flag for a
 * handler and sets it when the handler returns; the next instruction traps.
 */
static int step_through(void)
{
	struct user_regs_struct regs;
	int steps = 0;

	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	regs.eflags |= TRAP_FLAG;
	CHECK_EQ(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
	while (resume(SIGUSR1) == SIGTRAP)
		steps++;
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	regs.eflags &= ~TRAP_FLAG;
	CHECK_EQ(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
	return steps;
}

/* -- Registering ------------------------------------------------------------- */

#define REGISTERED_MIN	20
#define PERIOD		211	/* us */

static int registered;

static void register_in_handler(int number)
{
	static const char source[] = "function run() return 1 end";
	char error[200] = "";
	int fd = syscript_register(source, strlen(source), NULL, error, sizeof(error));

	(void)number;
	if (fd == -EDEADLK) {
		refused++;
		wrong += !strstr(error, "a signal handler has interrupted");
	} else if (fd < 0) {
		wrong++;
	} else {
		registered++;
		syscript_close(fd);
	}
}

/* The signal may also interrupt the allocator, which would wait for itself in the handler. */
static void register_meanwhile(void)
{
	const struct itimerval timer = { { 0, PERIOD }, { 0, PERIOD } };
	sigset_t alarms;

	signal(SIGALRM, register_in_handler);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	CHECK(!setitimer(ITIMER_REAL, &timer, NULL));
	for (int i = 0; i < 4 * REGISTERED_MIN; i++)
		syscript_close(load("function run() return 2 end"));
	CHECK(!sigprocmask(SIG_BLOCK, &alarms, NULL));
	CHECK(refused >= REGISTERED_MIN);
	/* A registration that was not interrupted is as good as any. */
	register_in_handler(0);
	CHECK(registered > 0);
	CHECK_EQ(wrong, 0);
	_exit(0);
}

static void check_registering(void)
{
	int status;

	pid = fork();
	if (!pid)
		register_meanwhile();
	signal(SIGALRM, hangs);
	alarm(SOON);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	alarm(0);
	CHECK_EQ(status, 0);
}

int main(void)
{
	const char *backend = getenv("SYSCRIPT_BACKEND");
	int status;

	/* Stepping needs a tracer, and a traced thread's scripts run in the process. */
	if (backend && !strcmp(backend, "kernel"))
		skip("scripts of a traced thread run in the process");
	check_registering();
	pid = fork();
	if (!pid) {
		CHECK_EQ(ptrace(PTRACE_TRACEME), 0);
		child();
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	signal(SIGALRM, hangs);
	alarm(SOON);
	CHECK(step_through() >= STEPS_MIN);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, 0), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}
