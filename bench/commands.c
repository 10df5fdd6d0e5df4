// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ordinary programs on 20,000 files, as they are and with what `syscript speed-up`
 * loads before them.  Prints JSON.
 *
 * With the name of one it is that one alone; with "" for the library it is not sped
 * up.  The second of each pair is between marks for `make profile-icount`.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
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
	/* Where there is little to gain. */
	{ "tar, contents", "tar cf - full | cat" },
	{ "grep -r", "! grep -r nothing full" },
	{ "ls", "exec ls -R tree" },
	{ "true", "exec /bin/true" },
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

static void make_files(const char *top, int dirs, size_t size)
{
	static const char text[1024] = "text\n";
	char name[64];

	mkdir(top, 0755);
	for (int d = 0; d < dirs; d++) {
		snprintf(name, sizeof(name), "%s/directory-%d", top, d);
		mkdir(name, 0755);
		for (int f = 0; f < FILES; f++) {
			int fd;

			snprintf(name, sizeof(name), "%s/directory-%d/file-%d.txt", top, d, f);
			fd = open(name, O_WRONLY | O_CREAT, 0644);
			if (fd < 0 || write(fd, text, size) != (ssize_t)size || close(fd))
				measure_die("%s: %m", name);
		}
	}
}

static void make_trees(void)
{
	make_files("tree", DIRS, 0);
	make_files("full", DIRS / 10, 1024);
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

static void measure_command(const struct command *command, int rounds, const char *library)
{
	measure(command, NULL);
	measure(command, library);
	for (int round = 0; round < rounds; round++) {
		uint64_t plain = measure(command, NULL), with;

		mark_begin();
		with = measure(command, library);
		mark_end();
		printf("%s[%llu, %llu]", round ? ", " : "", (unsigned long long)plain,
		       (unsigned long long)with);
	}
}

/* All, or the one called @name. */
static void measure_all(int rounds, const char *library, const char *name)
{
	const char *separator = "";

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (name && strcmp(name, commands[i].name))
			continue;
		printf("%s\"%s\": [", separator, commands[i].name);
		measure_command(&commands[i], rounds, library);
		printf("]");
		fflush(stdout);
		separator = ", ";
	}
}

/* From a file system as others: what a guest has of its host's costs more to load. */
static char *copy_here(const char *library)
{
	char line[PATH_MAX + 32];

	snprintf(line, sizeof(line), "cp '%s' library.so", library);
	run_shell(line, NULL);
	return realpath("library.so", NULL);
}

int main(int argc, char **argv)
{
	char *library = argc > 2 && *argv[2] ? realpath(argv[2], NULL) : NULL;
	int rounds = argc > 2 ? atoi(argv[1]) : 0;

	if (rounds < 1) {
		fprintf(stderr, "usage: commands ROUNDS LIBRARY [NAME]\n");
		return 2;
	}
	if (*argv[2] && !library)
		measure_die("%s: %m", argv[2]);
	if (chdir(measure_directory()))
		measure_die("no directory: %m");
	make_trees();
	if (library)
		library = copy_here(library);
	printf("{\"kernel\": \"%s\", \"accel\": \"%s\", \"commands\": {", measure_kernel(),
	       measure_accel());
	measure_all(rounds, library, argv[3]);
	printf("}}\n");
	return 0;
}
