/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the kernel that are replaced where Kefence has to see to it. */
#ifndef KEFENCE_HOOK_H
#define KEFENCE_HOOK_H

#include <linux/ftrace.h>

struct hook {
	/*
	 * Called before the kernel's function, with its arguments in @args and its
	 * caller's address.  True: it has been seen to, the function is not called.
	 * In whatever context the function is called; it may be interrupted by
	 * itself.
	 */
	bool (*fn)(struct pt_regs *args, unsigned long caller);
	char *name;
	struct ftrace_ops ops;
};

int hook_register(struct hook *hook);
void hook_unregister(struct hook *hook);

#endif /* KEFENCE_HOOK_H */
