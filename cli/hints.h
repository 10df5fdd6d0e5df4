/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the command adds to texts of errors that the engine has made. */
#ifndef HINTS_H
#define HINTS_H

/* Prints @text, which it cuts up, on stderr: each line with what to do, if that is known. */
void print_error(char *text);

/*
 * Says so if @nargs are fewer than the function run() of @source names: an error
 * that came of it is about a nil somewhere inside.
 */
void hint_at_arguments(const char *source, int nargs);

#endif /* HINTS_H */
