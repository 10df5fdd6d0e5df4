// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Lua as one compound: this file includes all others, because an image is compiled from one file.
 * Calls of run() with small integers take a fast path.
 */
#define LUA_CORE
#define LUA_LIB

#include "cosy.h"

#include "support.c"

/* Rarely used functions are compiled for size. */
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#include "number.c"
#include "functions.c"
#include "print.c"
#pragma clang attribute pop

#include "lobject.c"
#include "lapi.c"
#include "lcode.c"
#include "ldebug.c"
#include "ldo.c"
#include "lfunc.c"
#include "lgc.c"
#include "llex.c"
#include "lmem.c"
#include "lopcodes.c"
#include "lparser.c"
#include "lstate.c"
#include "lstring.c"
#include "ltable.c"
#include "ltm.c"
#include "lvm.c"
#include "lzio.c"
#include "lauxlib.c"
#include "lbaselib.c"
#include "lstrlib.c"
#include "ltablib.c"

#include "int64.c"
#include "format.c"
#include "math.c"
#include "fs.c"
#include "net.c"
#include "lib.c"
#include "finish.c"
#include "text.c"
#include "join.c"
#include "compiled.c"
#include "frames_quick.c"
#include "lib_quick.c"

/* -- Calls ------------------------------------------------------------------------ */

static long result(lua_State *L, struct runtime_call *call, int i)
{
	const TValue *o = index2adr(L, i);
	long v;

	if (ttisboolean(o) || ttisnil(o))
		return !l_isfalse(o);
	if (to_long(L, i, &v))
		return v;
	call->io->failed = RUNTIME_RANGE;
	if (lua_type(L, i) == LUA_TNUMBER)
		lua_pushfstring(L, "result %d of run is not an integer within 2^53", i);
	else
		lua_pushfstring(L, "result %d of run is a %s, not an integer", i,
				luaL_typename(L, i));
	return lua_error(L);
}

/* The string "run", which the registry references. */
static HOT TString *run_name;

/* The node of the globals' table that had "run" last. */
static HOT Node *run_node, *run_nodes;

/* Nodes may move when others are added, and a table that grows has new ones. */
static inline bool is_node(const Table *globals)
{
	return globals->node == run_nodes && gcvalue(gkey(run_node)) == obj2gco(run_name);
}

static inline bool knows_node(const Table *globals)
{
	return is_node(globals) && !ttisnil(gval(run_node));
}

static __attribute__((noinline)) void look_for_run(lua_State *L, StkId to)
{
	Table *globals = hvalue(gt(L));
	const TValue *run = luaH_getstr(globals, run_name);
	TValue name;

	if (!ttisnil(run)) {
		run_node = (Node *)run;
		run_nodes = globals->node;
		setobj2s(L, to, run);
		return;
	}
	setsvalue(L, &name, run_name);
	luaV_gettable(L, gt(L), &name, to);
}

/* Stores the function run() at @to. */
static inline void find_run(lua_State *L, StkId to)
{
	if (knows_node(hvalue(gt(L))))
		setobj2s(L, to, gval(run_node))
	else
		look_for_run(L, to);
}

/* The handler of errors in run(): L->errorJmp, also between calls. */
static HOT struct lua_longjmp run_jump;

/*
 * Arguments and results that are small integers: values[i] for i < n. @beyond combines the bits
 * above the signs of all values, plus 1, so that one test serves for all.
 */
struct passing {
	int64_t *values;
	TValue *stack;
	long n;
	unsigned long beyond;
};

static inline void pass(struct passing *p, int64_t v)
{
	p->beyond |= (unsigned long)(v >> 51) + 1;
}

static inline bool put_argument(struct passing *p, long i)
{
	if (i >= p->n)
		return false;
	pass(p, p->values[i]);
	setnvalue(p->stack + i, p->values[i]);
	return true;
}

static inline bool take_result(struct passing *p, long i)
{
	if (i >= p->n)
		return false;
	p->beyond |= ttisnumber(p->stack + i) ? 0 : 2;
	pass(p, nvalue(p->stack + i));
	p->values[i] = nvalue(p->stack + i);
	return true;
}

/* Unrolled, because a loop would take as long again. */
#define ALL_OF(one, p)	\
	((void)(one(p, 0) && one(p, 1) && one(p, 2) && one(p, 3) && one(p, 4) && one(p, 5) && \
		one(p, 6) && one(p, 7)))
_Static_assert(SYSCRIPT_ARGS_MAX == 8 && SYSCRIPT_RESULTS_MAX == 8, "ALL_OF()");

static inline bool put_arguments(struct runtime_call *call, StkId to, long n)
{
	struct passing p = { call->io->args, to, n, 0 };

	ALL_OF(put_argument, &p);
	return p.beyond < 2;
}

static inline bool take_integers(struct runtime_call *call, StkId from, long n)
{
	struct passing p = { call->io->results, from, n, 0 };

	if (n > SYSCRIPT_RESULTS_MAX)
		return false;
	ALL_OF(take_result, &p);
	call->io->nresults = n;
	return p.beyond < 2;
}

static __attribute__((noinline)) void take_results(lua_State *L, struct runtime_call *call, long n)
{
	long i;

	if (n > SYSCRIPT_RESULTS_MAX)
		n = SYSCRIPT_RESULTS_MAX;
	for (i = 0; i < n; i++)
		call->io->results[i] = result(L, call, i + 1);
	call->io->nresults = n;
}

/* For TRY(): the function at @base has returned @status. */
static long end_run(void *unused, StkId base, long status, struct runtime_call *call, lua_State *L)
{
	if (status != COMPILED_DONE && run_on(L, savestack(L, base), LUA_MULTRET, status) == PCRLUA)
		luaV_execute(L, 1);
	take_results(L, call, L->top - L->base);
	L->top = L->base;
	luaC_checkGC(L);
	return 0;
}

/* For TRY(): calls any run() with any arguments. */
static long call_run(void *unused, StkId base, long n, struct runtime_call *call, lua_State *L)
{
	long i;

	find_run(L, base);
	L->top++;
	for (i = 0; i < n; i++)
		push_long(L, call->io->args[i]);
	luaD_call(L, L->base, LUA_MULTRET);
	return end_run(NULL, L->base, COMPILED_DONE, call, L);
}

#define NOT_CALLED	(-1)

/*
 * Calls a compiled run() with small integers directly, on an empty stack.  Returns the status;
 * COMPILED_DONE: no work is left.
 */
static inline long call_compiled_run(lua_State *L, struct runtime_call *call)
{
	unsigned long number = is_node(hvalue(gt(L))) ? compiled_number(gval(run_node)) : 0;
	StkId base = L->base;
	long n = call->io->nargs;

	if (!number || !put_arguments(call, base + 1, n))
		return NOT_CALLED;
	setobj2s(L, base, gval(run_node));
	L->top = base + 1 + n;
	return TRY(number, base, n, (unsigned int)LUA_MULTRET, L);
}

/* Takes the results of a finished call; false if it is not finished, or the run has to end. */
static inline bool finish_quickly(lua_State *L, struct runtime_call *call, long status)
{
	StkId base = L->base;

	if (status != COMPILED_DONE || run_jump.status ||
	    !take_integers(call, base, L->top - base))
		return false;
	L->top = base;
	return !call->stop;
}

static void compile(lua_State *L, struct runtime_call *call)
{
	if (luaL_loadbuffer(L, call->source, call->source_len, call->name)) {
		if (call->another) {
			call->io->failed = RUNTIME_LEFT;
			lua_pushfstring(L, "the confined engine does not take it: %s",
					lua_tostring(L, -1));
		}
		lua_error(L);
	}
}

/* The index of run_name in the registry. */
#define RUN_NAME	1

/* Delays the first collection, because nearly all objects made so far stay alive. */
static void begin_collecting(global_State *g)
{
	g->estimate = g->totalbytes;
	setthreshold(g);
}

static int open_state(lua_State *L)
{
	lua_gc(L, LUA_GCSTOP, 0);
	open_libraries(L);
	return 0;
}

/* The continuation after the script's main function has run. */
static int script_on(lua_State *L, int failed)
{
	const struct runtime_call *call = lua_touserdata(L, 1);

	(void)failed;
	lua_getglobal(L, "run");
	if (!lua_isfunction(L, -1))
		luaL_error(L, "%s: no function named run", call->name + 1);
	lua_pushliteral(L, "run");
	run_name = rawtsvalue(L->top - 1);
	lua_rawseti(L, LUA_REGISTRYINDEX, RUN_NAME);
	return 0;
}

/* Runs the script's main function, which defines run(). */
static int load_script(lua_State *L)
{
	struct runtime_call *call = lua_touserdata(L, 1);

	limit_libraries(L, call);
	compile(L, call);
	begin_collecting(G(L));
	if (call->check)
		return 0;
	clvalue(L->top - 1)->l.p->lastlinedefined = PROTO_OVER;
	lua_call(L, 0, 0);
	return script_on(L, 0);
}

/* load_script() for TRY(). */
static long call_load_script(void *unused, StkId base, long n, struct runtime_call *call,
			     lua_State *L)
{
	lua_pushcfunction(L, load_script);
	lua_pushlightuserdata(L, call);
	luaD_call(L, L->base, 0);
	return 0;
}

/* Where the script's memory ended: a line of its own, or 0. */
static int memory_line;

/* The innermost function in Lua, or NULL. */
static CallInfo *innermost(lua_State *L)
{
	CallInfo *ci = L->ci;

	while (ci > L->base_ci && !isLua(ci))
		ci--;
	return ci == L->base_ci ? NULL : ci;
}

static int line_of(lua_State *L)
{
	CallInfo *ci = innermost(L);
	int line;

	if (!ci || strcmp(getstr(ci_func(ci)->l.p->source), runtime->name))
		return 0;
	line = currentline(L, ci);
	return line > 0 ? line : 0;	/* -1: before its first instruction */
}

/* A handler may throw it again: the place of the first throw is kept. */
static __attribute__((noinline)) void runtime_end(lua_State *L)
{
	CallInfo *ci = innermost(L);

	if (ci && !runtime->ended[0]) {
		runtime->ended[0] = (long)ci_func(ci)->l.p;
		runtime->ended[1] = (long)(ci == L->ci ? L->savedpc : ci->savedpc);
	}
	runtime_throw();
}

/* After an error of run(), or of loading the script: empties the stack. */
static __attribute__((noinline)) int recover_run(lua_State *L)
{
	int status = runtime_stops() ? LUA_ERRERR : run_jump.status;

	memory_line = status == LUA_ERRMEM ? line_of(L) : 0;
	run_jump.status = 0;
	L->nCcalls = L->baseCcalls = 0;
	L->nny = 0;
	L->errfunc = 0;
	L->errorJmp = &run_jump;
	recover(L, status, savestack(L, L->base_ci->base), saveci(L, L->base_ci));
	return status;
}

/*
 * Continues after the protected call has unwound the C stack, if it has.  True if the call ended
 * without an error.
 */
static bool go_on_after_leaving(lua_State *L)
{
	if (run_jump.status != LUA_LEAVE)
		return false;
	run_jump.status = 0;
	run_jump.status = luaD_go_on(L);
	return !run_jump.status;
}

/* @status: the result of run(), or NOT_CALLED */
static int finish_run(lua_State *L, struct runtime_call *call, long status)
{
	if (status == NOT_CALLED)
		TRY(call_run, L->base, call->io->nargs, (long)call, L);
	else if (!run_jump.status && !call->stop)
		TRY(end_run, L->base_ci->base, status, (long)call, L);
	if (go_on_after_leaving(L))
		TRY(end_run, L->base_ci->base, COMPILED_DONE, (long)call, L);
	return run_jump.status || call->stop ? recover_run(L) : 0;
}

static int run_script(lua_State *L, struct runtime_call *call)
{
	TRY(call_load_script, L->base, 0, (long)call, L);
	go_on_after_leaving(L);
	return run_jump.status || call->stop ? recover_run(L) : 0;
}

/* -- Errors ----------------------------------------------------------------------- */

static void add_error(struct runtime_call *call, const char *text)
{
	strncat(call->error, text, RUNTIME_ERROR_LEN - 1 - strlen(call->error));
}

/* Static, because there may be no memory for a text. */
static void set_memory_error(struct runtime_call *call)
{
	char number[24];

	add_error(call, call->name + 1);
	if (memory_line) {
		runtime_format(number, "%u", memory_line);
		add_error(call, ":");
		add_error(call, number);
	}
	if (heap.refused)
		return add_error(call, ": no memory left for this user's scripts (max_arenas), or in their memory cgroup");
	runtime_format(number, "%u", call->heap_size >> 10);
	add_error(call, ": over the memory limit of ");
	add_error(call, number);
	add_error(call, " KiB");
}

static void set_error(lua_State *L, struct runtime_call *call, int status)
{
	const char *text;

	call->error[0] = '\0';
	if (status == LUA_ERRMEM) {
		call->io->failed = RUNTIME_MEMORY;
		return set_memory_error(call);
	}
	if (!call->io->failed)
		call->io->failed = RUNTIME_FAILED;
	text = lua_tostring(L, -1);
	if (text)
		return add_error(call, text);
	add_error(call, "error object is a ");
	add_error(call, luaL_typename(L, -1));
	add_error(call, " value");
}

/* -- The compound ------------------------------------------------------------------ */

static int open_lua(struct runtime_call *call)
{
	int status;

	runtime = call;
	runtime_heap(call);
	compiled_floor = call->floor;
	call->exports = &exports;
	call->replaced = &runtime_replaced;
	call->found = &found;
	call->characters = one_char;
	call->seen = &frames_seen;
	call->opened = lua_newstate(runtime_alloc_zeroed, NULL);
	if (!call->opened)
		return LUA_ERRMEM;
	status = lua_cpcall(call->opened, open_state, NULL);
	call->opened->errorJmp = &run_jump;
	return status;
}

/* @run: the status of run(), if the script is loaded */
static __attribute__((noinline)) void go_slowly(struct runtime_call *call, long run)
{
	int status;

	if (call->state) {
		status = finish_run(call->state, call, run);
	} else if (call->opened) {
		call->state = call->opened;
		status = run_script(call->state, call);
		lua_setallocf(call->state, runtime_alloc, NULL);
	} else if (call->version == RUNTIME_VERSION && call->size == sizeof(*call)) {
		status = open_lua(call);
	} else {
		/* It has other fields. */
		call->io->failed = RUNTIME_VERSIONS;
		return;
	}
	if (status) {
		drop_frames();
		set_error(call->opened, call, status);
		if (call->opened)
			lua_settop(call->opened, 0);
	}
	if (runtime_stops())
		call->io->failed = RUNTIME_STOPPED;
}

/* Between the beginning of a call and its end, unless it was ended in between. */
static HOT long is_running;

static __attribute__((noinline)) void refuse_broken(struct runtime_call *call)
{
	call->io->failed = RUNTIME_BROKEN;
	call->error[0] = '\0';
	add_error(call, call->name + 1);
	add_error(call, ": an earlier call was ended in the middle: register it again");
}

COSY_FUNCTION void lua_runtime(struct runtime_io *frame)
{
	struct runtime_io *io = COSY_SHARED(frame);
	struct runtime_call *call = COSY_SHARED(io->call);
	lua_State *L = call->state;
	long run = NOT_CALLED;

	call->io = io;
	if (is_running)
		return refuse_broken(call);
	is_running = 1;
	call->stop = 0;
	frames_seen.view = 0;
	frames_seen.object = NULL;
	if (L)
		run = call_compiled_run(L, call);
	if (!L || !finish_quickly(L, call, run))
		go_slowly(call, run);
	is_running = 0;
}
