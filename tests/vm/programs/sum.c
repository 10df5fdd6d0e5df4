/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Called by a process: the sum of all numbers and bytes passed in this and earlier calls; with
 * neither it loops for ever.
 */
#include <linux/syscript_process.h>

#define BYTES	4

static __s64 sum;
const __u32 syscript_copies = BYTES;

long call(const struct syscript_arguments *arguments)
{
	__s64 here = 0;

	while (!arguments->nargs && !arguments->len)
		__asm__ volatile("");
	for (__u32 i = 0; i < SYSCRIPT_PROCESS_ARGS_MAX; i++)
		here += arguments->args[i];
	for (__u32 i = 0; i < BYTES; i++)
		here += arguments->data[i];
	return __sync_fetch_and_add(&sum, here) + here;
}
