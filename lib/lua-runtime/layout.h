/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The contract between the runtime and the compiler of its functions (lib/lua), which
 * reads them from outside: where the fields of Lua's structures are, what compiled
 * functions return, and which functions of the runtime they call.  compiled.c compares
 * the offsets with the structures.
 */
#ifndef LUA_RUNTIME_LAYOUT_H
#define LUA_RUNTIME_LAYOUT_H

#include <stdint.h>

/* -- Structures --------------------------------------------------------------------- */

#define VALUE_TAG	8
#define VALUE_SIZE	16

#define STATE_TOP	16
#define STATE_BASE	24
#define STATE_GLOBAL	32
#define STATE_CI	40
#define STATE_STACK_LAST	56
#define STATE_END_CI	72
#define STATE_FLOOR	88
#define STATE_GLOBALS	128

#define GLOBAL_ROOTGC	40
#define GLOBAL_MT	224	/* pointers, by tag */

#define CI_BASE		0
#define CI_FUNC		8
#define CI_TOP		16
#define CI_SAVEDPC	24
#define CI_NRESULTS	32	/* in the upper half, the tail calls */
#define CI_SIZE		40

#define OBJECT_NEXT	0
#define OBJECT_TYPE	8
#define OBJECT_MARKED	9
#define OBJECT_BLACK	(1 << 2)
#define OBJECT_WATCHED	(1 << 7)

#define CLOSURE_IS_C	10
#define CLOSURE_NUPVALUES	11
#define CLOSURE_ID	12
#define CLOSURE_ENV	24
#define CLOSURE_F	32	/* a C function, or the Proto */
#define CLOSURE_UPVALUES	40

#define UPVAL_V		16
#define UPVAL_VALUE	24	/* V points here after the function has been left */

#define PROTO_COMPILED	12
#define PROTO_K		16
#define PROTO_CODE	24
#define PROTO_P		32
#define PROTO_LINEINFO	40
#define PROTO_SIZEK	76
#define PROTO_SIZECODE	80
#define PROTO_SIZEP	88
#define PROTO_LINEDEFINED	96
#define PROTO_LASTLINEDEFINED	100	/* or PROTO_OVER */
#define PROTO_OVER	(-1)	/* the script itself, which runs once, has run */
#define PROTO_NUPS	112
#define PROTO_NUMPARAMS	113
#define PROTO_IS_VARARG	114
#define PROTO_MAXSTACKSIZE	115

#define TABLE_FLAGS	10
#define TABLE_LSIZENODE	11
#define TABLE_NODEMASK	12
#define TABLE_METATABLE	16
#define TABLE_ARRAY	24
#define TABLE_NODE	32
#define TABLE_SIZEARRAY	56

#define NODE_KEY	16
#define NODE_KEY_TAG	24
#define NODE_NEXT	32
#define NODE_SIZE	40

#define STRING_HASH	12
#define STRING_LEN	16
#define STRING_TEXT	24

/* Tags of values; objects have more. */
enum {
	TAG_NIL, TAG_BOOLEAN, TAG_POINTER, TAG_NUMBER, TAG_STRING, TAG_TABLE,
	TAG_FUNCTION, TAG_USERDATA, TAG_THREAD, TAG_PROTO,
};

/* -- Numbers -------------------------------------------------------------------------- */

/* Integers of so many bits, with the sign, stand for themselves. */
#define INTEGER_BITS	52
#define MINUS_ZERO	0x0008000000000001L

/* -- Compiled functions ------------------------------------------------------------------ */

/*
 * A compiled function gets in r2 its place on the stack, which its arguments follow; in
 * r3 their number; in r4 a word, with the wanted results, -1 for all, in the lower 32
 * bits, and in the upper ones the tail calls that led to it; and in r5 L.  In r1 is
 * nothing: so IMAGE_CALL_TRY can call it.  It enters its frame and leaves it, as
 * luaD_precall() and luaD_poscall() do, but does not move L->top unless all results are
 * wanted.  It returns
 */
#define COMPILED_DONE	0
#define COMPILED_YIELD	1	/* all frames stay, the interpreter resumes them */
#define COMPILED_FRAME	2	/* the interpreter has to go on with the frame L->ci */
/*
 * The called function has left, and another one with its arguments, up to L->top, has
 * taken its place.  The upper 32 bits count tail calls.
 */
#define COMPILED_TAIL	3

/* Closure.id: below this the number of a compiled function. */
#define ID_SYSCALL	0x10000	/* and the number of a system call */

/* A compiled frame in a call has a pc below this in place of a pointer to its next instruction. */
#define COMPILED_PC_MAX	(1L << 24)

/*
 * Called by compiled functions, with L and then mostly the pc of their present
 * instruction; pcall as compiled functions are, enter with L and the rest of that, resume
 * with L and a function's place, pc and wanted results, field with a table and a string; those
 * for text, from captures on, see text.c.  compiled.c has the others, each as compiled_NAME().
 */
#define HELPERS(X) \
	X(enter) X(leave_at) X(resume) X(call) X(pcall) X(finish) X(return) X(tail) \
	X(getglobal) X(setglobal) X(gettable) X(settable) X(self) X(setupval) \
	X(newtable) X(arith) X(len) X(concat) X(compare) X(tforloop) X(setlist) X(close) \
	X(closure) X(vararg) X(integer) X(field) X(captures) X(found) X(gmatched) X(sub) \
	X(tonumber) X(concatenated) X(tostring) X(lowered) X(uppered) X(str_in) X(str_out) \
	X(bytes) X(found_plain) X(format) X(gsub)

/* C functions of scripts that compiled functions have inline. */
#define INTRINSICS(X) \
	X(util_peek) X(util_poke) X(util_pending) X(fs_read_file) X(luaB_pcall) \
	X(str_byte) X(str_sub) X(str_match) X(str_find) X(gmatch_aux) X(gmatch) X(luaB_tonumber) \
	X(tconcat) X(luaB_tostring) X(str_lower) X(str_upper) X(util_str_in) X(util_str_out) \
	X(str_format) X(str_gsub) X(math_floor)

#define HELPER_NUMBER(name)	HELPER_##name,
enum { HELPERS(HELPER_NUMBER) HELPERS_N };

#define INTRINSIC_NUMBER(name)	INTRINSIC_##name,
enum { INTRINSICS(INTRINSIC_NUMBER) INTRINSICS_N };

/**
 * struct runtime_exports - numbers in the image's table
 */
struct runtime_exports {
	uint64_t helpers[HELPERS_N];
	uint64_t intrinsics[INTRINSICS_N];
};

/* -- Patterns --------------------------------------------------------------------------- */

/*
 * A compiled pattern gets in r1 where to begin, in r2 where the text ends and in r3 where it
 * begins.  It returns where the match ends, or 0, and stores this.
 */
#define FOUND_CAPTURES	8
#define FOUND_START	0
#define FOUND_CAPTURE	8	/* of the first one; a position is in place of its length */
#define FOUND_LEN	8	/* of a capture */
#define FOUND_CAPTURE_SIZE	16

/* What the helpers for it get: how many results are wanted, or all, and what it has. */
#define FOUND_ALL		0xff	/* and L->top has their end */
#define FOUND_WANTED(what)	((what) & 0xff)
#define FOUND_COUNT(what)	((what) >> 8 & 0xff)
#define FOUND_ANCHORED		(1U << 24)
#define FOUND_IS_ANCHORED(what)	((what) & FOUND_ANCHORED)
#define FOUND_IS_POSITION(what, i)	((what) >> 16 >> (i) & 1)

#endif /* LUA_RUNTIME_LAYOUT_H */
