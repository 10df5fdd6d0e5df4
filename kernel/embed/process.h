/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that processes call: uapi/syscript_process.h. */
#ifndef SYSCRIPT_EMBED_PROCESS_H
#define SYSCRIPT_EMBED_PROCESS_H

#include <linux/types.h>

struct syscript_prog_type;
struct syscript_hook;

/* Arguments of a call: @nargs numbers, and @len bytes up to SYSCRIPT_PROCESS_DATA_MAX. */
struct process_arguments {
	const s64 *args;
	const void *data;
	u32 nargs, len;
};

bool process_is(const struct syscript_prog_type *prog_type);

/* Calls the program of @hook: 0, -ENOTRECOVERABLE if it has none now, or -EPROTO. */
int process_call(struct syscript_hook *hook, const struct process_arguments *arguments,
		 s64 *result);

int process_init(void);
void process_exit(void);

#endif /* SYSCRIPT_EMBED_PROCESS_H */
