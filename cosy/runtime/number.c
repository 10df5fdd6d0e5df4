// SPDX-License-Identifier: GPL-2.0 OR MIT
/* System calls by a number known only at run time: -errno, or the result. */
#include "../../include/uapi/syscript_image.h"
#include "runtime.h"

long __cosy_syscall_number(long number, const long *args)
{
	return ((long (*)(long, const long *))IMAGE_CALL_SYSCALL)(number, args);
}
