/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of scripts: the bounds of one program, the share of an account (a
 * user's in the module, a process's in libsyscript), and the switch that turns
 * all scripts off.
 */
#ifndef SYSCRIPT_LIMITS_H
#define SYSCRIPT_LIMITS_H

#ifdef __KERNEL__
#include <linux/uidgid.h>
#endif

#include "context.h"
#include "platform.h"

struct cred;
struct limits_account;
struct mm_struct;

/**
 * struct limits - limits of one program; see struct syscript_register
 * @memory: bytes
 * @time:   ns in script code per call
 * @load:   ns in script code for the registration, set by limits_resolve()
 * @wall:   ns per call
 * @grace:  ns that a run may continue while a signal is pending
 */
struct limits {
	u64 memory;
	u64 time;
	u64 load;
	u64 wall;
	u64 grace;
};

#ifdef __KERNEL__
extern bool limits_enabled_param;

/*
 * The kernel is locked down (integrity): it must not be changed, and a fault of
 * an engine would let its users change it.
 */
bool limits_locked_down(void);

/* False: no new script, no new call; runs under way finish. */
static inline bool limits_enabled(void)
{
	return READ_ONCE(limits_enabled_param);
}

/* The id of the account that the caller is charged to for a program in @context. */
kuid_t limits_account_uid(enum context context);
/* The id of an account. */
kuid_t limits_uid_of(const struct limits_account *account);

/*
 * May a message about this account be logged now? Each account has its own rate limit. Any
 * context.
 */
bool limits_may_notice(kuid_t account);

/**
 * struct limits_pinned - pages that limits_pin() has charged
 * @mm:      of the process, whose VmPin includes them; held
 * @cred:    held for its user, whose count of locked pages io_uring and others share; NULL for a
 *           caller without a limit
 * @account: our account, for all ids in the user's namespaces
 */
struct limits_pinned {
	unsigned long pages;
	struct mm_struct *mm;
	const struct cred *cred;
	struct limits_account *account;
};

/*
 * Charges @pages of the calling process that are going to be pinned, against its RLIMIT_MEMLOCK.
 * The caller already has a charged program.  Returns 0, or -ENOMEM with the reason in @error.
 */
int limits_pin(struct limits_pinned *pinned, unsigned long pages, char *error,
	       size_t error_len);
void limits_unpin(struct limits_pinned *pinned);

/*
 * limits_open_arena() charges an arena of the module, or a process's stacks, to the caller's
 * account: 0 with @account, or -ENOMEM; limits_join_arena() charges one more to an existing
 * @account. Pages are charged as they are allocated: false if the account's limit is reached.
 * limits_close_arena() uncharges the @pages that are still charged.
 */
int limits_open_arena(struct limits_account **account);
void limits_join_arena(struct limits_account *account);
bool limits_hold(struct limits_account *account, unsigned long pages);
void limits_release(struct limits_account *account, unsigned long pages);
void limits_close_arena(struct limits_account *account, unsigned long pages);
#endif

/*
 * Puts the defaults where @limits has 0.  Returns 0, or -EINVAL with the reason
 * in @error if a limit is out of bounds.
 */
int limits_resolve(struct limits *limits, char *error, size_t error_len);

/*
 * Charges one program of @memory bytes to the caller's account for @context: programs
 * for subsystems have separate shares.  Returns 0 with @account for
 * limits_uncharge(), or -EDQUOT or -ENOMEM with the reason in @error.
 */
int limits_charge(struct limits_account **account, enum context context, u64 memory,
		  char *error, size_t error_len);

/* Uncharges the memory of a dead program; the program itself remains charged. */
void limits_uncharge_memory(struct limits_account *account, u64 memory);

/* Uncharges the program, and @memory if that is still charged. */
void limits_uncharge(struct limits_account *account, u64 memory);

#endif /* SYSCRIPT_LIMITS_H */
