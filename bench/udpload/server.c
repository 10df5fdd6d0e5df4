// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See server.h. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "server.h"

/* Counts each system call, including those of scripts. */
#define ENTRY_ID	"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"

static uint64_t read_number(int fd, const char *what)
{
	char text[128];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		measure_die("cannot read %s: %m", what);
	text[len] = '\0';
	return strtoull(text, NULL, 10);
}

static int count_entries(pid_t thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
	};
	int fd = open(ENTRY_ID, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		measure_die("cannot count system calls: %s: %m (tracefs, as root?)", ENTRY_ID);
	attr.config = read_number(fd, ENTRY_ID);
	close(fd);
	fd = syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		measure_die("cannot count the system calls of thread %d: %m", thread);
	return fd;
}

void server_open(struct server *server, pid_t thread, bool calls)
{
	char path[64];

	*server = (struct server){ .entries = -1 };
	/* A thread's own directory exists, though it is not listed. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", thread, thread);
	server->schedstat = open(path, O_RDONLY | O_CLOEXEC);
	if (server->schedstat < 0)
		measure_die("cannot watch the server's thread: %s: %m", path);
	if (calls)
		server->entries = count_entries(thread);
	server_skip(server);
}

void server_skip(struct server *server)
{
	server->last_cpu_ns = read_number(server->schedstat, "the server's schedstat");
	if (server->entries >= 0 &&
	    read(server->entries, &server->last_calls, sizeof(server->last_calls)) !=
		    sizeof(server->last_calls))
		measure_die("cannot read the count of system calls: %m");
}

void server_count(struct server *server)
{
	struct server before = *server;

	server_skip(server);
	server->cpu_ns += server->last_cpu_ns - before.last_cpu_ns;
	server->system_calls += server->last_calls - before.last_calls;
}

void server_close(struct server *server)
{
	close(server->schedstat);
	if (server->entries >= 0)
		close(server->entries);
}
