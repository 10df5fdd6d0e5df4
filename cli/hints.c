// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Adds hints to the engine's error messages. The engine does not know the command's options, and
 * code that guesses should not be in the kernel.
 */
#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "hints.h"

/* System calls with their table's name: "syscall.open". */
static const char *const calls[] = {
#define SYSCALL(name, kinds, flags)	"syscall." #name,
#include "syscalls.def"
	NULL
};

static const char *const constants[] = {
#define CONSTANT(name, value)	"const." #name,
#define ERRNO(name, value)	"errno." #name,
#include "constants.inc"
	NULL
};

/* Functions that scripts define, and members of Lua's libraries. */
static const char *const members[] = {
#define MEMBER(name)	name,
#include "members.inc"
	"math.abs", "math.ceil", "math.floor", "math.fmod", "math.huge", "math.max",
	"math.min", "math.modf", "math.pi", "math.random", "math.sqrt",
	"string.byte", "string.char", "string.find", "string.format", "string.gmatch",
	"string.gsub", "string.len", "string.lower", "string.match", "string.rep",
	"string.reverse", "string.sub", "string.upper",
	"table.concat", "table.insert", "table.maxn", "table.remove", "table.sort",
	NULL
};

/* Globals, written like members. */
static const char *const globals[] = {
	".assert", ".bit", ".const", ".coroutine", ".errno", ".error", ".fs",
	".getmetatable", ".ipairs", ".math", ".net", ".next", ".pairs", ".pcall",
	".print", ".rawget", ".rawset", ".select", ".setmetatable", ".string", ".syscall",
	".table", ".tonumber", ".tostring", ".type", ".unpack", ".util", ".xpcall",
	NULL
};

/* Functions of libc that wrap system calls of another name. */
static const char *const libc[][2] = {
	{ "fstatat", "syscall.newfstatat" }, { "pread", "syscall.pread64" },
	{ "pwrite", "syscall.pwrite64" }, { "recv", "syscall.recvfrom" },
	{ "send", "syscall.sendto" }, { "waitpid", "syscall.wait4" },
};

static const struct unknown {
	const char *text;	/* a text that the name in quotes follows */
	const char *const *names;
} unknown[] = {
	{ "no system call '", calls },
	{ "no constant '", constants },
	{ "call field '", members },
	{ "has no member '", members },
	{ "call global '", globals },
	{ "index global '", globals },
	{ "global '", globals },
};

#define ABSENT(name)	{ "global '" name "' ", "scripts have none, see syscript(7)" }

static const struct hint {
	const char *text, *hint;
} hints[] = {
	{ "over the time limit", "raise it with --time-limit" },
	{ "over the wall-clock limit", "raise it with --wall-limit" },
	{ "over the memory limit", "raise it with --memory-limit" },
	{ "no function named run", "define it, as a global: function run(...)" },
	ABSENT("io"), ABSENT("os"), ABSENT("package"), ABSENT("debug"), ABSENT("jit"),
	ABSENT("ffi"), ABSENT("dofile"), ABSENT("loadfile"),
	{ "global 'require' ", "name the folder of the modules: --modules FOLDER" },
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

int slips(const char *a, size_t m, const char *b)
{
	size_t n = strlen(b);

	while (m && *a == *b)
		a++, b++, m--, n--;
	while (m && n && a[m - 1] == b[n - 1])
		m--, n--;
	if (m == 2 && n == 2 && a[0] == b[1] && a[1] == b[0])
		return 1;
	return m > 1 || n > 1 ? 2 : m || n;
}

static const char *meant(const char *name, size_t len, const char *const *names)
{
	const char *best = NULL;
	int n, least = 2;

	for (size_t i = 0; names == calls && i < COUNT(libc); i++) {
		if (strlen(libc[i][0]) == len && !strncmp(libc[i][0], name, len))
			return libc[i][1];
	}
	for (; *names; names++) {
		n = slips(name, len, strchr(*names, '.') + 1);
		if (n < least) {
			best = *names;
			least = n;
		}
	}
	return best;
}

static void print_hint(const char *line)
{
	const char *at;

	for (const struct unknown *u = unknown; u < unknown + COUNT(unknown); u++) {
		at = strstr(line, u->text);
		if (!at)
			continue;
		at += strlen(u->text);
		at = meant(at, strcspn(at, "'"), u->names);
		if (at) {
			fprintf(stderr, ": did you mean %s?", *at == '.' ? at + 1 : at);
			break;
		}
	}
	for (const struct hint *h = hints; h < hints + COUNT(hints); h++) {
		if (strstr(line, h->text))
			fprintf(stderr, ": %s", h->hint);
	}
}

/* Prints @line, with @path in place of "@name:" before a number. */
static void print_line(const char *line, const char *name, const char *path)
{
	const char *at, *begin = line;
	size_t len = strlen(name);

	while (len && (at = strstr(line, name))) {
		bool is_place = at[len] == ':' &&
				(at == begin || isdigit((unsigned char)at[len + 1]));

		fprintf(stderr, "%.*s%s", (int)(at - line), line, is_place ? path : name);
		line = at + len;
	}
	fputs(line, stderr);
}

void print_error(char *text, const char *name, const char *path)
{
	char *line;

	while ((line = strsep(&text, "\n")) && (*line || text)) {
		print_line(line, name, path);
		print_hint(line);
		fputc('\n', stderr);
	}
}

/* Counts names, without the dots of a vararg. */
static int count_names(const char *names, int len)
{
	int n = 0;

	for (int i = 0; i < len; i++)
		n += names[i] == ',';
	return len && names[len - 1] != '.' ? n + 1 : n;
}

void hint_at_arguments(const char *source, int nargs)
{
	static const char pattern[] = "^(function +run|run *= *function) *\\(([^)]*)\\)";
	regmatch_t match[3];
	const char *names;
	int len, n;
	regex_t re;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE))
		return;
	if (!regexec(&re, source, COUNT(match), match, 0)) {
		names = source + match[2].rm_so;
		len = match[2].rm_eo - match[2].rm_so;
		n = count_names(names, len);
		if (nargs < n)
			complain("run(%.*s) takes %d argument%s, got %d", len, names, n,
				 n == 1 ? "" : "s", nargs);
	}
	regfree(&re);
}
