// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements lua_names.h for libraries without LuaJIT, whose lint knows more mistakes
 * (engine/luajit/lint.c): reads a script's words, without its comments and strings, and looks up
 * what follows "syscall.", "const." and "errno.".
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lua_names.h"

static const char *const calls[] = {
#define SYSCALL(name, kinds, flags)	#name,
#include "syscalls.def"
	NULL
};

static const struct excluded {
	const char *name, *reason;
} excluded[] = {
#define SYSCALL_EXCLUDED(name, reason)	{ #name, reason },
#include "syscalls.def"
	{ NULL, NULL }
};

static const char *const constants[] = {
#define CONSTANT(name, value)	#name,
#include "constants.inc"
	NULL
};

static const char *const errnos[] = {
	"name",		/* errno.name() */
#define ERRNO(name, value)	#name,
#include "constants.inc"
	NULL
};

/* -- Words ------------------------------------------------------------------------------ */

/**
 * struct words - a script that is read word by word
 * @word: the last word, of @len bytes: a name, or one other character
 * @line: its line
 */
struct words {
	const char *at, *end;
	const char *word;
	size_t len;
	unsigned int line;
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char at(const struct words *w, size_t i)
{
	return i < (size_t)(w->end - w->at) ? w->at[i] : '\0';
}

static void skip(struct words *w, size_t n)
{
	for (; n && w->at < w->end; n--)
		w->line += *w->at++ == '\n';
}

/* If a long bracket opens here, the number of its equals signs plus 1; otherwise 0. */
static size_t long_bracket(const struct words *w, size_t from)
{
	size_t n = 1;

	if (at(w, from) != '[')
		return 0;
	while (at(w, from + n) == '=')
		n++;
	return at(w, from + n) == '[' ? n : 0;
}

/* Skips text with a long bracket of @level. */
static void skip_long(struct words *w, size_t level)
{
	size_t n;

	skip(w, level + 1);
	for (; w->at < w->end; skip(w, 1)) {
		for (n = 1; at(w, 0) == ']' && at(w, n) == '='; n++)
			;
		if (at(w, 0) == ']' && n == level && at(w, n) == ']')
			return skip(w, n + 1);
	}
}

static void skip_quoted(struct words *w)
{
	char quote = *w->at;

	skip(w, 1);
	while (w->at < w->end && *w->at != quote && *w->at != '\n')
		skip(w, *w->at == '\\' ? 2 : 1);
	skip(w, 1);
}

static void skip_comment(struct words *w)
{
	size_t level = long_bracket(w, 2);

	skip(w, 2);
	if (level)
		return skip_long(w, level);
	while (w->at < w->end && *w->at != '\n')
		skip(w, 1);
}

/* Skips a space, a comment or a string; false: a word begins. */
static bool skip_other(struct words *w)
{
	size_t level = long_bracket(w, 0);
	char c = *w->at;

	if (c == '-' && at(w, 1) == '-')
		skip_comment(w);
	else if (c == '"' || c == '\'')
		skip_quoted(w);
	else if (level)
		skip_long(w, level);
	else if (c == ' ' || (c >= '\t' && c <= '\r'))
		skip(w, 1);
	else
		return false;
	return true;
}

static bool next_word(struct words *w)
{
	while (w->at < w->end && skip_other(w))
		;
	w->word = w->at;
	w->len = 1;
	if (w->at == w->end)
		return false;
	if (is_letter(*w->at) || is_digit(*w->at))
		while (is_letter(at(w, w->len)) || is_digit(at(w, w->len)))
			w->len++;
	w->at += w->len;
	return true;
}

static bool is_word(const struct words *w, const char *text)
{
	return strlen(text) == w->len && !memcmp(w->word, text, w->len);
}

/* -- Names ------------------------------------------------------------------------------ */

static bool is_among(const struct words *w, const char *const *names)
{
	while (*names && !is_word(w, *names))
		names++;
	return *names;
}

static const char *reason_of(const struct words *w)
{
	const struct excluded *e;

	for (e = excluded; e->name && !is_word(w, e->name); e++)
		;
	return e->reason;
}

/* True if the library @names lacks the name @w; puts the reason into @what. */
static bool is_wrong(const struct words *w, const char *const *names, char *what, size_t size)
{
	const char *reason = names == calls ? reason_of(w) : NULL;
	int len = (int)w->len;

	if (is_among(w, names))
		return false;
	if (reason)
		snprintf(what, size, "scripts cannot call '%.*s': %s", len, w->word, reason);
	else
		snprintf(what, size, "no %s '%.*s'", names == calls ? "system call" : "constant",
			 len, w->word);
	return true;
}

/* The names of the library that the word names, or NULL. */
static const char *const *library(const struct words *w)
{
	return is_word(w, "syscall") ? calls : is_word(w, "const") ? constants :
	       is_word(w, "errno") ? errnos : NULL;
}

int lua_names_check(const char *source, size_t len, const char *chunk, char *text, size_t size)
{
	struct words w = { .at = source, .end = source + len, .line = 1 };
	const char *const *names = NULL;
	bool member = false, dot;
	size_t used = 0;
	char what[256];
	int n = 0;

	while (next_word(&w)) {
		dot = is_word(&w, ".") || is_word(&w, ":");
		if (member && names && is_wrong(&w, names, what, sizeof(what))) {
			if (used < size)
				used += snprintf(text + used, size - used, "%s:%u: %s\n", chunk,
						 w.line, what);
			n++;
		}
		/* A member of another table may be called syscall, too. */
		if (!dot)
			names = member ? NULL : library(&w);
		member = dot && !member;
	}
	return n;
}
