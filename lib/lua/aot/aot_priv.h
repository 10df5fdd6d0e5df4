/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The parts of the compiler for programs: aot/driver.c drives it function by function,
 * aot/dataflow.c infers facts about registers, aot/insn.c compiles instructions, aot/call.c calls,
 * aot/data.c places data in the arena, aot/dce.c removes needless instructions.
 *
 * Each register has one type wherever it is read, so values have no tags: an integer, a boolean,
 * or the address of a table's entry; nil in place of one is NIL. Functions, strings and tables
 * are known when the program is loaded, and are never in registers.
 */
#ifndef LIB_LUA_AOT_PRIV_H
#define LIB_LUA_AOT_PRIV_H

#include <stdbool.h>

#include "../emit.h"
#include "../opcodes.h"
#include "../bytecode.h"
#include "aot.h"

#define NIL		INT64_MIN
/* Integers are those that Lua's numbers hold: +-2^53. */
#define NUMBER_BITS	53
#define INSTANCES_MAX	64
#define ARGS_MAX	4	/* the most arguments of a script's function */
#define KEYS_MAX	8	/* the most keys of a table */
#define REG_VIEW	6	/* the program's argument */
#define REGS_HELD	3	/* Lua's first registers are r7 to r9 */
#define SPARE		64	/* bytes of a frame; the other registers lie above */

enum kind {
	K_NONE,		/* not reached yet */
	K_NUMBER, K_BOOLEAN,
	K_ENTRY,	/* an entry of the table @value */
	K_NIL,
	K_VIEW,		/* the argument of run(), unless it is numbers */
	K_STATIC,	/* the constant @value */
	K_METHOD,	/* the method @value of the object in the next register */
	K_QUOTIENT,	/* an unrounded quotient, for math.floor() */
	K_MIXED,	/* of several types: must not be read */
};

/**
 * struct known - facts about a register
 * @nil:    it may also be nil
 * @fixed:  of a number: it is @value
 * @below:  of a number: it may be negative
 * @bits:   of a number: the most bits of its absolute value
 */
struct known {
	uint8_t kind;
	bool nil, fixed, below;
	uint8_t bits;
	struct value value;
};

/**
 * struct instance - a function of the script, specialised for facts about its arguments
 * @closure: its address
 * @result:  facts about its result
 * @busy:    it is being compiled, so a call of it is recursion
 */
struct instance {
	uint64_t closure;
	const struct proto *p;
	struct known args[ARGS_MAX], result;
	uint32_t nargs, start, frame;
	bool busy, done;
};

struct function;

/* The type of run()'s argument: struct syscript_packet, struct syscript_cpufreq, or numbers. */
enum view { VIEW_PACKET, VIEW_CPUS, VIEW_NUMBERS };

struct subsystem {
	const char *name;
	enum view view;
};

/* Data in the arena for a Lua value. */
struct placed {
	uint64_t id;		/* address of the Lua value, or of an upvalue */
	uint32_t at;
};

struct builder {
	struct aot *out;
	const char *name;
	const struct subsystem *subsystem;
	struct runtime runtime;
	struct emit e, scratch;
	struct instance *instances[INSTANCES_MAX];
	uint32_t ninstances;
	struct placed placed[256];
	uint32_t nplaced, room, end;	/* bytes of data that are available, that are used */
	uint32_t zeros;			/* bytes of zeroed data after these */
	uint64_t shared[SYSCRIPT_STATES_MAX];	/* Lua's tables of out->states */
	uint64_t changed[256];		/* upvalues that run() may change */
	uint32_t nchanged;
	bool again;			/* another variable changes: the code is wrong */
	bool refused;
};

/* Code for rare cases, emitted after the function. */
struct late {
	void (*emit)(struct function *f, const struct late *late);
	uint32_t label, back, pc;
	int64_t value;
	uint8_t size;
	bool far;
};

/**
 * struct function - state of an instance's compilation
 * @e:    destination: a scratch buffer until all facts are known
 * @now:  facts about all registers, at @pc
 * @sure: errors that are found are certain
 * @failed: the instruction is refused with the current facts
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

/* -- aot/driver.c ------------------------------------------------------------------------ */

/* Refuses the instruction with a reason; the first reason is kept. */
void refuse(struct function *f, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* The compiled instance for a call of @closure; NULL: refused. */
struct instance *instance_of(struct function *f, uint64_t closure, const struct known *args,
			     uint32_t nargs);
/* The number of a function of the subsystem. */
uint32_t function_number(struct builder *b, const char *name);
void emit_function(struct function *f, const char *name);

/* -- aot/dataflow.c ------------------------------------------------------------------- */

static inline struct known a_number(uint8_t bits, bool below)
{
	return (struct known){ .kind = K_NUMBER, .bits = bits, .below = below };
}

struct known known_value(struct value v);
struct known joined(struct known a, struct known b);
bool same_known(const struct known *a, const struct known *b);
/* Finds the facts before each instruction of @f, whose first registers are its arguments. */
bool flow(struct function *f);
/* Control may go from the current instruction to @pc. */
void flow_to(struct function *f, uint32_t pc);

/* -- aot/insn.c -------------------------------------------------------------------- */

/* Compiles an instruction, and updates the facts. False if control does not continue after it. */
bool compile_one(struct function *f);
void compile_entry(struct function *f);

struct known known_of(const struct function *f, uint32_t rk);
/* get(): loads Lua's register or constant into machine register @reg; put(): stores it. */
void get(struct function *f, uint8_t reg, uint32_t rk);
void put(struct function *f, uint32_t to, uint8_t reg, struct known known);
void put_nothing(struct function *f, uint32_t to, struct known known);
/* As above for a number; if it may be nil, checks that at run time. */
bool get_number(struct function *f, uint8_t reg, uint32_t rk);
void load_nil(struct function *f, uint8_t reg);
/* A label at which the run ends with @reason. */
uint32_t fails(struct function *f, enum image_reason reason);
/* Ends the run if @reg, a number described by @known, exceeds Lua's integers. */
struct known check_range(struct function *f, uint8_t reg, struct known known);
struct late *later(struct function *f, void (*emit)(struct function *, const struct late *));
/* The offset from r10 of 64 bytes for keys and pieces of packets. */
int32_t spare(const struct function *f);

/* -- aot/dce.c --------------------------------------------------------------------- */

/* Removes needless instructions from @start on, where a function begins. */
void tidy(struct function *f, uint32_t start);

/* -- aot/call.c --------------------------------------------------------------------- */

void compile_whole_call(struct function *f, uint32_t i);
void compile_method(struct function *f, uint32_t i);
/* Compiles access to a field of the packet, or of an entry of a table. */
void compile_field(struct function *f, uint32_t i);
void compile_set_field(struct function *f, uint32_t i);

/* -- aot/data.c ---------------------------------------------------------------------- */

bool text_is(const struct builder *b, struct value string, const char *text);
const char *text_of(const struct builder *b, struct value string, char *text, size_t size);
struct value global_of(const struct builder *b, const char *name);

/* The upvalue's address in the arena if it may change; otherwise 0, with its value in @v. */
uint32_t upvalue_place(struct function *f, uint32_t up, struct value *v);
void upvalue_changes(struct function *f, uint32_t up);

/* The index of a field in entries of program.table @table, or -1. */
int field_index(const struct builder *b, struct value table, struct value name);
bool is_program_table(const struct builder *b, struct value table);
/*
 * The hash table of program.table @table, or its number if @shared, for r1; and the number of
 * numbers in its keys.
 */
struct table_ref {
	uint32_t at, keys;
	bool shared;
};

/* The number of a ring among the program's states, and of its values. False: refused. */
bool events_place(struct function *f, struct value events, uint32_t *number, uint32_t *values);
bool is_program_events(const struct builder *b, struct value events);
/* False: refused. */
bool table_place(struct function *f, struct value table, struct table_ref *ref);

/* R(@to) = the element with index r1 of a constant table. */
void compile_lookup(struct function *f, struct value table, uint32_t to);
/* Stores to an array that run() changes; an index outside of it ends the run. */
void compile_array_store(struct function *f, struct value table, uint32_t key, uint32_t rk);
uint32_t string_place(struct function *f, struct value string, uint32_t *len);
void compile_byte(struct function *f, struct value string, uint32_t index, uint32_t to);

#endif /* LIB_LUA_AOT_PRIV_H */
