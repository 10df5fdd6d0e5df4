// SPDX-License-Identifier: GPL-2.0
/*
 * Implements seccomp.h: __secure_computing() is not exported, so it is found by name, and called
 * by a static call.
 */
#include <linux/kprobes.h>
#include <linux/static_call.h>

#include "seccomp.h"
#include "symbols.h"

#ifdef CONFIG_SECCOMP_FILTER
static int not_asked(void *unused)
{
	return FILTERS_NOT_ASKED;
}

/* __secure_computing(); newer kernels' takes no argument. */
DEFINE_STATIC_CALL(secure_computing, not_asked);
static bool has_secure_computing __ro_after_init;

/* Its return address identifies the guarded call: deferred_exit_guard() returns there. */
notrace long filters_ask(const struct pt_regs *unused)
{
	return static_call(secure_computing)(NULL);
}
NOKPROBE_SYMBOL(filters_ask);

bool filters_can_be_asked(void)
{
	return has_secure_computing;
}

void __init filters_init(void)
{
	void *found = symbols_find("__secure_computing");

	if (!found)
		return;
	static_call_update(secure_computing, found);
	has_secure_computing = true;
}

void filters_exit(void)
{
	static_call_update(secure_computing, not_asked);
}
#else
long filters_ask(const struct pt_regs *unused)
{
	return FILTERS_NOT_ASKED;
}

bool filters_can_be_asked(void)
{
	return false;
}

void __init filters_init(void)
{
}

void filters_exit(void)
{
}
#endif
