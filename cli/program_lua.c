// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript repl --program NAME FILE: Lua for the state of a loaded program. Each line becomes the
 * run() of a program of its own, whose source begins with FILE: so it sees FILE's constants and
 * functions, and shares the tables and rings that FILE gives a name. It is loaded, called once and
 * unloaded, with the rights and the budget of any program for processes.
 */
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

/**
 * struct prompt - what lines are compiled with
 * @name:   of the program that a line becomes
 * @source: of FILE, in error texts
 * @file:   its text
 */
struct prompt {
	char name[SYSCRIPT_NAME_LEN], source[SYSCRIPT_NAME_LEN];
	char *file;
};

/* Returns 0 if the program is loaded, and the caller may load programs there, or -errno. */
static int find_program(const char *name)
{
	struct syscript_program program = { 0 };
	int err;

	while (!(err = syscript_next_program(&program)))
		if (!strcmp(program.name, name))
			return 0;
	return err;
}

/* Loads the line as the body of run(), after @before. Returns 0 or -errno, with a text. */
static int load_line(const struct prompt *prompt, const char *before, const char *line,
		     char *error)
{
	struct syscript_load_options load = {
		.size = sizeof(load), .subsystem = "process", .flags = SYSCRIPT_LOAD_NEW,
		.source = prompt->source,
	};
	char *text;
	int len = asprintf(&text, "%s\nfunction run() do %s%s\nend return 0 end\n", prompt->file,
			   before, line), err;

	if (len < 0)
		return -ENOMEM;
	err = syscript_load(prompt->name, text, len, &load, error, ERROR_LEN);
	free(text);
	return err;
}

/* A line is an expression, or else statements. */
static int load_either(const struct prompt *prompt, const char *line, char *error)
{
	char other[ERROR_LEN];
	int err = load_line(prompt, "return ", line, error);

	if (err != -ENOEXEC)
		return err;
	err = load_line(prompt, "", line, other);
	/* The text of what is at least Lua. */
	if (!err || strstr(error, " near "))
		memcpy(error, other, ERROR_LEN);
	return err;
}

static int evaluate(const struct prompt *prompt, const char *line)
{
	char error[ERROR_LEN] = "";
	int64_t result;
	int err = load_either(prompt, line, error);

	if (!err) {
		err = syscript_invoke(prompt->name, 0, NULL, NULL, 0, &result, error,
				      sizeof(error));
		syscript_unload(prompt->name);
	}
	if (!err) {
		print_results(1, &result);
		return 0;
	}
	complain("%s", error[0] ? error : program_why(-err));
	return err == -EPROTO || err == -ENOEXEC ? EXIT_SCRIPT : EXIT_USAGE;
}

static int read_lines(const struct prompt *prompt)
{
	char *line = NULL;
	size_t size = 0;
	int status = 0;

	while (prompt_line(&line, &size))
		if (line[strspn(line, " \t\n")])
			status = evaluate(prompt, line);
	free(line);
	return status;
}

int program_lua_prompt(const char *name, const char *path)
{
	struct prompt prompt;
	size_t len;
	int status = find_program(name);

	if (status)
		return complain("cannot look at program %s: %s", name,
				status == -ENOENT ?
				"there is none that you may load in this network namespace" :
				program_why(-status));
	prompt.file = read_file(path, &len);
	if (!prompt.file)
		return EXIT_USAGE;
	script_name(path, prompt.source, sizeof(prompt.source));
	snprintf(prompt.name, sizeof(prompt.name), "prompt-%d", getpid());
	status = read_lines(&prompt);
	free(prompt.file);
	return status;
}
