/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Between the parts of whole.h: whole.c has the functions of a script and what becomes of
 * them, whole_flow.c what is known of registers, whole_insn.c instructions, whole_call.c
 * calls, whole_data.c what lies in the arena, whole_tidy.c what may be left out.
 *
 * Each register has one type wherever it is read, so values have no tags: an integer, a
 * boolean, the address of a table's entry; or nil in place of one of these, which is NIL.
 * What is known as a value when the program is loaded - functions, strings, tables - is
 * in no register at all.
 */
#ifndef LIB_LUA_WHOLE_OWN_H
#define LIB_LUA_WHOLE_OWN_H

#include <stdbool.h>

#include "emit.h"
#include "opcodes.h"
#include "read.h"
#include "whole.h"

#define NIL		INT64_MIN
/* Integers are those that Lua's numbers hold: +-2^53. */
#define NUMBER_BITS	53
#define INSTANCES_MAX	64
#define ARGS_MAX	4	/* of functions of the script's */
#define KEYS_MAX	8	/* of a table */
#define REG_VIEW	6	/* what the program was called with */
#define REGS_HELD	3	/* Lua's first registers are r7 to r9 */
#define SPARE		64	/* bytes of a frame; above them are the other registers */

enum kind {
	K_NONE,		/* not reached */
	K_NUMBER, K_BOOLEAN,
	K_ENTRY,	/* of the table @value */
	K_NIL,
	K_VIEW,		/* what run() is given, if not numbers */
	K_STATIC,	/* @value */
	K_METHOD,	/* the name @value of what is in the next register */
	K_QUOTIENT,	/* of a division, rounded down: for math.floor() */
	K_MIXED,	/* of several kinds: may not be used */
};

/**
 * struct known - of a register
 * @nil:    or it is nil
 * @fixed:  a number: it is @value
 * @below:  a number: it may be below 0
 * @bits:   a number: of its absolute value, at most
 */
struct known {
	uint8_t kind;
	bool nil, fixed, below;
	uint8_t bits;
	struct value value;
};

/**
 * struct instance - a function of the script's, for arguments that are known like this
 * @closure: its address
 * @result:  what it returns
 * @busy:    it is being looked at: a call of it is recursion
 */
struct instance {
	uint64_t closure;
	const struct proto *p;
	struct known args[ARGS_MAX], result;
	uint32_t nargs, start, frame;
	bool busy, done;
};

struct function;

/* What run() is given: struct syscript_packet, struct syscript_cpufreq, or numbers. */
enum view { VIEW_PACKET, VIEW_CPUS, VIEW_NUMBERS };

struct subsystem {
	const char *name;
	enum view view;
};

/* Data in the arena that stands for a Lua value. */
struct placed {
	uint64_t id;		/* the value's address, or an upvalue's */
	uint32_t at;
};

struct builder {
	struct whole *out;
	const char *name;
	const struct subsystem *subsystem;
	struct runtime runtime;
	struct emit e, scratch;
	struct instance *instances[INSTANCES_MAX];
	uint32_t ninstances;
	struct placed placed[256];
	uint32_t nplaced, room, end;	/* of data: bytes that there are, that are used */
	uint32_t zeros;			/* after these */
	uint64_t changed[256];		/* upvalues that run() may change */
	uint32_t nchanged;
	bool again;			/* one more was found: what was made is wrong */
	bool refused;
};

/* Code that is seldom run. */
struct late {
	void (*emit)(struct function *f, const struct late *late);
	uint32_t label, back, pc;
	int64_t value;
	uint8_t size;
	bool far;
};

/**
 * struct function - an instance while it is compiled
 * @e:    where to: the scratch one until all is known
 * @now:  of all registers, at @pc
 * @sure: what is found wrong is
 * @failed: the instruction is refused, as far as it is known
 */
struct function {
	struct builder *b;
	struct instance *instance;
	const struct proto *p;
	struct emit *e;
	uint32_t pc;
	int32_t *line;
	struct known *known, *now;
	bool *queued, sure, failed;
	uint32_t *labels;
	struct late late[1024];
	uint32_t nlate;
};

/* -- whole.c ------------------------------------------------------------------------ */

/* Refuses the instruction, with the reason; the first one is kept. */
void refuse(struct function *f, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* The instance for a call of @closure, looked at; NULL: refused. */
struct instance *instance_of(struct function *f, uint64_t closure, const struct known *args,
			     uint32_t nargs);
/* The number of a function of the subsystem's. */
uint32_t function_number(struct builder *b, const char *name);
void emit_function(struct function *f, const char *name);

/* -- whole_flow.c ------------------------------------------------------------------- */

static inline struct known a_number(uint8_t bits, bool below)
{
	return (struct known){ .kind = K_NUMBER, .bits = bits, .below = below };
}

struct known known_value(struct value v);
struct known joined(struct known a, struct known b);
bool same_known(const struct known *a, const struct known *b);
/* What is known before each instruction of @f, whose first registers are its arguments. */
bool flow(struct function *f);
/* From the instruction at hand, control may come to @pc. */
void flow_to(struct function *f, uint32_t pc);

/* -- whole_insn.c -------------------------------------------------------------------- */

/* One instruction: its code, and what is known after it.  False: none follows. */
bool compile_one(struct function *f);
void compile_entry(struct function *f);

struct known known_of(const struct function *f, uint32_t rk);
/* Loads Lua's register or constant into machine register @reg; stores it. */
void get(struct function *f, uint8_t reg, uint32_t rk);
void put(struct function *f, uint32_t to, uint8_t reg, struct known known);
void put_nothing(struct function *f, uint32_t to, struct known known);
/* The same for a number; checks at run time that it is not nil, if necessary. */
bool get_number(struct function *f, uint8_t reg, uint32_t rk);
void load_nil(struct function *f, uint8_t reg);
/* A label where the run ends with @reason. */
uint32_t fails(struct function *f, enum image_reason reason);
/* Ends the run if @reg, a number of @known, exceeds Lua's integers. */
struct known check_range(struct function *f, uint8_t reg, struct known known);
struct late *later(struct function *f, void (*emit)(struct function *, const struct late *));
/* The offset from r10 of 64 bytes for keys and pieces of packets. */
int32_t spare(const struct function *f);

/* -- whole_tidy.c --------------------------------------------------------------------- */

/* Instructions from @start on, all of a function: without those that are needless. */
void tidy(struct function *f, uint32_t start);

/* -- whole_call.c --------------------------------------------------------------------- */

void compile_whole_call(struct function *f, uint32_t i);
void compile_method(struct function *f, uint32_t i);
/* A field of the packet, or of an entry of a table's. */
void compile_field(struct function *f, uint32_t i);
void compile_set_field(struct function *f, uint32_t i);

/* -- whole_data.c ---------------------------------------------------------------------- */

bool text_is(const struct builder *b, struct value string, const char *text);
const char *text_of(const struct builder *b, struct value string, char *text, size_t size);
struct value global_of(const struct builder *b, const char *name);

/* The upvalue's place in the arena, as it may change; else 0 and what it is. */
uint32_t upvalue_place(struct function *f, uint32_t up, struct value *v);
void upvalue_changes(struct function *f, uint32_t up);

/* The index of a field in entries of program.table @table, or -1. */
int field_index(const struct builder *b, struct value table, struct value name);
bool is_program_table(const struct builder *b, struct value table);
/* The kernel's table for it, and how many numbers its keys have.  0: refused. */
uint32_t table_place(struct function *f, struct value table, uint32_t *keys);

/* A table that stays as it is, indexed by the number in r1: R(@to) becomes what it has. */
void compile_lookup(struct function *f, struct value table, uint32_t to);
/* And the other way round: an array that run() changes; one that it has no place for ends it. */
void compile_array_store(struct function *f, struct value table, uint32_t key, uint32_t rk);
uint32_t string_place(struct function *f, struct value string, uint32_t *len);
void compile_byte(struct function *f, struct value string, uint32_t index, uint32_t to);

#endif /* LIB_LUA_WHOLE_OWN_H */
