/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel functions that Kefence intercepts. */
#ifndef KEFENCE_HOOK_H
#define KEFENCE_HOOK_H

#include <linux/ftrace.h>

struct hook {
	/*
	 * Called before the kernel's function, with its arguments in @args and its caller's
	 * address. Returns true if it handled the call; the function is then skipped. Runs in the
	 * caller's context, and may be interrupted by itself.
	 */
	bool (*fn)(struct pt_regs *args, unsigned long caller);
	char *name;
	struct ftrace_ops ops;
};

int hook_register(struct hook *hook);
void hook_unregister(struct hook *hook);

#endif /* KEFENCE_HOOK_H */
