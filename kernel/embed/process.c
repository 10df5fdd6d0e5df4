// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that processes call by their names, by <linux/syscript_program.h> and nothing else.  A
 * call takes the caller's CPU time, but not the caller's rights: a program cannot make system
 * calls, whichever user loaded it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/syscript_program.h>

#include "process.h"
#include "uapi/syscript_process.h"

#define FUEL	16384	/* 0.8 ms at most */

int process_call(struct syscript_hook *hook, const struct process_arguments *arguments,
		 s64 *result)
{
	struct syscript_arguments *view;
	struct syscript_event event;
	u32 i, copies;

	if (!syscript_hook_begin(hook, &event))
		return -ENOTRECOVERABLE;
	view = syscript_event_view(&event);
	view->nargs = arguments->nargs;
	view->len = arguments->len;
	for (i = 0; i < ARRAY_SIZE(view->args); i++)
		view->args[i] = i < arguments->nargs ? arguments->args[i] : 0;
	copies = syscript_event_copies(&event);
	memset(view->data, 0, copies);
	memcpy(view->data, arguments->data, min(arguments->len, copies));
	*result = syscript_hook_run(&event);
	return event.rare & SYSCRIPT_EVENT_FAILED ? -EPROTO : 0;
}

static int process_attach(struct syscript_hook *hook, struct net *net, const char *where,
			       char *error, size_t len)
{
	if (!*where)
		return 0;
	scnprintf(error, len, "programs for process take no --at, so not '%s'", where);
	return -EINVAL;
}

static void process_detach(struct syscript_hook *hook)
{
}

static const struct syscript_prog_type process = {
	.name = "process",
	.owner = THIS_MODULE,
	.of_net = true,
	.view_size = sizeof(struct syscript_arguments),
	.copy_max = SYSCRIPT_PROCESS_DATA_MAX,
	.fuel = FUEL,
	.errors_max = U32_MAX,
	.low = S64_MIN + 1, .high = S64_MAX,
	.attach = process_attach,
	.detach = process_detach,
};

bool process_is(const struct syscript_prog_type *prog_type)
{
	return prog_type == &process;
}

int process_init(void)
{
	return syscript_prog_type_register(&process);
}

void process_exit(void)
{
	syscript_prog_type_unregister(&process);
}
