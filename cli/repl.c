// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript repl: lines of Lua, one after the other, in one script: repl.lua.  Globals that a line
 * assigns are visible to the next line.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "options.h"
#include "program.h"

static const char source[] =
#include "repl.inc"
;

struct repl {
	struct job job;
	int fd;
	bool prompts;
	char *text;		/* lines that wait for the rest of a statement */
	size_t len;
};

static bool read_line(struct repl *repl)
{
	char *line = NULL, *text;
	size_t size = 0;
	ssize_t got;

	if (repl->prompts) {
		fputs(repl->len ? ">> " : "> ", stdout);
		fflush(stdout);
	}
	got = getline(&line, &size, stdin);
	text = got < 0 ? NULL : realloc(repl->text, repl->len + got);
	if (text) {
		memcpy(text + repl->len, line, got);
		repl->text = text;
		repl->len += got;
	}
	free(line);
	return text;
}

static int start(struct repl *repl)
{
	repl->fd = job_register(&repl->job, source, sizeof(source) - 1);
	return repl->fd < 0 ? repl->fd : 0;
}

/* Returns 0, or -errno if the prompt must end. */
static int restart(struct repl *repl)
{
	syscript_close(repl->fd);
	complain("the script was terminated, and its variables are lost; this is a new one");
	return start(repl);
}

static int evaluate(struct repl *repl)
{
	int64_t args[2] = { (intptr_t)repl->text, repl->len }, more = 0;
	int ret = syscript_call(repl->fd, 2, args, 1, &more);
	struct syscript_info info;

	job_print_output(repl->fd);
	if (ret < 0)
		job_print_error(&repl->job, repl->fd, ret);
	if (ret < 0 || !more)
		repl->len = 0;
	fflush(stdout);
	if (syscript_info(repl->fd, &info) == 0 && info.state == SYSCRIPT_STATE_DEAD)
		return restart(repl);
	return 0;
}

int cmd_repl(int argc, char **argv)
{
	struct repl repl = { .fd = -1 };
	int ret, status, first;

	status = job_parse(&repl.job, argc, argv);
	if (status)
		return status < 0 ? 0 : status;
	first = optind + !!repl.job.program;
	if (first < argc)
		return complain_usage("repl", "unexpected argument '%s'", argv[first]);
	if (repl.job.program)
		return optind < argc ? program_lua_prompt(repl.job.program, argv[optind]) :
				       program_prompt(repl.job.program);
	job_take_file(&repl.job, "repl");
	repl.prompts = isatty(STDIN_FILENO);
	if (repl.prompts)
		printf("syscript %s: Lua, line by line. Globals are kept, locals are not; help helps, Ctrl-D ends.\n",
		       syscript_version());
	ret = start(&repl);
	while (!ret && read_line(&repl))
		ret = evaluate(&repl);
	if (repl.prompts)
		putchar('\n');
	free(repl.text);
	if (repl.fd >= 0)
		syscript_close(repl.fd);
	return ret ? job_status(ret) : 0;
}
