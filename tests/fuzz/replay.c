// SPDX-License-Identifier: GPL-2.0
/*
 * Runs one script repeatedly in this process: thousands of runs a minute, because starting a
 * process with sanitizers is slow.
 *
 * usage: replay SETTING... <SOURCE
 *
 * A SETTING is "" or some of  i  interpreted,  fN  the Nth allocation fails,  jTEXT
 * SYSCRIPT_JIT (to the setting's end; see vm.c).  For each one line is printed, -errno
 * or 0 and the lengths of two texts, and then the texts: what the script printed, and
 * its error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscript.h>

#define SOURCE_MAX	(4 << 20)
#define OUTPUT_MAX	(128 << 10)
#define TIME_LIMIT	200000000ULL
#define MEMORY_LIMIT	(4ULL << 20)

static char source[SOURCE_MAX], output[OUTPUT_MAX];

static struct syscript_options options_of(const char *setting)
{
	struct syscript_options options = {
		.size = sizeof(options), .backend = SYSCRIPT_BACKEND_USER,
		.time_limit_ns = TIME_LIMIT, .memory_limit = MEMORY_LIMIT,
	};

	unsetenv("SYSCRIPT_FAIL");
	unsetenv("SYSCRIPT_JIT");
	for (; *setting; setting++) {
		if (*setting == 'i')
			options.flags |= SYSCRIPT_NOJIT;
		else if (*setting == 'f')
			setenv("SYSCRIPT_FAIL", setting + 1, 1);
		else if (*setting == 'j') {
			setenv("SYSCRIPT_JIT", setting + 1, 1);
			break;
		}
	}
	return options;
}

static void replay(size_t len, const char *setting)
{
	const struct syscript_options options = options_of(setting);
	char error[2048] = "";
	int fd, ret, out = 0;

	fd = syscript_register(source, len, &options, error, sizeof(error));
	ret = fd;
	if (fd >= 0) {
		ret = syscript_call(fd, 0, NULL, 0, NULL);
		if (ret < 0)
			syscript_error(fd, error, sizeof(error));
		out = syscript_output(fd, output, sizeof(output));
		syscript_close(fd);
	}
	printf("%d %d %zu\n", ret < 0 ? ret : 0, out, strlen(error));
	fwrite(output, 1, out, stdout);
	fputs(error, stdout);
	/* The next run may end this process. */
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t len = fread(source, 1, sizeof(source), stdin);
	int i;

	for (i = 1; i < argc; i++)
		replay(len, argv[i]);
	return 0;
}
