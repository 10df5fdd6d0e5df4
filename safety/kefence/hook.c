// SPDX-License-Identifier: GPL-2.0
/* Replaces kernel functions, by ftrace. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/string.h>

#include "compat.h"
#include "hook.h"

/* Runs instead of the kernel's function; its callers use no result. */
static noinline notrace void instead(void)
{
	barrier();
}

static void notrace hook_call(unsigned long ip, unsigned long parent_ip,
			      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct hook *hook = container_of(ops, struct hook, ops);
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (regs && hook->fn(regs, parent_ip))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)instead);
}

int hook_register(struct hook *hook)
{
	int err;

	hook->ops.func = hook_call;
	/*
	 * PERMANENT: root cannot switch it off with the function tracer. Not RECURSION: it must
	 * also run in functions that other users of ftrace call.
	 */
	hook->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY |
			  FTRACE_OPS_FL_PERMANENT;
	err = ftrace_set_filter(&hook->ops, hook->name, strlen(hook->name), 1);
	if (!err)
		err = register_ftrace_function(&hook->ops);
	if (!err)
		return 0;
	ftrace_free_filter(&hook->ops);
	pr_err("%s() cannot be hooked (%d): is ftrace off (ftrace_enabled=0), or the function live patched?\n",
	       hook->name, err);
	return err;
}

void hook_unregister(struct hook *hook)
{
	unregister_ftrace_function(&hook->ops);
	ftrace_free_filter(&hook->ops);
}
