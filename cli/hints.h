/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hints that the command adds to the engine's error texts. */
#ifndef HINTS_H
#define HINTS_H

#include <stddef.h>

/*
 * How unlike the @m bytes of @a and @b are: 0 if they are the same, 1 if a letter is
 * missing, unexpected or another, or two are swapped, else 2.
 */
int slips(const char *a, size_t m, const char *b);

/*
 * Prints @text, which it cuts up, on stderr: each line with what to do, if that is known.
 * Places in the script @name are given as @path, by which the user knows it.
 */
void print_error(char *text, const char *name, const char *path);

/*
 * Says so if @nargs are fewer than the function run() of @source names: an error
 * that came of it is about a nil somewhere inside.
 */
void hint_at_arguments(const char *source, int nargs);

#endif /* HINTS_H */
