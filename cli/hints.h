/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hints that the command adds to the engine's error texts. */
#ifndef HINTS_H
#define HINTS_H

#include <stddef.h>

/*
 * The edit distance of the @m bytes at @a and @b, up to 2: 1 if a letter is missing, unexpected
 * or replaced, or two are swapped.
 */
int slips(const char *a, size_t m, const char *b);

/*
 * Prints @text, which it modifies, to stderr, with hints after the lines that have some. Replaces
 * the script's @name by @path, which the user knows.
 */
void print_error(char *text, const char *name, const char *path);

/*
 * Prints a hint if @nargs is less than the number of parameters of run() in @source: the error
 * itself then only mentions a nil somewhere in the script.
 */
void hint_at_arguments(const char *source, int nargs);

#endif /* HINTS_H */
