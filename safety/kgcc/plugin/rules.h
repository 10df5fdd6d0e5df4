/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The user's rules: what to instrument, and how. kgcc(8) describes the language:
 *
 *	# every operation on a reference counter of inodes
 *	access inode.i_count: event USER;
 *	store *.* of refcount_t in ecryptfs_*: event USER+1(address, value);
 *	call kmem_cache_free(_, struct dentry): check argument 2 != 0;
 */
#ifndef KGCC_RULES_H
#define KGCC_RULES_H

#include "check.h"

/* A member of a structure; names may have * and ?. */
struct field_pattern {
	const char *structure, *member;
	const char *type;		/* or NULL */
};

enum argument_kind { ARGUMENT_ANY, ARGUMENT_NUMBER, ARGUMENT_FIELD, ARGUMENT_POINTER };

/* A condition on a call's argument. */
struct argument_pattern {
	enum argument_kind kind;
	HOST_WIDE_INT number;
	struct field_pattern field;	/* whose address */
	const char *structure;		/* or a pointer to this structure */
};

enum term_kind { TERM_DEFAULT, TERM_ADDRESS, TERM_VALUE, TERM_RESULT, TERM_ARGUMENT, TERM_NUMBER };

struct term {
	enum term_kind kind;
	HOST_WIDE_INT number;		/* of the argument, from 1 */
};

enum action_kind { ACTION_EVENT, ACTION_BOUNDS, ACTION_COMPARE };

struct action {
	enum action_kind kind;
	unsigned int event;
	struct term object, value;	/* an event's; value: also a check's */
	const char *relation;
	HOST_WIDE_INT number;
	const char *text;		/* the check in the rule's spelling */
};

enum operation { OPERATION_LOAD = 1, OPERATION_STORE = 2, OPERATION_ADDRESS = 4 };

struct rule {
	const char *place;		/* file:line of the rule */
	unsigned int operations;	/* on a member; 0: a call */
	struct field_pattern field;
	const char *callee;
	bool any_arguments;
	auto_vec<struct argument_pattern> arguments;
	const char *function;		/* only within this function, or NULL */
	auto_vec<struct action> actions;
};

extern auto_vec<struct rule *> rules;

/* Reads the rules of a file; reports errors through the compiler, with line and column. */
void read_rules(const char *file);

/* match.cc: applies the rules to a function; false: none matched. */
bool apply_rules(function *fun);

#endif
