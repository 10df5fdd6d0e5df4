/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Programs that processes call, by name: SYSCRIPT_IOC_INVOKE.  For programs.
 *
 * The first function of a program is called with the address of a struct syscript_arguments in
 * the program's memory, which only this call uses until it returns. Its return value, any number,
 * is the call's result.
 */
#ifndef _UAPI_SYSCRIPT_PROCESS_H
#define _UAPI_SYSCRIPT_PROCESS_H

#include <linux/types.h>

#define SYSCRIPT_PROCESS_ARGS_MAX	8
#define SYSCRIPT_PROCESS_DATA_MAX	256

/**
 * struct syscript_arguments - the arguments of a call
 * @nargs: number of arguments given
 * @len:   bytes of data given
 * @args:  numbers, then zeros
 * @data:  as many of the @len bytes as the program asks for (syscript_copies), then zeros
 */
struct syscript_arguments {
	__u32 nargs;
	__u32 len;
	__s64 args[SYSCRIPT_PROCESS_ARGS_MAX];
	__u8  data[];
};

#endif /* _UAPI_SYSCRIPT_PROCESS_H */
