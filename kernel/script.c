// SPDX-License-Identifier: GPL-2.0
/*
 * A script's life: docs/design/script-lifetime.md has the whole of it.
 *
 * What guards what:
 *
 *   script->lock     the turn: all operations on the program, and the writers of
 *                    its counters and texts.  Held during a run, so it may be
 *                    held for long; taken killably.
 *   program->vm_lock inside ->lock: program->vm as seen by those who do not
 *                    have the turn (program_info()).  Held for a few loads.
 *   scripts_lock     the list.  Taken inside ->lock (a script may close another
 *                    one's fd) and never around it, but for a trylock
 *                    (script_idle()); vm_lock nests in it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/ratelimit.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "idle.h"
#include "program.h"
#include "script.h"
#include "syscalls.h"
#include "watchers.h"

#define CREATE_TRACE_POINTS
#include "script_events.h"

struct script {
	/* What a call touches. */
	struct mutex lock;
	struct program *program;
	struct mm_struct *mm;		/* held to be compared, never used */
	refcount_t refs;		/* the file, and each call under way */
	u64 idle_round, idle_calls;	/* see script_idle_next() */

	wait_queue_head_t death;
	struct list_head node;
	u64 id;
	struct file *device;		/* keeps the module, see script_free() */
	struct pid *pid;
	kuid_t uid;
};

static LIST_HEAD(scripts);
static DEFINE_MUTEX(scripts_lock);
static atomic64_t last_id = ATOMIC64_INIT(0);

int script_may_create(void)
{
	if (syscalls_nested())
		return -EDEADLK;
	if (!limits_enabled())
		return -ESHUTDOWN;
	if (limits_locked_down())
		return -EPERM;
	return watchers_check() ?: audits_check();
}

int script_may_use(const struct script *script)
{
	if (syscalls_nested())
		return -EDEADLK;
	if (unlikely(script->mm != current->mm))
		return -EXDEV;
	return 0;
}

/* What SYSCRIPT_KILL asks for. */
static void script_kill_caller(const struct script *script, const char *name, int err)
{
	/* Without the flag, suppressed lines would be counted at warning level. */
	static struct ratelimit_state ratelimit =
		RATELIMIT_STATE_INIT_FLAGS(ratelimit, DEFAULT_RATELIMIT_INTERVAL,
					   DEFAULT_RATELIMIT_BURST,
					   RATELIMIT_MSG_ON_RELEASE);

	/* The name is the user's: last, so that it can pass for nothing else. */
	if (__ratelimit(&ratelimit))
		pr_notice("killed process %d of user %u: over the %s limit of script %llu, %s\n",
			  task_tgid_nr(current),
			  from_kuid(&init_user_ns, script->uid),
			  err == -ETIME ? "time" : "memory", script->id, name);
	send_sig(SIGKILL, current, 1);
}

static void script_free(struct script *script)
{
	pr_debug("script %llu destroyed\n", script->id);
	put_pid(script->pid);
	mmdrop(script->mm);
	mutex_destroy(&script->lock);
	/*
	 * If this was the module's last user: fput() puts the work off until
	 * the task has left the module's text.
	 */
	fput(script->device);
	kfree(script);
}

/*
 * No references are left.  This may be another process than the owner, an
 * exiting one, or a kernel thread: nothing here looks at current.
 */
static noinline void script_destroy(struct script *script)
{
	/*
	 * 1. No call is under way, for each holds a reference, and none can come
	 *    without the file.  A walker of the list could still find it; not
	 *    after this.
	 */
	mutex_lock(&scripts_lock);
	list_del_init(&script->node);
	mutex_unlock(&scripts_lock);

	/* 2. The program, without the turn: it has no callers any more. */
	program_destroy(script->program);

	/* 3. Pollers held the file too, and epoll forgot it when it was closed. */
	script_free(script);
}

static __always_inline void put(struct script *script)
{
	if (refcount_dec_and_test(&script->refs))
		script_destroy(script);
}

void script_put(struct script *script)
{
	put(script);
}

static int script_run(struct script *script, struct syscript_call *call)
{
	struct program *program = script->program;
	int err;

	trace_call(script->id, program->name);
	err = program_call(program, call);
	trace_done(script->id, program->name, err);
	if (likely(!err))
		return 0;
	/* Once only: who finds it dead gets -ENOTRECOVERABLE. */
	if (!program_is_alive(program) && err != -ENOTRECOVERABLE) {
		trace_kill(script->id, program->name, err);
		wake_up_poll(&script->death, EPOLLERR | EPOLLHUP);
	}
	if (program_kills(program->flags, err))
		script_kill_caller(script, program->name, err);
	return err;
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
	err = watchers_check();
	if (unlikely(err))
		return err;

	refcount_inc(&script->refs);
	err = mutex_lock_killable(&script->lock);
	if (likely(!err)) {
		err = script_run(script, call);
		mutex_unlock(&script->lock);
	}
	put(script);
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
	bool all = ns_capable_noaudit(&init_user_ns, CAP_SYS_PTRACE);
	struct script *script, *next = NULL;
	int err;

	if (syscalls_nested())
		return -EDEADLK;
	err = mutex_lock_killable(&scripts_lock);
	if (err)
		return err;
	list_for_each_entry(script, &scripts, node) {
		if (!all && !uid_eq(script->uid, current_uid()))
			continue;
		/* In order of birth, which is not the list's. */
		if (script->id > after && (!next || script->id < next->id))
			next = script;
	}
	if (next)
		script_info(next, info);
	mutex_unlock(&scripts_lock);
	return next ? 0 : -ENOENT;
}

int script_each(void (*visit)(struct program *program, void *arg), void *arg)
{
	struct script *script;
	int err = mutex_lock_killable(&scripts_lock);

	if (err)
		return err;
	list_for_each_entry(script, &scripts, node)
		visit(script->program, arg);
	mutex_unlock(&scripts_lock);
	return 0;
}

static void script_idle(struct script *script)
{
	u64 calls = READ_ONCE(script->program->calls);

	/* Not before the next round, where a call has the turn. */
	if (calls == script->idle_calls && mutex_trylock(&script->lock)) {
		program_idle(script->program);
		mutex_unlock(&script->lock);
	}
	script->idle_calls = calls;
}

/* The list's lock keeps it alive: script_destroy() begins with that. */
bool script_idle_next(u64 round)
{
	struct script *script;
	bool there;

	mutex_lock(&scripts_lock);
	script = list_first_entry_or_null(&scripts, struct script, node);
	there = script && script->idle_round != round;
	if (there) {
		script->idle_round = round;
		list_move_tail(&script->node, &scripts);
		script_idle(script);
	}
	mutex_unlock(&scripts_lock);
	return there;
}

static struct script *script_alloc(struct file *device)
{
	struct script *script = kzalloc(sizeof(*script), GFP_KERNEL_ACCOUNT);

	if (!script)
		return NULL;
	mutex_init(&script->lock);
	refcount_set(&script->refs, 1);
	init_waitqueue_head(&script->death);
	INIT_LIST_HEAD(&script->node);
	script->id = atomic64_inc_return(&last_id);
	script->uid = current_uid();
	/* Held, so that no later memory map or process has the same address. */
	mmgrab(current->mm);
	script->mm = current->mm;
	script->pid = get_pid(task_tgid(current));
	script->device = get_file(device);
	pr_debug("script %llu created\n", script->id);
	return script;
}

struct script *script_create(const struct syscript_register *reg, const char *image,
			     struct file *device, char *error)
{
	struct script *script = script_alloc(device);
	int err;

	if (!script)
		return ERR_PTR(-ENOMEM);
	err = program_create(&script->program, reg, image, error);
	if (!err)
		return script;
	if (program_kills(reg->flags, err))
		script_kill_caller(script, reg->name, err);
	script_free(script);
	return ERR_PTR(err);
}

void script_publish(struct script *script)
{
	mutex_lock(&scripts_lock);
	list_add_tail(&script->node, &scripts);
	mutex_unlock(&scripts_lock);
	idle_watch();
}
