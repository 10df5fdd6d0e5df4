// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Runs a command without marks between marks, for `make profile-icount`.
 *
 * usage: whole COMMAND...
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "mark.h"

extern char **environ;

int main(int argc, char **argv)
{
	int err, status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: whole COMMAND...\n");
		return 2;
	}
	mark_begin();
	err = posix_spawnp(&pid, argv[1], NULL, NULL, argv + 1, environ);
	if (!err && waitpid(pid, &status, 0) < 0)
		err = errno;
	mark_end();
	if (err) {
		fprintf(stderr, "whole: %s: %s\n", argv[1], strerror(err));
		return 127;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
