// SPDX-License-Identifier: GPL-2.0
/*
 * A script's life: docs/design/script-lifetime.md has the whole of it.
 *
 * What guards what:
 *
 *   script->lock     whoever holds it has the turn: engine operations, the
 *                    counters' writers, the error text.  Held during a run,
 *                    so it may be held for long; taken killably.
 *   script->vm_lock  inside ->lock: script->vm as seen by those who do not
 *                    have the turn (script_info()).  Held for a few loads.
 *   scripts_lock     the list.  Taken inside ->lock (a script may close another
 *                    one's fd) and never around it; ->vm_lock nests in it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "limits.h"
#include "script.h"
#include "syscalls.h"

struct script {
	/* What a call touches. */
	struct mutex lock;
	struct engine_vm *vm;		/* NULL once dead */
	const struct engine_ops *engine;
	struct mm_struct *mm;		/* held to be compared, never used */
	struct task_struct *runner;	/* who has the VM run, or NULL */
	u64 calls, errors, kills;
	u32 flags;
	bool own_error;			/* ->error is newer than the engine's */
	bool orphaned;			/* lost its file in the middle of a run */

	spinlock_t vm_lock;		/* ->vm, for those without ->lock */
	wait_queue_head_t death;
	struct engine_limits limits;
	struct engine_stats last_stats;	/* of a dead script */
	char *last_output;		/* of a dead script, or NULL */
	u32 last_output_len, last_output_taken;

	struct list_head node;
	u64 id;
	struct file *device;		/* keeps the module, see script_free() */
	struct pid *pid;
	struct limits_user *user;
	kuid_t uid;
	char name[SYSCRIPT_NAME_LEN];
	char error[SCRIPT_ERROR_LEN];
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
	if (syscalls_watched())
		return -EOPNOTSUPP;
	return 0;
}

int script_may_use(const struct script *script)
{
	if (syscalls_nested())
		return -EDEADLK;
	if (script->mm != current->mm)
		return -EXDEV;
	return 0;
}

/* A limit was passed and the script asked for the paper's way: no mercy. */
static void script_kill_caller(const struct script *script, int err)
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
			  err == -ETIME ? "time" : "memory", script->id,
			  script->name);
	send_sig(SIGKILL, current, 1);
}

static bool script_is_fatal(int err)
{
	return err == -ETIME || err == -ENOBUFS || err == -ECANCELED;
}

/* The VM goes; the rest stays for whoever wants to know what it was. */
static void script_destroy_vm(struct script *script)
{
	struct engine_vm *vm = script->vm;

	/* 1. From here on script_info() shows the last counters instead. */
	spin_lock(&script->vm_lock);
	script->engine->stats(vm, &script->last_stats);
	script->last_stats.memory = 0;
	script->last_stats.mcode = 0;
	script->vm = NULL;
	spin_unlock(&script->vm_lock);

	/* 2. Nobody else can reach it: who has no turn sees NULL. */
	script->engine->destroy(vm);

	/* 3. Only now may the user's next script have the memory. */
	limits_uncharge_memory(script->user, script->limits.memory);
}

/* Takes along what the doomed run printed, if there is memory for it. */
static void script_save_output(struct script *script)
{
	size_t len = script->engine->output(script->vm, NULL, 0);
	char *buf;

	buf = len ? kvmalloc(len, GFP_KERNEL_ACCOUNT | __GFP_NOWARN) : NULL;
	if (!buf)
		return;
	script->engine->output(script->vm, buf, len);
	script->last_output = buf;
	script->last_output_len = len;
}

static void script_die(struct script *script)
{
	lockdep_assert_held(&script->lock);

	WRITE_ONCE(script->kills, script->kills + 1);
	strscpy(script->error, script->engine->error(script->vm),
		sizeof(script->error));
	script_save_output(script);
	script_destroy_vm(script);
	wake_up_poll(&script->death, EPOLLERR | EPOLLHUP);
}

static void script_failed(struct script *script, int err)
{
	lockdep_assert_held(&script->lock);

	script->own_error = false;
	if (!script_is_fatal(err)) {
		WRITE_ONCE(script->errors, script->errors + 1);
		return;
	}
	script_die(script);
	if (script->flags & SYSCRIPT_KILL && err != -ECANCELED)
		script_kill_caller(script, err);
}

static void script_free(struct script *script)
{
	pr_debug("script %llu destroyed\n", script->id);
	put_pid(script->pid);
	mmdrop(script->mm);
	kvfree(script->last_output);
	mutex_destroy(&script->lock);
	/*
	 * If this was the module's last user: fput() puts the work off until
	 * the task has left the module's text.
	 */
	fput(script->device);
	kfree(script);
}

/*
 * Nobody has a reference any more.  This may be another process than the
 * owner, an exiting one, or a kernel thread: nothing here looks at current.
 */
static void script_destroy(struct script *script)
{
	/*
	 * 1. No call is under way and none can come: each holds the file, or is
	 *    the one that is ending here.  Who walks the list could still find
	 *    it; not after this.
	 */
	mutex_lock(&scripts_lock);
	list_del_init(&script->node);
	mutex_unlock(&scripts_lock);

	/* 2. The VM, unless it died earlier; so nobody has to hold ->lock. */
	if (script->vm)
		script_destroy_vm(script);

	/* 3. The script itself, last of what counts: its slot may be reused. */
	limits_uncharge(script->user, 0);

	/* 4. Pollers held the file too, and epoll has let go of it by itself. */
	script_free(script);
}

static bool script_arg_fits(s64 arg)
{
	return arg >= -SYSCRIPT_INT_MAX && arg <= SYSCRIPT_INT_MAX;
}

/* Out of the way of the calls that are right. */
static noinline int script_refuse_arg(struct script *script, unsigned int i,
				      s64 arg)
{
	int err = mutex_lock_killable(&script->lock);

	if (err)
		return err;
	if (script->vm) {
		scnprintf(script->error, sizeof(script->error),
			  "argument %u, %lld, is beyond +-2^53", i + 1, arg);
		script->own_error = true;
	}
	mutex_unlock(&script->lock);
	return -ERANGE;
}

int script_call(struct script *script, struct syscript_call *call)
{
	bool orphaned;
	unsigned int i;
	int err;

	if (!limits_enabled())
		return -ESHUTDOWN;
	if (syscalls_watched())
		return -EOPNOTSUPP;
	for (i = 0; i < call->nargs; i++)
		if (unlikely(!script_arg_fits(call->args[i])))
			return script_refuse_arg(script, i, call->args[i]);

	err = mutex_lock_killable(&script->lock);
	if (unlikely(err))
		return err;
	if (unlikely(!script->vm)) {
		mutex_unlock(&script->lock);
		return -ENOTRECOVERABLE;
	}

	WRITE_ONCE(script->calls, script->calls + 1);
	WRITE_ONCE(script->runner, current);
	err = INDIRECT_CALL_1(script->engine->call, luajit_call, script->vm, call);
	WRITE_ONCE(script->runner, NULL);
	if (unlikely(err))
		script_failed(script, err);
	orphaned = script->orphaned;
	mutex_unlock(&script->lock);

	if (unlikely(orphaned))
		script_destroy(script);
	return err;
}

int script_error(struct script *script, char *text)
{
	const char *last = script->error;
	int err;

	err = mutex_lock_killable(&script->lock);
	if (err)
		return err;
	if (script->vm && !script->own_error)
		last = script->engine->error(script->vm);
	strscpy(text, last, SCRIPT_ERROR_LEN);
	mutex_unlock(&script->lock);
	return 0;
}

/* Like the engine's output(), for a script that has no engine any more. */
static size_t script_last_output(struct script *script, char *buf, size_t len)
{
	size_t there = script->last_output_len - script->last_output_taken;

	len = min(len, there);
	if (len)
		memcpy(buf, script->last_output + script->last_output_taken, len);
	script->last_output_taken += len;
	return there;
}

static size_t script_take_output(struct script *script, char *buf, size_t len)
{
	if (script->vm)
		return script->engine->output(script->vm, buf, len);
	return script_last_output(script, buf, len);
}

char *script_output(struct script *script, u32 max, u32 *taken, u32 *there)
{
	char *buf = NULL;
	int err;

	err = mutex_lock_killable(&script->lock);
	if (err)
		return ERR_PTR(err);
	*there = script_take_output(script, NULL, 0);
	*taken = min(max, *there);
	if (*taken) {
		buf = kvmalloc(*taken, GFP_KERNEL_ACCOUNT);
		if (buf)
			script_take_output(script, buf, *taken);
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
	return READ_ONCE(script->vm) ? 0 : EPOLLERR | EPOLLHUP;
}

static void script_engine_info(struct script *script, struct syscript_info *info)
{
	struct engine_stats stats;

	/* Neither step of script_destroy_vm() can come in between. */
	spin_lock(&script->vm_lock);
	if (script->vm) {
		script->engine->stats(script->vm, &stats);
		info->state = READ_ONCE(script->runner) ?
			SYSCRIPT_STATE_RUNNING : SYSCRIPT_STATE_READY;
	} else {
		stats = script->last_stats;
		info->state = SYSCRIPT_STATE_DEAD;
	}
	spin_unlock(&script->vm_lock);

	info->memory = stats.memory;
	info->memory_peak = stats.memory_peak;
	info->mcode = stats.mcode;
	info->run_time = stats.run_time;
	info->syscalls = stats.syscalls;
	info->traces = stats.traces;
	info->preempt_max = stats.preempt_max;
}

void script_info(struct script *script, struct syscript_info *info)
{
	memset(info, 0, sizeof(*info));
	info->id = script->id;
	info->pid = pid_vnr(script->pid);
	info->uid = from_kuid_munged(current_user_ns(), script->uid);
	info->flags = script->flags;
	strscpy(info->name, script->name, sizeof(info->name));
	info->memory_limit = script->limits.memory;
	info->time_limit = script->limits.time;
	info->calls = READ_ONCE(script->calls);
	info->errors = READ_ONCE(script->errors);
	info->kills = READ_ONCE(script->kills);
	script_engine_info(script, info);
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

static struct script *script_alloc(const struct script_source *source)
{
	struct script *script = kzalloc(sizeof(*script), GFP_KERNEL_ACCOUNT);

	if (!script)
		return NULL;
	mutex_init(&script->lock);
	spin_lock_init(&script->vm_lock);
	init_waitqueue_head(&script->death);
	INIT_LIST_HEAD(&script->node);
	script->engine = &luajit_engine;
	script->id = atomic64_inc_return(&last_id);
	script->flags = source->flags;
	script->limits = source->limits;
	script->uid = current_uid();
	strscpy(script->name, source->name, sizeof(script->name));
	/* Held, so that no later memory map or process has the same address. */
	mmgrab(current->mm);
	script->mm = current->mm;
	script->pid = get_pid(task_tgid(current));
	script->device = get_file(source->device);
	pr_debug("script %llu created\n", script->id);
	return script;
}

struct script *script_create(const struct script_source *source, char *error)
{
	struct script *script;
	int err;

	script = script_alloc(source);
	if (!script)
		return ERR_PTR(-ENOMEM);

	err = limits_resolve(&script->limits, error, SCRIPT_ERROR_LEN);
	if (err)
		goto free_script;
	script->user = limits_charge(script->uid, script->limits.memory, error,
				     SCRIPT_ERROR_LEN);
	if (IS_ERR(script->user)) {
		err = PTR_ERR(script->user);
		goto free_script;
	}
	script->vm = script->engine->create(source->text, source->len,
					    script->name, script->flags,
					    &script->limits, error,
					    SCRIPT_ERROR_LEN);
	if (IS_ERR(script->vm)) {
		err = PTR_ERR(script->vm);
		goto uncharge;
	}
	return script;

uncharge:
	limits_uncharge(script->user, script->limits.memory);
	if (script->flags & SYSCRIPT_KILL && (err == -ETIME || err == -ENOBUFS))
		script_kill_caller(script, err);
free_script:
	script_free(script);
	return ERR_PTR(err);
}

void script_publish(struct script *script)
{
	mutex_lock(&scripts_lock);
	list_add_tail(&script->node, &scripts);
	mutex_unlock(&scripts_lock);
}

/*
 * A script may close the fd that it runs from.  ioctl(2) takes no reference to
 * the file in a process of one thread, and close(2) may release it at once, so
 * this can come out of script_call(), which then has to see to the rest.
 */
void script_release(struct script *script)
{
	if (READ_ONCE(script->runner) == current)
		script->orphaned = true;
	else
		script_destroy(script);
}
