// SPDX-License-Identifier: GPL-2.0
/*
 * A script's life: see docs/design/script-lifetime.md.
 *
 * Locks:
 *
 *   script->lock     all operations on the program, and writers of its counters and texts.
 *                    Held during a run, so it may be held for long; taken killably.
 *   program->vm_lock inside ->lock: program->vm for readers without ->lock
 *                    (program_info()).  Held for a few loads.
 *   scripts_lock     the table, and ->walkers.  Shared by all users: held to find the
 *                    next script and read it, in a bounded number of steps.
 *                    vm_lock nests in it.
 *
 * Tasks that use another process's script for longer (the idle worker, profilers with CAP_SYSLOG)
 * count in ->walkers, and the script's destruction waits for them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "compat.h"
#include "program.h"
#include "script.h"
#include "shared.h"
#include "kernel/syscalls.h"
#include "syscall_observers.h"

#define CREATE_TRACE_POINTS
#include "script_events.h"

struct script {
	/* Used by each call. */
	struct mutex lock;
	struct program *program;
	struct mm_struct *mm;		/* held; compared, never used */
	refcount_t refs;		/* the file, calls under way, scripts that extend it */
	u64 idle_calls;			/* see script_idle() */
	unsigned long id;

	wait_queue_head_t death;
	unsigned int walkers;
	struct script_base base;
	struct file *device;		/* holds the module, see script_free() */
	struct pid *pid;
	kuid_t uid;
};

static DEFINE_XARRAY_FLAGS(scripts, XA_FLAGS_ACCOUNT);	/* scripts by id */
static DEFINE_SPINLOCK(scripts_lock);
static DECLARE_WAIT_QUEUE_HEAD(walkers_gone);
static atomic64_t last_id = ATOMIC64_INIT(0);

int script_may_create(void)
{
	if (syscalls_nested())
		return -EDEADLK;
	if (!limits_enabled())
		return -ESHUTDOWN;
	if (limits_locked_down())
		return -EPERM;
	return observers_check() ?: audits_check();
}

int script_may_use(const struct script *script)
{
	if (syscalls_nested())
		return -EDEADLK;
	if (unlikely(script->mm != current->mm))
		return -EXDEV;
	return 0;
}

bool script_is(const struct script *script, u64 id)
{
	return script->id == id;
}

/* Kills the process, for SYSCRIPT_KILL. */
static void script_kill_caller(const struct script *script, const char *name, int err)
{
	/* The user's name comes last, so that it cannot pass for another field. */
	if (limits_may_notice(limits_account_uid(CONTEXT_PROCESS)))
		pr_notice("killed process %d of user %u: over the %s limit of script %lu, %s\n",
			  task_tgid_nr(current),
			  from_kuid(&init_user_ns, script->uid),
			  err == -ETIME ? "time" : "memory", script->id, name);
	send_sig(SIGKILL, current, 1);
}

static void script_free(struct script *script)
{
	pr_debug("script %lu destroyed\n", script->id);
	put_pid(script->pid);
	mmdrop(script->mm);
	mutex_destroy(&script->lock);
	/*
	 * If this was the module's last reference, fput() defers the work until the task has left
	 * the module's text.
	 */
	fput(script->device);
	kfree(script);
}

static bool has_no_walkers(struct script *script)
{
	bool none;

	spin_lock(&scripts_lock);
	none = !script->walkers;
	spin_unlock(&scripts_lock);
	return none;
}

/* After this it cannot be found. */
static void script_hide(struct script *script)
{
	spin_lock(&scripts_lock);
	xa_erase(&scripts, script->id);
	spin_unlock(&scripts_lock);
	wait_event(walkers_gone, has_no_walkers(script));
}

/*
 * No references are left.  The current task may be another process than the owner, an exiting
 * one, or a kernel thread: nothing here uses current.
 */
static noinline void script_destroy(struct script *script)
{
	struct script_base base = script->base;

	/*
	 * 1. No call is under way, because each holds a reference, and none can begin without the
	 *    file.  After this no walker of the table finds it.
	 */
	script_hide(script);

	/* 2. The program, without the lock: it has no callers any more. */
	program_destroy(script->program);

	/* 3. Pollers held the file, too, and epoll dropped it when it was closed. */
	script_free(script);

	/* 4. Its base, whose code the program could call.  A base extends nothing. */
	if (base.script)
		script_put(base.script);
	if (base.shared)
		shared_put(base.shared);
}

static __always_inline void script_drop(struct script *script)
{
	if (refcount_dec_and_test(&script->refs))
		script_destroy(script);
}

void script_get(struct script *script)
{
	refcount_inc(&script->refs);
}

void script_put(struct script *script)
{
	script_drop(script);
}

/* Out of line, so that calls without tracing do not set up the event's arguments. */
static noinline void script_trace_call(const struct script *script)
{
	trace_call(script->id, script->program->name);
}

static noinline void script_trace_done(const struct script *script, int err)
{
	trace_done(script->id, script->program->name, err);
}

static noinline void script_failed(struct script *script, int err)
{
	const struct program *program = script->program;

	/* Once only: later callers find it dead and get -ENOTRECOVERABLE. */
	if (!program_is_alive(program) && err != -ENOTRECOVERABLE) {
		trace_kill(script->id, program->name, err);
		/* All pollers: no later event wakes those that wait exclusively. */
		wake_up_all(&script->death);
	}
	if (program_kills(program->flags, err))
		script_kill_caller(script, program->name, err);
}

static int script_run(struct script *script, struct syscript_call *call)
{
	int err;

	if (trace_call_enabled())
		script_trace_call(script);
	err = program_call(script->program, call);
	if (trace_done_enabled())
		script_trace_done(script, err);
	if (unlikely(err))
		script_failed(script, err);
	return err;
}

/*
 * mutex_lock_killable() without the cond_resched() that it begins with: a call comes from user
 * mode and returns there, where the task is rescheduled. A free mutex is taken by both without a
 * look at signals, and by both ahead of waiters that it was not handed to. With lockdep, which
 * learns no order of locks from mutex_trylock(), mutex_lock_killable() takes free ones, too.
 */
static __always_inline int script_lock(struct script *script)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP) && likely(mutex_trylock(&script->lock)))
		return 0;
	return mutex_lock_killable(&script->lock);
}

/*
 * ioctl(2) and lseek(2) take no reference to the file in a process of one thread.
 * The run can close the descriptor, and another process any other copy of it, so
 * from here on the call counts on its own reference only.
 */
int script_call(struct script *script, struct syscript_call *call)
{
	int err = script_may_use(script);

	if (unlikely(err))
		return err;
	if (unlikely(!limits_enabled()))
		return -ESHUTDOWN;
	err = observers_check();
	if (unlikely(err))
		return err;

	refcount_inc(&script->refs);
	err = script_lock(script);
	if (likely(!err)) {
		err = script_run(script, call);
		mutex_unlock(&script->lock);
	}
	script_drop(script);
	return err;
}

int script_error(struct script *script, char *text)
{
	int err = mutex_lock_killable(&script->lock);

	if (err)
		return err;
	strscpy(text, script->program->run->error, RUN_ERROR_LEN);
	mutex_unlock(&script->lock);
	return 0;
}

char *script_output(struct script *script, u32 max, u32 *taken, u32 *there)
{
	struct output *output = &script->program->run->output;
	char *buf = NULL;
	int err;

	err = mutex_lock_killable(&script->lock);
	if (err)
		return ERR_PTR(err);
	*there = output->len;
	*taken = min(max, *there);
	if (*taken) {
		buf = kvmalloc(*taken, GFP_KERNEL_ACCOUNT);
		if (buf)
			output_take(output, buf, *taken);
		else
			buf = ERR_PTR(-ENOMEM);
	}
	mutex_unlock(&script->lock);
	return buf;
}

__poll_t script_poll(struct script *script, struct file *file,
		     struct poll_table_struct *wait)
{
	poll_wait(file, &script->death, wait);
	return program_is_alive(script->program) ? 0 : EPOLLERR | EPOLLHUP;
}

void script_info(struct script *script, struct syscript_info *info)
{
	memset(info, 0, sizeof(*info));
	program_info(script->program, info);
	info->id = script->id;
	info->pid = pid_vnr(script->pid);
	info->uid = from_kuid_munged(current_user_ns(), script->uid);
}

int script_next(u64 after, struct syscript_info *info)
{
	bool mine, all = ns_capable_noaudit(&init_user_ns, CAP_SYS_PTRACE);
	unsigned long id = after;
	struct script *script;

	if (syscalls_nested())
		return -EDEADLK;
	for (;;) {
		spin_lock(&scripts_lock);
		script = xa_find_after(&scripts, &id, ULONG_MAX, XA_PRESENT);
		mine = script && (all || uid_eq(script->uid, current_uid()));
		if (mine)
			script_info(script, info);
		spin_unlock(&scripts_lock);
		if (!script)
			return -ENOENT;
		if (mine)
			return 0;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
}

/* The first script after @id, with a reference; @id becomes that script's. */
static struct script *visit_next(unsigned long *id)
{
	struct script *script;

	spin_lock(&scripts_lock);
	script = xa_find_after(&scripts, id, ULONG_MAX, XA_PRESENT);
	if (script)
		script->walkers++;
	spin_unlock(&scripts_lock);
	return script;
}

static void visit_end(struct script *script)
{
	spin_lock(&scripts_lock);
	if (!--script->walkers)
		wake_up_all(&walkers_gone);
	spin_unlock(&scripts_lock);
}

int script_each(void (*visit)(struct program *program, void *arg), void *arg)
{
	struct script *script;
	unsigned long id = 0;

	while ((script = visit_next(&id))) {
		visit(script->program, arg);
		visit_end(script);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static void script_idle(struct script *script)
{
	u64 calls = READ_ONCE(script->program->calls);

	/* If a call holds the lock, the script is checked again in the next round. */
	if (calls == script->idle_calls && mutex_trylock(&script->lock)) {
		program_idle(script->program);
		mutex_unlock(&script->lock);
	}
	script->idle_calls = calls;
}

bool script_idle_next(unsigned long *id)
{
	struct script *script = visit_next(id);

	if (!script)
		return false;
	script_idle(script);
	visit_end(script);
	return true;
}

static struct script *script_alloc(struct file *device)
{
	struct script *script = kzalloc(sizeof(*script), GFP_KERNEL_ACCOUNT);

	if (!script)
		return NULL;
	script->id = atomic64_inc_return(&last_id);
	/* Reserves the entry, so that script_publish() cannot fail. */
	if (xa_reserve(&scripts, script->id, GFP_KERNEL_ACCOUNT)) {
		kfree(script);
		return NULL;
	}
	mutex_init(&script->lock);
	refcount_set(&script->refs, 1);
	init_waitqueue_head(&script->death);
	script->uid = current_uid();
	/* Held, so that no later memory map or process has the same address. */
	mmgrab(current->mm);
	script->mm = current->mm;
	script->pid = get_pid(task_tgid(current));
	script->device = get_file(device);
	pr_debug("script %lu created\n", script->id);
	return script;
}

struct script *script_create(const struct syscript_register *reg, struct file *device,
			     char *error)
{
	struct script *script = script_alloc(device);
	int err;

	if (!script)
		return ERR_PTR(-ENOMEM);
	err = program_create(&script->program, reg, CONTEXT_PROCESS, error);
	if (!err)
		return script;
	if (program_kills(reg->flags, err))
		script_kill_caller(script, reg->name, err);
	script_hide(script);
	script_free(script);
	return ERR_PTR(err);
}

static const struct program *program_of(struct script_base base)
{
	if (base.shared)
		return shared_program(base.shared);
	return base.script ? base.script->program : NULL;
}

int script_load(struct script *script, const struct syscript_register *reg,
		const char *image, struct script_base base, char *error)
{
	int err;

	script->base = base;
	err = program_load(script->program, reg, image, program_of(base), error);
	if (program_kills(reg->flags, err))
		script_kill_caller(script, reg->name, err);
	return err;
}

void script_publish(struct script *script)
{
	xa_store(&scripts, script->id, script, GFP_KERNEL);
}
