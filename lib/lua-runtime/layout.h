/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The contract between the runtime and the compiler (lib/lua), which is not part of the image:
 * offsets of fields in Lua's structures, return values of compiled functions, and the runtime's
 * functions that they call.  compiled.c compares the offsets with the structures.
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
#define STATE_SAVEDPC	48
#define STATE_STACK_LAST	56
#define STATE_END_CI	72
#define STATE_FLOOR	88
#define STATE_GLOBALS	128

#define GLOBAL_ROOTGC	40
#define GLOBAL_MT	224	/* pointers, indexed by tag */

#define CI_BASE		0
#define CI_FUNC		8
#define CI_TOP		16
#define CI_SAVEDPC	24
#define CI_NRESULTS	32	/* upper half: number of tail calls */
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
#define CLOSURE_F	32	/* the C function, or the Proto */
#define CLOSURE_UPVALUES	40

#define UPVAL_V		16
#define UPVAL_VALUE	24	/* V points here once the function has returned */

#define PROTO_COMPILED	12
#define PROTO_K		16
#define PROTO_CODE	24
#define PROTO_P		32
#define PROTO_LINEINFO	40
#define PROTO_SOURCE	64
#define PROTO_SIZEK	76
#define PROTO_SIZECODE	80
#define PROTO_SIZEP	88
#define PROTO_LINEDEFINED	96
#define PROTO_LASTLINEDEFINED	100	/* or PROTO_OVER */
#define PROTO_OVER	(-1)	/* the main function, which runs once, has run */
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

/* Tags of values; objects have further tags. */
enum {
	TAG_NIL, TAG_BOOLEAN, TAG_POINTER, TAG_NUMBER, TAG_STRING, TAG_TABLE,
	TAG_FUNCTION, TAG_USERDATA, TAG_THREAD, TAG_PROTO,
};

/* -- Numbers -------------------------------------------------------------------------- */

/* Integers of this many bits, including the sign, are represented by themselves. */
#define INTEGER_BITS	52
#define MINUS_ZERO	0x0008000000000001L

/* -- Compiled functions ------------------------------------------------------------------ */

/*
 * Arguments of a compiled function: r2: the stack slot of the function, which its arguments
 * follow; r3: their number; r4: the number of wanted results, -1 for all, in the lower 32 bits,
 * and the number of tail calls that led to it in the upper; r5: L. r1 is unused, so that
 * IMAGE_CALL_TRY can call it.  It pushes its frame and pops it, as luaD_precall() and
 * luaD_poscall() do, but does not move L->top unless all results are wanted.  It returns
 */
#define COMPILED_DONE	0
#define COMPILED_YIELD	1	/* all frames stay, and the interpreter resumes them */
#define COMPILED_FRAME	2	/* the interpreter has to continue with the frame L->ci */
/*
 * A tail call: the function's frame is popped, and the next function with its arguments, up to
 * L->top, is in its place.  The upper 32 bits count tail calls.
 */
#define COMPILED_TAIL	3

/* Closure.id: less than this is the number of a compiled function. */
#define ID_SYSCALL	0x10000	/* plus the number of a system call */

/* In a compiled frame with a call under way, savedpc is less than this instead of a pointer. */
#define COMPILED_PC_MAX	(1L << 24)

/*
 * Functions that compiled code calls, with L and usually the pc of the current instruction. pcall
 * is called like a compiled function, enter with L and the other arguments of one, resume with L
 * and a function's slot, pc and wanted results, field and added with a table and a string, view with a
 * userdata and an integer, copied as memcpy(), replied with a frame, a length and a
 * view. text.c has those for text, from captures on, and compiled.c the
 * others, each as compiled_NAME().
 */
#define HELPERS(X) \
	X(enter) X(leave_at) X(resume) X(call) X(pcall) X(finish) X(return) X(tail) \
	X(getglobal) X(setglobal) X(gettable) X(settable) X(self) X(setupval) \
	X(newtable) X(arith) X(len) X(concat) X(compare) X(tforloop) X(setlist) X(close) \
	X(closure) X(vararg) X(integer) X(field) X(captures) X(found) X(gmatched) X(sub) \
	X(tonumber) X(concatenated) X(tostring) X(lowered) X(uppered) X(str_in) X(str_out) \
	X(bytes) X(found_plain) X(format) X(gsub) X(chars) X(inserted) X(view) \
	X(find_byte) X(found_one) X(found_three) X(read_number) X(frame_text) X(copied) X(replied) X(added) \
	X(lowered_in) X(found_two)

/* What the helpers of util.find() return instead of a position: nil, or call the function. */
#define POSITION_NONE		(-1)
#define POSITION_UNUSUAL	(-2)

/* C functions of scripts that compiled code inlines. */
#define INTRINSICS(X) \
	X(util_peek) X(util_poke) X(util_pending) X(fs_read_file) X(luaB_pcall) \
	X(str_byte) X(str_sub) X(str_match) X(str_find) X(gmatch_aux) X(gmatch) X(luaB_tonumber) \
	X(tconcat) X(luaB_tostring) X(str_lower) X(str_upper) X(util_str_in) X(util_str_out) \
	X(util_find) X(util_number) X(str_format) X(str_gsub) X(str_char) X(tinsert) X(math_floor) \
	X(bit_tobit) X(bit_bnot) X(bit_band) X(bit_bor) X(bit_bxor) \
	X(bit_lshift) X(bit_rshift) X(bit_arshift) \
	X(frame_len) X(frame_u1) X(frame_u2) X(frame_u4) X(frame_udp_of) X(frame_ports_of) \
	X(frame_str) X(frame_put) X(frame_reply_of)

/*
 * The view that was looked at last, its struct image_batch_frame, and the port that was last
 * indexed, as a userdata and as struct port, which begins with the frames: see frames.c.
 */
#define SEEN_VIEW	0
#define SEEN_FRAME	8
#define SEEN_OBJECT	16
#define SEEN_PORT	24

#define PORT_VIEWS	2560	/* the first view */
#define PORT_READY	2568	/* the number of frames in the arena */

#define HELPER_NUMBER(name)	HELPER_##name,
enum { HELPERS(HELPER_NUMBER) HELPERS_N };

#define INTRINSIC_NUMBER(name)	INTRINSIC_##name,
enum { INTRINSICS(INTRINSIC_NUMBER) INTRINSICS_N };

/**
 * struct runtime_exports - indexes into the image's function table
 */
struct runtime_exports {
	uint64_t helpers[HELPERS_N];
	uint64_t intrinsics[INTRINSICS_N];
};

/* -- Patterns --------------------------------------------------------------------------- */

/*
 * Arguments of a compiled pattern: r1: where to begin; r2: the end of the text; r3: its beginning.
 * It returns the end of the match, or 0, and stores the captures at these offsets.
 */
#define FOUND_CAPTURES	8
#define FOUND_START	0
#define FOUND_CAPTURE	8	/* the first one; a position replaces its length */
#define FOUND_LEN	8	/* offset of a capture's length */
#define FOUND_CAPTURE_SIZE	16

/*
 * An argument of helpers that return matches: the number of wanted results, or all, and the
 * pattern's properties.
 */
#define FOUND_ALL		0xff	/* all: L->top becomes their end */
#define FOUND_WANTED(what)	((what) & 0xff)
#define FOUND_COUNT(what)	((what) >> 8 & 0xff)
#define FOUND_ANCHORED		(1U << 24)
#define FOUND_IS_ANCHORED(what)	((what) & FOUND_ANCHORED)
#define FOUND_IS_POSITION(what, i)	((what) >> 16 >> (i) & 1)

#endif /* LUA_RUNTIME_LAYOUT_H */
