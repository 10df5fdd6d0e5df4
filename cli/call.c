// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript call, and repl --program: programs that processes call by their names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syscript_programs.h>
#include <unistd.h>

#include "cli.h"
#include "options.h"
#include "program.h"
#include "values.h"

#define ERROR_LEN	2048
#define TEXT		"text:"
/* Words of a line: numbers, and a text. */
#define WORDS_MAX	(SYSCRIPT_INVOKE_ARGS_MAX + 1)

static const char help[] =
	"Usage: syscript call NAME [NUMBER...] [text:TEXT]\n"
	"Calls the program NAME, loaded with 'syscript load --for process', and prints its\n"
	"results.\n\n"
	"      --help              print this\n";

static const char *why(int err)
{
	return err == ENOENT ? "no such program in this network namespace" : program_why(err);
}

/*
 * Parses numbers into @values; the last argument may be @text.  Returns their number, or -1 after
 * an error message.
 */
static int parse_arguments(int nargs, char **args, int64_t *values, const char **text)
{
	*text = NULL;
	if (nargs && !strncmp(args[nargs - 1], TEXT, strlen(TEXT)))
		*text = args[--nargs] + strlen(TEXT);
	if (*text && strlen(*text) > SYSCRIPT_INVOKE_DATA_MAX) {
		complain("a text of %zu bytes: %d is the most", strlen(*text),
			 SYSCRIPT_INVOKE_DATA_MAX);
		return -1;
	}
	if (nargs > SYSCRIPT_INVOKE_ARGS_MAX) {
		complain("%d arguments: %d is the most", nargs, SYSCRIPT_INVOKE_ARGS_MAX);
		return -1;
	}
	for (int i = 0; i < nargs; i++) {
		if (parse_integer(args[i], &values[i]))
			continue;
		complain("argument '%s' is not an integer", args[i]);
		return -1;
	}
	return nargs;
}

static int invoke(const char *name, int nargs, char **args)
{
	int64_t values[SYSCRIPT_INVOKE_ARGS_MAX], result;
	char error[ERROR_LEN];
	const char *text;
	int n = parse_arguments(nargs, args, values, &text), err;

	if (n < 0)
		return EXIT_USAGE;
	err = syscript_invoke(name, n, values, text, text ? strlen(text) : 0, &result, error,
			      sizeof(error));
	if (err) {
		complain("cannot call %s: %s", name, error[0] ? error : why(-err));
		return err == -EPROTO || err == -ENOTRECOVERABLE ? EXIT_SCRIPT : EXIT_USAGE;
	}
	print_results(1, &result);
	return 0;
}

int cmd_call(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 2 || argv[1][0] == '-')
		return complain_usage("call", "NAME expected");
	return invoke(argv[1], argc - 2, argv + 2);
}

/* Returns how many words @line has; at most @max are put into @words. */
static int split(char *line, char **words, int max)
{
	int n = 0;

	for (char *word = strtok(line, " \t\n"); word; word = strtok(NULL, " \t\n"), n++)
		if (n < max)
			words[n] = word;
	return n;
}

bool prompt_line(char **line, size_t *size)
{
	bool prompts = isatty(STDIN_FILENO), more;

	if (prompts)
		fputs("> ", stdout);
	fflush(stdout);
	more = getline(line, size, stdin) >= 0;
	if (prompts && !more)
		putchar('\n');
	return more;
}

int program_prompt(const char *name)
{
	char *words[WORDS_MAX], *line = NULL;
	size_t size = 0;
	int status = 0;

	if (isatty(STDIN_FILENO))
		printf("syscript %s: numbers for program %s, one call per line; Ctrl-D ends.\n",
		       syscript_version(), name);
	while (prompt_line(&line, &size))
		status = invoke(name, split(line, words, WORDS_MAX), words);
	free(line);
	return status;
}
