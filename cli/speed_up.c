// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript speed-up: a command with libsyscript-speedup.so before its libraries. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define LIBRARY	"libsyscript-speedup.so"

/* Where it is, seen from the command: where both were built, or are installed. */
static const char *const places[] = {
	"", "../lib/syscript/", "../lib/x86_64-linux-gnu/syscript/", "../lib64/syscript/",
};

/* Its path into @path, PATH_MAX bytes.  Returns false if it is not there. */
static bool find_library(char *path)
{
	char here[PATH_MAX], tried[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", here, sizeof(here) - 1);

	if (len < 0)
		return false;
	here[len] = '\0';
	strrchr(here, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(tried, sizeof(tried), "%s%s" LIBRARY, here, places[i]);
		if (realpath(tried, path))
			return true;
	}
	return false;
}

/* Returns false without memory. */
static bool preload(const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char *list;

	if (!others || !*others)
		return !setenv("LD_PRELOAD", path, 1);
	if (asprintf(&list, "%s:%s", path, others) < 0)
		return false;
	return !setenv("LD_PRELOAD", list, 1);
}

static const char help[] =
	"Usage: syscript speed-up [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"Runs a command, and what it starts, so that the attributes of a directory's files\n"
	"are fetched many at a time.  The output is the same; where the kernel runs no\n"
	"scripts, so is the speed.  It is for commands that look at many files.\n\n"
	"      --stats FILE  append for each process how many files it asked for, and how\n"
	"                    many were answered without asking the kernel\n"
	"      --help        print this\n";

int cmd_speed_up(int argc, char **argv)
{
	static const struct option options[] = {
		{ "stats", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	char path[PATH_MAX];
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == 'h')
			return fputs(help, stdout), 0;
		if (option != 's')
			return complain_usage("speed-up", "unknown or incomplete option");
		setenv("SYSCRIPT_SPEED_UP_STATS", optarg, 1);
	}
	if (optind == argc)
		return complain_usage("speed-up", "a command is missing");
	if (!find_library(path))
		return complain(LIBRARY " is not where it belongs: install syscript again");
	if (!preload(path))
		return complain("no memory");
	execvp(argv[optind], &argv[optind]);
	complain("%s: %s", argv[optind], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
