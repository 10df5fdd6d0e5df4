/* SPDX-License-Identifier: GPL-2.0 */
/* Interfaces between the parts of the plugin. */
#ifndef KGCC_CHECK_H
#define KGCC_CHECK_H

#include "compat.h"
#include "../site.h"

/* One access of a statement; a check may cover several. */
struct part {
	HOST_WIDE_INT lo, hi;
	location_t where;
	unsigned int flags;		/* KGCC_READ, KGCC_WRITE, KGCC_ARITH */
};

/*
 * A check: are the bytes LO to HI, counted from ADDR or, if that is NULL, from ROOT, within the
 * object that ROOT points into?
 */
struct check {
	gimple *stmt;			/* checked right before it, ... */
	bool after;			/* ... or after it, */
	basic_block end_of;		/* ... or at the end of this block */
	tree root;			/* an SSA name, or a variable itself */
	tree addr;			/* valid at STMT */
	HOST_WIDE_INT lo, hi;
	tree length;			/* replaces HI - LO if not constant */
	auto_vec<struct part> parts;
	tree room;			/* variable that caches the room, or NULL */
	bool compares;			/* compares with the room first */
	bool hoisted;			/* made before the loop as well */
	bool gone;			/* not needed: others cover it */
};

/* The origin of a pointer. */
struct origin {
	tree root;			/* as in struct check */
	HOST_WIDE_INT offset;		/* from there ... */
	bool constant;			/* constant offset, if this is set */
	bool member;			/* only a member's address, no arithmetic */
};

/* A statement that passes a pointer on to code that does not know its root. */
struct escape {
	gimple *stmt;
	tree pointer;			/* the pointer's name there */
};

/* Counts of operations by the pass that removed their check. */
struct counts {
	unsigned int naive;		/* operations in the source, counting inlined copies */
	unsigned int optimised;		/* removed by the compiler */
	unsigned int proven;		/* within a known object */
	unsigned int member;		/* addresses of members */
	unsigned int unused;		/* pointers that are checked where they are used */
	unsigned int covered;		/* covered by an earlier check, */
	unsigned int merged;		/* ... or merged into an earlier check of several, */
	unsigned int hoisted;		/* ... or into one before the loop */
	unsigned int emitted;		/* checks in the code */
	unsigned int against_map;	/* checks that look up an object, ... */
	unsigned int compared;		/* ... unless an earlier lookup suffices */
	unsigned int frames;		/* functions that register locals */
	unsigned int ruled;		/* operations that rules matched, by action */
	unsigned int taken;		/* calls that acquire a resource of a pair, ... */
	unsigned int kept;		/* ... and those leaking it on some path */
};

extern struct counts totals;

/* kgcc.cc */
enum lifetime { LIFETIME_CALLS, LIFETIME_NAMES, LIFETIME_NONE };
enum members { MEMBERS_ALL, MEMBERS_NOT_LAST, MEMBERS_NONE };
extern struct options {
	enum lifetime lifetime;		/* which calls may free a checked object */
	enum members members;		/* members whose indexes are checked */
	bool eliminate;
	bool hooks;
	bool rules_only;		/* only the checks of rules */
	bool events;			/* evmon is there */
	const char *stats;
} options;

/* provenance.cc */
void start_origins(void);
struct origin origin_of(tree pointer);
unsigned int step_between(tree root, tree address);
bool same_root(const_tree a, const_tree b);
bool is_wide(const_tree type);
/* Where a pointer is used for more than access and comparison. */
void find_escapes(tree pointer, vec<struct escape> &at);

/* early.cc */
/* Bytes that assembly accesses, as found before inlining. */
struct marked_access {
	tree address, length;
	unsigned int flags;
};
bool look_early(function *fun);
bool is_marked_access(gimple *stmt, struct marked_access *access);
void remove_marks(function *fun);
bool is_of_page(tree root);

/* collect.cc */
unsigned int count_operations(function *fun);
void collect_checks(function *fun, vec<struct check *> &checks);

/* paths.cc */
void check_paths(function *fun);

/* members.cc */
bool check_members(function *fun);

/* lifetime.cc */
bool may_free(gimple *stmt);
void learn_lifetime(function *fun);

/* check_elim.cc */
void reduce_checks(function *fun, vec<struct check *> &checks);

/* loops.cc */
void hoist_checks(function *fun, vec<struct check *> &checks);

/* bounds_cache.cc */
void share_rooms(function *fun, vec<struct check *> &checks);

/* emit.cc */
bool binds_register(function *fun);
void emit_check(struct check *check);
gimple *mask_of_stack(tree mask, tree pointer);
void emit_enter(gimple_stmt_iterator *gsi, const struct check *site, tree record);
void emit_leave(gimple_stmt_iterator *gsi, tree record);
void emit_bounds(gimple_stmt_iterator *gsi, location_t where, tree pointer, tree address,
		 HOST_WIDE_INT size, unsigned int flags);
void emit_compare(gimple_stmt_iterator *gsi, location_t where, tree value,
		  const char *relation, HOST_WIDE_INT number, const char *text);
void emit_member(gimple_stmt_iterator *gsi, location_t where, tree index, const char *name,
		 unsigned int flags);
void emit_event(gimple_stmt_iterator *gsi, unsigned int type, location_t where,
		const char *name, tree object, tree value);
tree site_of(const struct check *check, const char *object);
tree words_constant(const char *name, const vec<tree> &words, bool writable);
tree text_constant(const char *text);
const char *place_of(location_t where);
const char *caller_of(location_t where);
bool calls_outside(gimple *stmt);

/* match.cc */
const char *name_of_type(tree type);

/* uaccess.cc: call it first for the function being compiled */
void find_user_access(function *fun);
void forget_user_access(void);
bool has_user_access(basic_block bb, gimple *before);
void close_user_access(function *fun, bool (*calls)(gimple *stmt));
gimple *end_user_access(void);
gimple *begin_user_access(void);

/* frames.cc */
void register_locals(function *fun);

/* globals.cc */
void register_globals(const char *plugin);
void register_strings(function *fun);
void pad_variable(tree var);
HOST_WIDE_INT size_of_variable(tree var);
HOST_WIDE_INT size_of_object(tree root);
tree unit_address(void);

/* hooks.cc */
bool redirect_call(gcall *call);
bool allocates(gcall *call, HOST_WIDE_INT *size);

#endif
