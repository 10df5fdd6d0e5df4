// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Measures instructions and processor time of a command.
 *
 * The processor's counters count instructions, if they exist and the kernel lets this user read
 * them for kernel mode (perf_event_paranoid). In a guest whose clock counts instructions, processor
 * time is their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meter.h"

/* The shell's statuses for a program that does not exist or cannot be executed. */
#define EXIT_NOT_FOUND	127
#define EXIT_NO_EXEC	126

/* Becomes the user, with the user's groups, which may include the module's. */
static void become(const struct command *command)
{
	struct passwd *user;
	int err;

	if (geteuid() || !command->uid)
		return;
	user = getpwuid(command->uid);
	err = user ? initgroups(user->pw_name, command->gid) : setgroups(0, NULL);
	if (err || setgid(command->gid) || setuid(command->uid))
		_exit(EXIT_NO_EXEC);
}

static void run_child(const struct command *command, int gate)
{
	char go;

	/* If no byte comes, the parent has died or given up. */
	if (read(gate, &go, 1) != 1)
		_exit(EXIT_NO_EXEC);
	close(gate);
	dup2(command->output, STDOUT_FILENO);
	if (command->backend)
		setenv("SYSCRIPT_BACKEND", command->backend, 1);
	become(command);
	execvp(command->argv[0], command->argv);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC);
}

pid_t command_start(const struct command *command, int *gate)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		run_child(command, ends[0]);
	}
	close(ends[0]);
	*gate = ends[1];
	if (pid < 0) {
		pid = -errno;
		close(ends[1]);
	}
	return pid;
}

void command_go(int gate)
{
	ssize_t n = write(gate, "", 1);

	(void)n;	/* a child that has gone is seen by who waits for it */
	close(gate);
}

/*
 * Counts from exec on, in all processes and threads that descend from @pid. -1 if there is no
 * counter.
 */
static int open_counter(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static double read_counter(int fd)
{
	uint64_t count;
	double seen = UNKNOWN;

	if (fd >= 0 && read(fd, &count, sizeof(count)) == sizeof(count) && count)
		seen = (double)count;
	if (fd >= 0)
		close(fd);
	return seen;
}

static double ns(const struct timeval *time)
{
	return (double)time->tv_sec * 1e9 + (double)time->tv_usec * 1e3;
}

int meter(const struct command *command, bool icount, struct cost *cost)
{
	struct rusage usage;
	int gate, counter, status;
	pid_t pid = command_start(command, &gate);

	if (pid < 0)
		return pid;
	counter = icount ? -1 : open_counter(pid);
	command_go(gate);
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return -errno;
	cost->cpu = ns(&usage.ru_utime) + ns(&usage.ru_stime);
	cost->instructions = read_counter(counter);
	if (icount)
		cost->instructions = cost->cpu;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
