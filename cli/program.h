/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Programs of the kernel's subsystems, by the requests of linux/syscript.h. */
#ifndef PROGRAM_H
#define PROGRAM_H

/* SYSCRIPT_IOC_* on the device: 0 or errno. */
int program_request(unsigned long number, void *argument);

/* A message for the errno of a failed request; the caller handles ENOENT itself. */
const char *program_why(int err);

/* Calls @name for each line of arguments, until there are no more.  An exit status. */
int program_prompt(const char *name);

#endif /* PROGRAM_H */
