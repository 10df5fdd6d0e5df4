/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What scripts may use: the bounds of one program, the share of one account (a
 * user's in the module, a process's in libsyscript), and the switch that turns
 * all of them off.
 */
#ifndef SYSCRIPT_LIMITS_H
#define SYSCRIPT_LIMITS_H

#ifdef __KERNEL__
#include <linux/uidgid.h>
#endif

#include "platform.h"

struct limits_account;
struct mm_struct;
struct user_struct;

/**
 * struct limits - what one program may use; see struct syscript_register
 * @memory: bytes
 * @time:   ns in script code per call
 * @wall:   ns per call
 * @grace:  ns that a run may go on while a signal is pending
 */
struct limits {
	u64 memory;
	u64 time;
	u64 wall;
	u64 grace;
};

#ifdef __KERNEL__
extern bool limits_enabled_param;

/*
 * The kernel is locked down for integrity: nobody is to change it, and a fault of
 * an engine would let its users.
 */
bool limits_locked_down(void);

/* False: no new script, no new call; those that run come to their end. */
static inline bool limits_enabled(void)
{
	return READ_ONCE(limits_enabled_param);
}

/* Whose share what the caller takes is of. */
kuid_t limits_payer(void);

/**
 * struct limits_pinned - pages that limits_pin() has charged
 * @mm:      of the process, where they show as VmPin; held
 * @user:    the kernel's count of the user's locked pages, with io_uring's and
 *           others'; NULL for who may lock as much as they like
 * @account: ours, which is that of all ids in their user namespaces
 */
struct limits_pinned {
	unsigned long pages;
	struct mm_struct *mm;
	struct user_struct *user;
	struct limits_account *account;
};

/*
 * Charges @pages of the calling process that are going to be pinned, against its
 * RLIMIT_MEMLOCK.  The caller has a program that is charged, too.  Returns 0, or
 * -ENOMEM with the reason in @error.
 */
int limits_pin(struct limits_pinned *pinned, unsigned long pages, char *error,
	       size_t error_len);
void limits_unpin(struct limits_pinned *pinned);
#endif

/*
 * Puts the defaults where @limits has 0.  Returns 0, or -EINVAL with the reason
 * in @error if a limit is out of bounds.
 */
int limits_resolve(struct limits *limits, char *error, size_t error_len);

/*
 * Charges one program of @memory bytes to the caller's account.  Returns 0 with
 * what limits_uncharge() takes in @account, or -EDQUOT or -ENOMEM with the reason
 * in @error.
 */
int limits_charge(struct limits_account **account, u64 memory, char *error,
		  size_t error_len);

/* Uncharges the memory ahead of the program itself (a dead one holds none). */
void limits_uncharge_memory(struct limits_account *account, u64 memory);

/* Uncharges the program, with @memory if that is still charged. */
void limits_uncharge(struct limits_account *account, u64 memory);

#endif /* SYSCRIPT_LIMITS_H */
