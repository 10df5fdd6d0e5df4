// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counts the mode switches of a command: system calls of it and its child processes, by the
 * kernel's trace events. A script's system calls cause events, too, between the events of the
 * script's call and of its end, on the same thread; these are not counted.
 *
 * The events go to a private trace buffer (tracefs, instances/), so that the administrator's own
 * trace is not disturbed, and are read as text while the command runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meter.h"

#define TRACEFS		"/sys/kernel/tracing"
#define PIDS		(1 << 22)	/* PID_MAX_LIMIT: threads have no higher numbers */
#define NAME_WIDTH	16
#define BUFFER_KIB	"4096"		/* for each CPU */

struct trace {
	char directory[64];
	int pipe;
	uint8_t *inside;	/* a bit for each thread: is it in a script? */
	double switches, calls;
	bool lost;
	char text[1 << 16];
	size_t len;
};

/* Writes to a file of the trace instance.  Returns 0 or -errno. */
static int set(const struct trace *trace, const char *file, const char *value)
{
	char path[160];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", trace->directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	close(fd);
	return n < 0 ? -errno : 0;
}

static int open_pipe(struct trace *trace)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/trace_pipe", trace->directory);
	trace->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return trace->pipe < 0 ? -errno : 0;
}

/* Traces @pid and its descendants.  Returns 0 or -errno. */
static int set_up(struct trace *trace, pid_t pid)
{
	char number[16];
	int err;

	snprintf(number, sizeof(number), "%d", pid);
	err = set(trace, "options/event-fork", "1") ?: set(trace, "set_event_pid", number) ?:
	      set(trace, "buffer_size_kb", BUFFER_KIB) ?: open_pipe(trace) ?:
	      set(trace, "events/raw_syscalls/sys_enter/enable", "1");
	/* Without the module there are no scripts in the kernel whose calls must be excluded. */
	if (!err && !set(trace, "events/syscript/call/enable", "1"))
		err = set(trace, "events/syscript/done/enable", "1");
	return err;
}

static struct trace *trace_begin(pid_t pid, int *err)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	if (trace)
		trace->inside = calloc(1, PIDS / 8);
	if (!trace || !trace->inside) {
		free(trace);
		*err = -ENOMEM;
		return NULL;
	}
	trace->pipe = -1;
	if (access(TRACEFS "/instances", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	snprintf(trace->directory, sizeof(trace->directory), TRACEFS "/instances/syscript-%d", pid);
	*err = mkdir(trace->directory, 0700) ? -EACCES : set_up(trace, pid);
	return trace;
}

static void trace_end(struct trace *trace)
{
	if (trace->pipe >= 0)
		close(trace->pipe);
	rmdir(trace->directory);
	free(trace->inside);
	free(trace);
}

/*
 * A line is "COMM-PID [CPU] FLAGS TIME: EVENT: ...", with 16 characters for the command's name,
 * which may contain any characters. Returns the event, and the thread in @pid; NULL for other
 * lines.
 */
static const char *parse(const char *line, unsigned int *pid)
{
	const char *event;

	if (strnlen(line, NAME_WIDTH + 1) <= NAME_WIDTH || line[NAME_WIDTH] != '-')
		return NULL;
	*pid = (unsigned int)strtoul(line + NAME_WIDTH + 1, NULL, 10);
	event = strstr(line + NAME_WIDTH, ": ");
	return event && *pid < PIDS ? event + 2 : NULL;
}

/* Counts from the exec on. */
static void count_switch(struct trace *trace, const char *event)
{
	char exec[32];

	snprintf(exec, sizeof(exec), "sys_enter: NR %d ", SYS_execve);
	if (trace->switches > 0 || !strncmp(event, exec, strlen(exec)))
		trace->switches++;
}

static void count_line(struct trace *trace, const char *line)
{
	const char *event;
	unsigned int pid;
	uint8_t bit;

	if (strstr(line, "[LOST ")) {
		trace->lost = true;
		return;
	}
	event = parse(line, &pid);
	if (!event)
		return;
	bit = (uint8_t)(1u << pid % 8);
	if (!strncmp(event, "call:", 5)) {
		trace->inside[pid / 8] |= bit;
		trace->calls++;
	} else if (!strncmp(event, "done:", 5)) {
		trace->inside[pid / 8] &= (uint8_t)~bit;
	} else if (!strncmp(event, "sys_enter:", 10) && !(trace->inside[pid / 8] & bit)) {
		count_switch(trace, event);
	}
}

/* Counts the events that can be read now. */
static void drain(struct trace *trace)
{
	char *line, *end;
	ssize_t n;

	for (;;) {
		n = read(trace->pipe, trace->text + trace->len,
			 sizeof(trace->text) - 1 - trace->len);
		if (n <= 0)
			return;
		trace->len += (size_t)n;
		trace->text[trace->len] = '\0';
		for (line = trace->text; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			count_line(trace, line);
		}
		trace->len -= (size_t)(line - trace->text);
		memmove(trace->text, line, trace->len);
	}
}

static int follow(struct trace *trace, pid_t pid)
{
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		drain(trace);
		usleep(1000);
	}
	drain(trace);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int count_switches(const struct command *command, struct cost *cost)
{
	int gate, err, status;
	pid_t pid = command_start(command, &gate);
	struct trace *trace;

	cost->switches = UNKNOWN;
	cost->calls = UNKNOWN;
	if (pid < 0)
		return pid;
	trace = trace_begin(pid, &err);
	if (err) {
		close(gate);
		waitpid(pid, &status, 0);
	} else {
		command_go(gate);
		err = follow(trace, pid);
		if (trace->lost)
			err = -ENOBUFS;
		cost->switches = err < 0 ? UNKNOWN : trace->switches;
		cost->calls = err < 0 ? UNKNOWN : trace->calls;
	}
	if (trace)
		trace_end(trace);
	return err;
}
