// SPDX-License-Identifier: GPL-2.0
/*
 * The bounds of programs and the shares of users.
 *
 * A user's share is counted in a struct limits_account, which lives in a small
 * hash for as long as they have a script.  A script's memory counts with its
 * limit, not with what it holds: memory that was promised at registration cannot
 * be refused in the middle of a run because of another script.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/syscript_program.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "limits.h"
#include "../../include/uapi/syscript.h"

bool limits_enabled_param = true;
/* Whether scripts are enabled, as a static key for calls of programs, which then load nothing. */
DEFINE_STATIC_KEY_TRUE(syscript_enabled);
EXPORT_SYMBOL_NS_GPL(syscript_enabled, COMPAT_NS(SYSCRIPT));

static int enabled_set(const char *text, const struct kernel_param *kp)
{
	int err = param_set_bool(text, kp);

	if (limits_enabled())
		static_branch_enable(&syscript_enabled);
	else
		static_branch_disable(&syscript_enabled);
	return err;
}

static const struct kernel_param_ops enabled_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG, .set = enabled_set, .get = param_get_bool,
};
module_param_cb(enabled, &enabled_ops, &limits_enabled_param, 0644);
__MODULE_PARM_TYPE(enabled, "bool");
MODULE_PARM_DESC(enabled, "Accept scripts and calls (default: Y)");

static bool despite_lockdown;
module_param(despite_lockdown, bool, 0644);
MODULE_PARM_DESC(despite_lockdown,
		 "Accept scripts where the kernel is locked down for integrity (default: N)");

bool limits_locked_down(void)
{
	return !READ_ONCE(despite_lockdown) &&
	       security_locked_down(LOCKDOWN_INTEGRITY_MAX);
}

/* A module parameter with bounds, settable while scripts run. */
struct limits_param {
	u64 value, min, max;
};

static int limits_param_set(const char *text, const struct kernel_param *kp)
{
	struct limits_param *param = kp->arg;
	unsigned long long value;
	int err;

	err = kstrtoull(text, 0, &value);
	if (err)
		return err;
	if (value < param->min || value > param->max)
		return -ERANGE;
	WRITE_ONCE(param->value, value);
	return 0;
}

static int limits_param_get(char *buffer, const struct kernel_param *kp)
{
	const struct limits_param *param = kp->arg;

	return sysfs_emit(buffer, "%llu\n", READ_ONCE(param->value));
}

static const struct kernel_param_ops limits_param_ops = {
	.set = limits_param_set,
	.get = limits_param_get,
};

static struct limits_param max_scripts = { 256, 1, 1 << 16 };
module_param_cb(max_scripts, &limits_param_ops, &max_scripts, 0644);
MODULE_PARM_DESC(max_scripts, "Scripts that one user may have (default: 256)");

static struct limits_param max_memory = {
	96ULL << 20, SYSCRIPT_MEMORY_MIN, 1ULL << 40
};
module_param_cb(max_memory, &limits_param_ops, &max_memory, 0644);
MODULE_PARM_DESC(max_memory,
		 "Bytes that the memory limits of one user's scripts may add up to (default: 100663296)");

static struct limits_param max_arenas = { 128ULL << 20, 1 << 16, 1ULL << 40 };
module_param_cb(max_arenas, &limits_param_ops, &max_arenas, 0644);
MODULE_PARM_DESC(max_arenas,
		 "Bytes of memory that the confined engine's scripts of one user may use, with their stacks (default: 134217728)");

/* For programs without a process, which stay loaded until they are unloaded. */
static struct limits_param max_programs = { 16, 1, 1 << 16 };
module_param_cb(max_programs, &limits_param_ops, &max_programs, 0644);
MODULE_PARM_DESC(max_programs, "Programs for subsystems that one user may have (default: 16)");

static struct limits_param max_program_memory = {
	16ULL << 20, SYSCRIPT_MEMORY_MIN, 1ULL << 40
};
module_param_cb(max_program_memory, &limits_param_ops, &max_program_memory, 0644);
MODULE_PARM_DESC(max_program_memory,
		 "Bytes that the memory limits of one user's programs for subsystems may add up to (default: 16777216)");

/*
 * Limits of the account of bases of the machine: as many programs as shared.c keeps, plus one
 * being made.
 */
static const struct limits_param max_shared = { SYSCRIPT_SHARED_MAX + 1 };
static const struct limits_param max_shared_memory = { ~0ULL };

static struct limits_param max_memory_limit = {
	16ULL << 20, SYSCRIPT_MEMORY_MIN, 1ULL << 40
};
module_param_cb(max_memory_limit, &limits_param_ops, &max_memory_limit, 0644);
MODULE_PARM_DESC(max_memory_limit,
		 "Highest memory limit of one script, in bytes (default: 16777216)");

static struct limits_param max_time_limit = {
	10ULL * NSEC_PER_SEC, NSEC_PER_MSEC, 3600ULL * NSEC_PER_SEC
};
module_param_cb(max_time_limit, &limits_param_ops, &max_time_limit, 0644);
MODULE_PARM_DESC(max_time_limit,
		 "Highest time limit of one call, in ns (default: 10000000000)");

/* Elapsed time without waits that a signal ends; 0: no limit. */
static struct limits_param max_wall_limit = {
	3600ULL * NSEC_PER_SEC, 0, 24 * 3600ULL * NSEC_PER_SEC
};
module_param_cb(max_wall_limit, &limits_param_ops, &max_wall_limit, 0644);
MODULE_PARM_DESC(max_wall_limit,
		 "Highest wall-clock limit of one call, in ns; 0: scripts may do without (default: 3600000000000)");

/* 0 in a request means the highest limit. */
static int resolve_wall(u64 *wall, char *error, size_t error_len)
{
	u64 max = READ_ONCE(max_wall_limit.value) ?: SYSCRIPT_NO_LIMIT;

	if (!*wall)
		*wall = min(SYSCRIPT_WALL_DEFAULT, max);
	else if (*wall == SYSCRIPT_NO_LIMIT)
		*wall = max;
	if (*wall <= max)
		return 0;
	scnprintf(error, error_len,
		  "wall-clock limit %llu ms is too high: the maximum is %llu ms (module parameter max_wall_limit)",
		  DIV_ROUND_UP_ULL(*wall, NSEC_PER_MSEC), div_u64(max, NSEC_PER_MSEC));
	return -EINVAL;
}

int limits_resolve(struct limits *limits, char *error, size_t error_len)
{
	u64 memory_max = READ_ONCE(max_memory_limit.value);
	u64 time_max = READ_ONCE(max_time_limit.value);

	if (!limits->memory)
		limits->memory = min(SYSCRIPT_MEMORY_DEFAULT, memory_max);
	if (!limits->time)
		limits->time = min(SYSCRIPT_TIME_DEFAULT, time_max);
	if (!limits->grace)
		limits->grace = SYSCRIPT_GRACE_DEFAULT;

	if (limits->memory < SYSCRIPT_MEMORY_MIN || limits->memory > memory_max) {
		scnprintf(error, error_len,
			  "memory limit %llu KiB is outside %llu .. %llu KiB (module parameter max_memory_limit)",
			  limits->memory >> 10, SYSCRIPT_MEMORY_MIN >> 10, memory_max >> 10);
		return -EINVAL;
	}
	if (limits->time > time_max) {
		scnprintf(error, error_len,
			  "time limit %llu ms is too high: the maximum is %llu ms (module parameter max_time_limit)",
			  DIV_ROUND_UP_ULL(limits->time, NSEC_PER_MSEC),
			  div_u64(time_max, NSEC_PER_MSEC));
		return -EINVAL;
	}
	if (limits->grace > SYSCRIPT_GRACE_DEFAULT) {
		scnprintf(error, error_len, "grace time %llu ms is too high: the maximum is %llu ms",
			  DIV_ROUND_UP_ULL(limits->grace, NSEC_PER_MSEC),
			  div_u64(SYSCRIPT_GRACE_DEFAULT, NSEC_PER_MSEC));
		return -EINVAL;
	}
	limits->load = max(limits->time, min(SYSCRIPT_TIME_REGISTER, time_max));
	return resolve_wall(&limits->wall, error, error_len);
}

#define NOTICES	64	/* rate limits of the log, shared by all accounts */

struct limits_account {
	struct hlist_node node;
	kuid_t uid;
	enum context context;
	u64 scripts;	/* the account is freed with its last script, pinned page and arena */
	u64 memory;
	unsigned long pinned;	/* pages charged to the account */
	unsigned long arenas, held;	/* and their pages */
};

static DEFINE_HASHTABLE(limits_users, 6);
static DEFINE_SPINLOCK(limits_lock);	/* guards the table and all accounts */

/* The limits of an account, and their names in error texts. */
static const struct limits_kind {
	const struct limits_param *max, *max_memory;
	const char *name, *max_name, *memory_name;
} limits_kinds[] = {
	[CONTEXT_PROCESS] = { &max_scripts, &max_memory, "scripts", "max_scripts",
			      "max_memory" },
	[CONTEXT_ATOMIC] = { &max_programs, &max_program_memory, "programs",
			     "max_programs", "max_program_memory" },
	[CONTEXT_SHARED] = { &max_shared, &max_shared_memory, "shared bases" },
};

static struct limits_account *limits_find(kuid_t uid, enum context context)
{
	struct limits_account *user;

	lockdep_assert_held(&limits_lock);
	hash_for_each_possible(limits_users, user, node, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid) && user->context == context)
			return user;
	}
	return NULL;
}

static int limits_take(struct limits_account *user, u64 memory, char *error,
		       size_t error_len)
{
	const struct limits_kind *kind = &limits_kinds[user->context];
	u64 scripts_max = READ_ONCE(kind->max->value);
	u64 memory_max = READ_ONCE(kind->max_memory->value);

	lockdep_assert_held(&limits_lock);
	if (user->scripts >= scripts_max) {
		scnprintf(error, error_len,
			  "%llu %s of this user are alive: close some, or raise the module parameter %s (%llu)",
			  user->scripts, kind->name, kind->max_name, scripts_max);
		return -EDQUOT;
	}
	/* By subtraction, because the sum may overflow. */
	if (user->memory > memory_max || memory > memory_max - user->memory) {
		scnprintf(error, error_len,
			  "this user's %s hold %llu bytes, %llu more are too many: close some, ask for a lower memory limit, or raise the module parameter %s (%llu)",
			  kind->name, user->memory, memory, kind->memory_name, memory_max);
		return -EDQUOT;
	}
	user->scripts++;
	user->memory += memory;
	return 0;
}

/*
 * In a user namespace one user can act as each of their 65,536 subordinate ids, so the account is
 * that of the namespace's owner. Under root as the owner (a container manager), each user id has
 * an account for scripts. Programs for subsystems are loaded by tasks with rights over the
 * container's network, which could become any of its users: they all share the account of the
 * container's root, or their own if that is the machine's root.
 */
kuid_t limits_account_uid(enum context context)
{
	kuid_t uid = current_uid(), root;
	struct user_namespace *ns;

	if (context == CONTEXT_SHARED)
		return GLOBAL_ROOT_UID;
	for (ns = current_user_ns(); ns->parent; ns = ns->parent) {
		root = make_kuid(ns, 0);
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
		else if (context == CONTEXT_ATOMIC && uid_valid(root) &&
			 !uid_eq(root, GLOBAL_ROOT_UID))
			uid = root;
	}
	return uid;
}

kuid_t limits_uid_of(const struct limits_account *account)
{
	return account->uid;
}

/*
 * The rate limits outlive the accounts, which end with their last script: otherwise a user could
 * log again by registering again.
 */
bool limits_may_notice(kuid_t account)
{
	/* Without the flag, suppressed lines would be counted at warning level. */
	static struct ratelimit_state notices[] = {
		[0 ... NOTICES - 1] = RATELIMIT_STATE_INIT_FLAGS(notices,
			DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST,
			RATELIMIT_MSG_ON_RELEASE),
	};

	return __ratelimit(&notices[hash_32(__kuid_val(account), ilog2(NOTICES))]);
}

static struct limits_account *limits_make(enum context context)
{
	struct limits_account *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (user) {
		user->uid = limits_account_uid(context);
		user->context = context;
	}
	return user;
}

/* Returns the account in the table, or inserts @fresh. */
static struct limits_account *limits_known(struct limits_account *fresh)
{
	return limits_find(fresh->uid, fresh->context) ?: fresh;
}

static void limits_add(struct limits_account *user)
{
	lockdep_assert_held(&limits_lock);
	if (!hash_hashed(&user->node))
		hash_add(limits_users, &user->node, __kuid_val(user->uid));
}

int limits_charge(struct limits_account **account, enum context context, u64 memory,
		  char *error, size_t error_len)
{
	struct limits_account *fresh = limits_make(context), *user;
	int err;

	if (!fresh)
		return -ENOMEM;
	spin_lock(&limits_lock);
	user = limits_known(fresh);
	err = limits_take(user, memory, error, error_len);
	if (!err)
		limits_add(user);
	spin_unlock(&limits_lock);

	if (err || user != fresh)
		kfree(fresh);
	*account = user;
	return err;
}

void limits_uncharge_memory(struct limits_account *user, u64 memory)
{
	spin_lock(&limits_lock);
	user->memory -= memory;
	spin_unlock(&limits_lock);
}

/*
 * Returns @user removed from the table, so that no task can find it any more, if it is unused;
 * else NULL.
 */
static struct limits_account *limits_drop(struct limits_account *user)
{
	lockdep_assert_held(&limits_lock);
	if (user->scripts || user->pinned || user->arenas)
		return NULL;
	hash_del(&user->node);
	return user;
}

static void limits_uncharge_all(struct limits_account *user, u64 scripts, u64 memory,
				unsigned long pinned)
{
	spin_lock(&limits_lock);
	user->scripts -= scripts;
	user->memory -= memory;
	user->pinned -= pinned;
	user = limits_drop(user);
	spin_unlock(&limits_lock);

	/* No task can have found it: it left the table first. */
	kfree(user);
}

void limits_uncharge(struct limits_account *user, u64 memory)
{
	limits_uncharge_all(user, 1, memory, 0);
}

/* -- Arenas -------------------------------------------------------------------------- */

int limits_open_arena(struct limits_account **account)
{
	struct limits_account *fresh = limits_make(CONTEXT_PROCESS), *user;

	if (!fresh)
		return -ENOMEM;
	spin_lock(&limits_lock);
	user = limits_known(fresh);
	limits_add(user);
	user->arenas++;
	spin_unlock(&limits_lock);

	if (user != fresh)
		kfree(fresh);
	*account = user;
	return 0;
}

void limits_join_arena(struct limits_account *user)
{
	spin_lock(&limits_lock);
	user->arenas++;
	spin_unlock(&limits_lock);
}

bool limits_hold(struct limits_account *user, unsigned long pages)
{
	unsigned long max = READ_ONCE(max_arenas.value) >> PAGE_SHIFT;
	bool fits;

	spin_lock(&limits_lock);
	fits = user->held <= max && pages <= max - user->held;
	if (fits)
		user->held += pages;
	spin_unlock(&limits_lock);
	return fits;
}

void limits_release(struct limits_account *user, unsigned long pages)
{
	spin_lock(&limits_lock);
	user->held -= pages;
	spin_unlock(&limits_lock);
}

void limits_close_arena(struct limits_account *user, unsigned long pages)
{
	spin_lock(&limits_lock);
	user->held -= pages;
	user->arenas--;
	user = limits_drop(user);
	spin_unlock(&limits_lock);
	kfree(user);
}

/* -- Pinned pages ------------------------------------------------------------------ */

/* Returns 0, or the number of pages that would exceed the limit. */
static unsigned long limits_take_locked(struct user_struct *user, unsigned long pages,
					unsigned long limit)
{
	long locked = atomic_long_read(&user->locked_vm);

	do {
		if (locked + pages > limit)
			return locked + pages;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &locked, locked + pages));
	return 0;
}

static unsigned long limits_take_pinned(struct limits_pinned *pinned, unsigned long limit)
{
	struct limits_account *account;
	unsigned long over = 0;

	spin_lock(&limits_lock);
	account = limits_find(limits_account_uid(CONTEXT_PROCESS), CONTEXT_PROCESS);
	if (account->pinned + pinned->pages > limit)
		over = account->pinned + pinned->pages;
	else
		account->pinned += pinned->pages;
	spin_unlock(&limits_lock);
	pinned->account = account;
	return over;
}

/*
 * Charged twice: the kernel's count is per user id, and includes other locked pages; ours is per
 * account.
 */
static unsigned long limits_take_both(struct limits_pinned *pinned, unsigned long limit)
{
	unsigned long over = limits_take_pinned(pinned, limit);

	if (over)
		return over;
	over = limits_take_locked(current_user(), pinned->pages, limit);
	if (over)
		limits_uncharge_all(pinned->account, 0, 0, pinned->pages);
	else
		pinned->cred = get_current_cred();
	return over;
}

int limits_pin(struct limits_pinned *pinned, unsigned long pages, char *error,
	       size_t error_len)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT, over = 0;

	*pinned = (struct limits_pinned){ .pages = pages };
	/* A caller without the capability is limited, not refused, so audit gets no record. */
	if (!ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK))
		over = limits_take_both(pinned, limit);
	if (over) {
		scnprintf(error, error_len,
			  "the shared memory is more than may be locked: raise RLIMIT_MEMLOCK (ulimit -l) from %lu to %lu KiB",
			  limit << (PAGE_SHIFT - 10), over << (PAGE_SHIFT - 10));
		return -ENOMEM;
	}
	/* For limits_unpin(), which may run after the process has exited. */
	mmgrab(current->mm);
	pinned->mm = current->mm;
	atomic64_add(pages, &pinned->mm->pinned_vm);
	return 0;
}

void limits_unpin(struct limits_pinned *pinned)
{
	atomic64_sub(pinned->pages, &pinned->mm->pinned_vm);
	mmdrop(pinned->mm);
	if (!pinned->cred)
		return;
	atomic_long_sub(pinned->pages, &pinned->cred->user->locked_vm);
	put_cred(pinned->cred);
	limits_uncharge_all(pinned->account, 0, 0, pinned->pages);
}
