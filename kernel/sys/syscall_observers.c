// SPDX-License-Identifier: GPL-2.0
/*
 * Implements syscall_observers.h with the kernel's own functions: __secure_computing() evaluates
 * and logs filters, and carries out their verdict. It reads the call from the registers with which
 * the task entered the kernel, so the script's call is written there meanwhile.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "audit.h"
#include "compat.h"
#include "deferred_exit.h"
#include "seccomp.h"
#include "run.h"
#include "syscall_observers.h"

/* -- The task's registers ---------------------------------------------------- */

/* Has a tracer, or a program at a tracepoint, changed the call? */
static bool is_changed(const struct observers_call *call, const struct pt_regs *regs)
{
	unsigned long args[6];

	regs_get_args(regs, args);
	return regs_number(regs) != call->nr || memcmp(args, call->args, sizeof(args));
}

/* -- seccomp ----------------------------------------------------------------- */

#ifdef CONFIG_SECCOMP_FILTER
/* Does a filter end only this thread?  Then it may exit only after the run has ended. */
static bool needs_guard(void)
{
	return !observers_is_alone(current);
}

/* Checked before any filter is evaluated. */
static int check_filters(void)
{
	int mode = READ_ONCE(current->seccomp.mode);

	/* SECCOMP_MODE_DEAD, private to the kernel: the task has been killed and is exiting. */
	if (mode > SECCOMP_MODE_FILTER)
		return -ECANCELED;
	if (mode == SECCOMP_MODE_STRICT || !filters_can_be_asked() ||
	    ptrace_event_enabled(current, PTRACE_EVENT_SECCOMP))
		return -EOPNOTSUPP;
	return needs_guard() && !deferred_exit_can_wait() ? -EOPNOTSUPP : 0;
}

/*
 * The filter sent SIGSYS. A handler would find the script's call and the run's result in the
 * registers, so the signal is dequeued again. Without a handler it kills the process, as it would
 * outside of scripts.
 */
static int take_back_trap(void)
{
	/* Only this task replaces it. */
	struct sighand_struct *sighand = rcu_dereference_raw(current->sighand);
	kernel_siginfo_t info;
	sigset_t others;
	bool ends;
	int sig;

	siginitsetinv(&others, sigmask(SIGSYS));
	spin_lock_irq(&sighand->siglock);
	ends = sighand->action[SIGSYS - 1].sa.sa_handler == SIG_DFL;
	sig = ends ? 0 : compat_dequeue_signal(&others, &info);
	spin_unlock_irq(&sighand->siglock);
	if (ends)
		return -ECANCELED;
	/* Another thread's SIGSYS, sent at the same moment. */
	if (sig && info.si_code != SYS_SECCOMP)
		send_sig_info(SIGSYS, &info, current);
	return -EOPNOTSUPP;
}

static bool has_sigsys(void)
{
	return sigismember(&current->pending.signal, SIGSYS);
}

long observers_ask_filters_guarded(const struct pt_regs *unused)
{
	return likely(deferred_exit_can_wait()) ? deferred_exit_guard() : FILTERS_NOT_ASKED;
}

/* Translates @answer, the result of __secure_computing(). */
static int observers_judge(struct observers_call *call, const struct pt_regs *regs, long answer)
{
	if (!answer)
		return 0;
	if (current->seccomp.mode > SECCOMP_MODE_FILTER)
		return -ECANCELED;
	if (has_sigsys())
		return take_back_trap();
	call->ret = regs_result(regs);
	return 1;
}

static int ask_filters(struct observers_call *call, const struct pt_regs *regs)
{
	int err = check_filters();
	long ret;

	if (err)
		return err;
	/*
	 * If SIGSYS is blocked, a filter's signal cannot be told from one that another task sent.
	 */
	if (has_sigsys())
		return -EOPNOTSUPP;
	ret = needs_guard() ? deferred_exit_guard() : filters_ask(NULL);
	return observers_judge(call, regs, ret);
}
#else
static int check_filters(void)
{
	return 0;
}

long observers_ask_filters_guarded(const struct pt_regs *unused)
{
	return FILTERS_NOT_ASKED;
}

static int observers_judge(struct observers_call *call, const struct pt_regs *regs, long answer)
{
	return 0;
}

static int ask_filters(struct observers_call *call, const struct pt_regs *regs)
{
	return 0;
}
#endif

/* -- Tracepoints ------------------------------------------------------------- */

/* The tracepoints sys_enter and sys_exit; events of single calls are probes of these. */
static struct tracepoint *sys_enter __ro_after_init, *sys_exit __ro_after_init;

static void __init find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sys_enter"))
		sys_enter = tp;
	else if (!strcmp(tp->name, "sys_exit"))
		sys_exit = tp;
}

typedef void (*probe_t)(void *data, struct pt_regs *regs, long value);

/* Calls the probes as the tracepoint does. */
static void observers_fire(struct tracepoint *tp, struct pt_regs *regs, long value)
{
	struct tracepoint_func *probe;

	if (!tp)
		return;
	compat_syscall_tracepoint_lock();
	probe = rcu_dereference_raw(tp->funcs);
	for (; probe && probe->func; probe++)
		((probe_t)probe->func)(probe->data, regs, value);
	compat_syscall_tracepoint_unlock();
}

/* -- All of them ------------------------------------------------------------- */

int __observers_check(void)
{
	unsigned long bits = watch_bits_once();

	if (bits & WATCH_AT_ENTRY)
		return -EOPNOTSUPP;
	if (audits_ask() && !audits_can_record())
		return -EOPNOTSUPP;
	return bits & WATCH_FILTERS ? check_filters() : 0;
}

/* In the order of the kernel's syscall_trace_enter(). */
static int ask_all(struct observers_call *call, struct pt_regs *regs)
{
	unsigned long bits = watch_bits_once();
	int ret = __observers_check();

	if (!ret && bits & WATCH_FILTERS)
		ret = ask_filters(call, regs);
	if (!ret && bits & WATCH_EVENTS)
		observers_fire(sys_enter, regs, call->nr);
	return !ret && is_changed(call, regs) ? -EOPNOTSUPP : ret;
}

static int enter_shown(struct observers_call *call)
{
	struct pt_regs *regs = current_pt_regs();
	int ret;

	regs_save(&call->saved, regs);
	regs_set_entry(regs, call->nr, (const unsigned long *)call->args);
	ret = ask_all(call, regs);
	regs_restore(&call->saved, regs);
	return ret;
}

static void leave_shown(struct observers_call *call)
{
	struct pt_regs *regs = current_pt_regs();

	regs_save(&call->saved, regs);
	regs_set_call(regs, call->nr, call->ret, (const unsigned long *)call->args);
	observers_fire(sys_exit, regs, call->ret);
	regs_restore(&call->saved, regs);
}

static void end_audit(struct observers_call *call)
{
	audits_close(call->audit);
	call->audit = NULL;
}

/* Opens the audit context before filters are asked, so that their records are the inner call's. */
static noinline int enter_audited(struct observers_call *call)
{
	int ret;

	call->audit = audits_open();
	if (!call->audit)
		return -EOPNOTSUPP;
	ret = enter_shown(call);
	if (!ret)
		audits_enter(call->nr, call->args);
	else
		end_audit(call);
	return ret;
}

void observers_describe(struct observers_call *call, unsigned int nr, unsigned int n,
		       const struct pt_regs *regs)
{
	call->nr = nr;
	regs_mask_args(regs, n, (unsigned long *)call->args);
	call->audit = NULL;
}

int observers_enter(struct observers_call *call)
{
	return unlikely(audits_ask()) ? enter_audited(call) : enter_shown(call);
}

int observers_answered(struct observers_call *call, long answer)
{
	const struct pt_regs *regs = current_pt_regs();
	int ret = observers_judge(call, regs, answer);

	return !ret && is_changed(call, regs) ? -EOPNOTSUPP : ret;
}

/* In the order of the kernel's syscall_exit_work(). */
void observers_leave(struct observers_call *call)
{
	if (unlikely(call->audit)) {
		audits_leave(call->ret);
		end_audit(call);
	}
	if (watch_bits_once() & WATCH_EVENTS)
		leave_shown(call);
}

long observers_ask(struct run *run, struct observers_call *call)
{
	int err = observers_enter(call);

	if (err > 0) {
		observers_leave(call);
		if (call->ret < 0)
			return call->ret;
		/*
		 * A seccomp supervisor has made the call, and has not stored results where a
		 * batch expects them.
		 */
		err = -EOPNOTSUPP;
	}
	if (err)
		run_stop(run, err);
	return err;
}

long observers_done(struct observers_call *call, long ret)
{
	call->ret = ret;
	observers_leave(call);
	return ret;
}

void __init observers_init(void)
{
	deferred_exit_init();
	audits_init();
	filters_init();
	for_each_kernel_tracepoint(find_tracepoint, NULL);
}

void observers_exit(void)
{
	filters_exit();
	audits_exit();
	deferred_exit_exit();
}
