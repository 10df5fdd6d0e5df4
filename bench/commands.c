// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ordinary programs on 20,000 files, as they are and with what `syscript speed-up`
 * loads before them.  Prints JSON.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define DIRS	200
#define FILES	100

static const struct command {
	const char *name, *line;
} commands[] = {
	{ "ls -lR", "exec ls -lR tree" },
	{ "du", "exec du -s tree" },
	{ "find -size", "exec find tree -size +1" },
	{ "tar | cat", "tar cf - tree | cat" },
	{ "git status", "exec git -C tree status --short" },
};

static void run_shell(const char *line, const char *library)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		if (library)
			setenv("LD_PRELOAD", library, 1);
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		measure_die("this failed: %s", line);
}

static void make_tree(void)
{
	char name[64];

	mkdir("tree", 0755);
	for (int d = 0; d < DIRS; d++) {
		snprintf(name, sizeof(name), "tree/directory-%d", d);
		mkdir(name, 0755);
		for (int f = 0; f < FILES; f++) {
			snprintf(name, sizeof(name), "tree/directory-%d/file-%d.txt", d, f);
			close(open(name, O_WRONLY | O_CREAT, 0644));
		}
	}
	/* Not so fast that git would look at contents for what clocks do not tell. */
	run_shell("cd tree && git init -q && git add . && sleep 2 && git status --short", NULL);
}

/* What all processes so far have had of a CPU, in ns: the wait for files does not count. */
static uint64_t cpu_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ULL +
		(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ULL;
}

static uint64_t measure(const struct command *command, const char *library)
{
	uint64_t begin = cpu_time();

	run_shell(command->line, library);
	return cpu_time() - begin;
}

static void measure_all(int rounds, const char *library)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		printf("%s\"%s\": [", i ? ", " : "", commands[i].name);
		measure(&commands[i], NULL);
		measure(&commands[i], library);
		for (int round = 0; round < rounds; round++) {
			uint64_t plain = measure(&commands[i], NULL);
			uint64_t with = measure(&commands[i], library);

			printf("%s[%llu, %llu]", round ? ", " : "", (unsigned long long)plain,
			       (unsigned long long)with);
		}
		printf("]");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	char *library = argc > 2 ? realpath(argv[2], NULL) : NULL;
	int rounds = argc > 2 ? atoi(argv[1]) : 0;

	if (rounds < 1) {
		fprintf(stderr, "usage: commands ROUNDS LIBRARY\n");
		return 2;
	}
	if (!library)
		measure_die("%s: %m", argv[2]);
	if (chdir(measure_directory()))
		measure_die("no directory: %m");
	make_tree();
	printf("{\"kernel\": \"%s\", \"accel\": \"%s\", \"commands\": {", measure_kernel(),
	       measure_accel());
	measure_all(rounds, library);
	printf("}}\n");
	return 0;
}
