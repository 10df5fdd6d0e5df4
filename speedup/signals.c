// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A signal may tell that something has changed, and its handler may call stat(2)
 * where nothing of this library may run: handlers go by way of on_signal().
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "speedup.h"

typedef void (*handler)(int, siginfo_t *, void *);

static handler handlers[NSIG];

static void on_signal(int sig, siginfo_t *info, void *context)
{
	handler handle = __atomic_load_n(&handlers[sig], __ATOMIC_ACQUIRE);

	speedup_handler(1);
	/* One that takes only the number does not see the rest. */
	handle(sig, info, context);
	speedup_handler(-1);
}

static bool is_function(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

PUBLIC int sigaction(int sig, const struct sigaction *restrict action,
		     struct sigaction *restrict old)
{
	static int (*next)(int, const struct sigaction *, struct sigaction *);
	struct sigaction ours;
	handler before;
	int ret;

	NEXT(next, "sigaction");
	if (sig <= 0 || sig >= NSIG)
		return next(sig, action, old);
	before = __atomic_load_n(&handlers[sig], __ATOMIC_ACQUIRE);
	if (action && is_function(action)) {
		ours = *action;
		__atomic_store_n(&handlers[sig], ours.sa_sigaction, __ATOMIC_RELEASE);
		ours.sa_sigaction = on_signal;
		action = &ours;
	}
	ret = next(sig, action, old);
	if (ret && action == &ours)
		__atomic_store_n(&handlers[sig], before, __ATOMIC_RELEASE);
	if (!ret && old && old->sa_sigaction == on_signal)
		old->sa_sigaction = before;
	return ret;
}

static sighandler_t set_handler(int sig, sighandler_t handle, int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags }, old;

	if (handle == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (!(flags & SA_NODEFER))
		sigaddset(&action.sa_mask, sig);
	return sigaction(sig, &action, &old) ? SIG_ERR : old.sa_handler;
}

PUBLIC sighandler_t signal(int sig, sighandler_t handle)
{
	return set_handler(sig, handle, SA_RESTART);
}

PUBLIC sighandler_t __sysv_signal(int sig, sighandler_t handle)
{
	return set_handler(sig, handle, SA_RESETHAND | SA_NODEFER);
}
