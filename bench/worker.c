// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See worker.h. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "worker.h"

#define MEMCACHED	"build/memcached/memcached"
#define NAME		"mc-worker\n"

void worker_start(struct worker *worker, const char *mode, const char *device,
		  unsigned int batch, uint16_t port)
{
	char options[128], number[8];

	worker->memcached = fork();
	if (worker->memcached)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(number, sizeof(number), "%u", port);
	snprintf(options, sizeof(options), "udp_batch=%s,udp_batch_size=%u,udp_batch_device=%s",
		 mode, batch, device);
	execl(MEMCACHED, MEMCACHED, "-u", "root", "-l", "0.0.0.0", "-p", "0", "-U", number,
	      "-t", "1", "-m", "64", "-o", options, NULL);
	_exit(127);
}

void worker_stop(const struct worker *worker)
{
	if (worker->memcached <= 0)
		return;
	kill(worker->memcached, SIGKILL);
	waitpid(worker->memcached, NULL, 0);
}

static int read_file(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = file < 0 ? -1 : read(file, text, size - 1);

	if (file >= 0)
		close(file);
	text[len < 0 ? 0 : len] = '\0';
	return len < 0 ? -1 : 0;
}

void worker_watch(struct worker *worker)
{
	char tasks[32], path[300], name[32];
	struct dirent *entry;
	int file = -1;
	DIR *dir;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", worker->memcached);
	dir = opendir(tasks);
	while (dir && file < 0 && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/comm", tasks, entry->d_name);
		if (read_file(path, name, sizeof(name)) || strcmp(name, NAME))
			continue;
		snprintf(path, sizeof(path), "%s/%s/schedstat", tasks, entry->d_name);
		file = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (file < 0)
		measure_die("memcached has no worker: %m");
	closedir(dir);
	worker->schedstat = file;
}

uint64_t worker_time(const struct worker *worker)
{
	char text[128];
	ssize_t len = pread(worker->schedstat, text, sizeof(text) - 1, 0);

	if (len <= 0)
		measure_die("memcached: its worker's time: %m");
	text[len] = '\0';
	return strtoull(text, NULL, 10);
}
