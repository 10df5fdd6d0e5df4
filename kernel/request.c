// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See request.h.  Compiled for both places. */
#include "platform.h"
#include "request.h"
#include "../include/uapi/syscript.h"

/* Names are shown in lists and in the log: one line, no escapes. */
static bool is_name(const char *name)
{
	size_t i;

	for (i = 0; i < SYSCRIPT_NAME_LEN && name[i]; i++)
		if (name[i] < ' ' || name[i] > '~')
			return false;
	return i < SYSCRIPT_NAME_LEN;
}

int request_check_register(const struct syscript_register *reg)
{
	if (reg->flags & ~SYSCRIPT_FLAGS || reg->reserved[0] || reg->reserved[1])
		return -EINVAL;
	if (!reg->image_len || (!reg->error && reg->error_len))
		return -EINVAL;
	if (reg->image_len > SYSCRIPT_IMAGE_MAX)
		return -E2BIG;
	return is_name(reg->name) ? 0 : -EINVAL;
}

int request_check_call(const struct syscript_call *call)
{
	if (call->flags & ~SYSCRIPT_CALL_FLAGS || call->state ||
	    call->nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	return 0;
}

int request_check_info(const struct syscript_info *info)
{
	size_t i;

	for (i = 0; i < sizeof(info->reserved) / sizeof(info->reserved[0]); i++)
		if (info->reserved[i])
			return -EINVAL;
	return 0;
}
