/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Programs of the kernel's subsystems: syscript_programs.h. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* A message for the errno of a failed call; the caller handles ENOENT itself. */
const char *program_why(int err);

/* Reads a line as getline(3) does, after a prompt on a terminal. False at the end. */
bool prompt_line(char **line, size_t *size);

/* Prompts for lines of arguments and calls @name with each.  Returns an exit status. */
int program_prompt(const char *name);

/* Prompts for lines of Lua about the state of program @name, whose source is @path. */
int program_lua_prompt(const char *name, const char *path);

#endif /* PROGRAM_H */
