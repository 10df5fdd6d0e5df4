// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements compiled.h: calls from the interpreter to compiled functions and back, and, in the
 * second part, functions that compiled code calls for instructions that it does not implement
 * itself, each as in luaV_execute(). layout.h describes compiled functions and their return
 * values.
 */
#include <stdbool.h>

#include "compiled.h"
#include "layout.h"

#define AT(structure, field, offset) \
	_Static_assert(offsetof(structure, field) == (offset), #offset)
AT(TValue, tt, VALUE_TAG);
AT(lua_State, top, STATE_TOP);
AT(lua_State, base, STATE_BASE);
AT(lua_State, l_G, STATE_GLOBAL);
AT(lua_State, ci, STATE_CI);
AT(lua_State, stack_last, STATE_STACK_LAST);
AT(lua_State, end_ci, STATE_END_CI);
AT(lua_State, floor, STATE_FLOOR);
AT(lua_State, l_gt, STATE_GLOBALS);
AT(global_State, rootgc, GLOBAL_ROOTGC);
AT(global_State, mt, GLOBAL_MT);
AT(CallInfo, base, CI_BASE);
AT(CallInfo, func, CI_FUNC);
AT(CallInfo, top, CI_TOP);
AT(CallInfo, savedpc, CI_SAVEDPC);
AT(CallInfo, nresults, CI_NRESULTS);
AT(CallInfo, tailcalls, CI_NRESULTS + 4);
AT(GCheader, next, OBJECT_NEXT);
AT(GCheader, tt, OBJECT_TYPE);
AT(GCheader, marked, OBJECT_MARKED);
AT(CClosure, isC, CLOSURE_IS_C);
AT(CClosure, nupvalues, CLOSURE_NUPVALUES);
AT(CClosure, id, CLOSURE_ID);
AT(CClosure, env, CLOSURE_ENV);
AT(CClosure, f, CLOSURE_F);
AT(CClosure, upvalue, CLOSURE_UPVALUES);
_Static_assert(offsetof(lua_State, nny) == offsetof(lua_State, nCcalls) + 6 &&
	       offsetof(lua_State, nCcalls) % 8 == 0, "counts()");
AT(LClosure, p, CLOSURE_F);
AT(LClosure, upvals, CLOSURE_UPVALUES);
AT(UpVal, v, UPVAL_V);
AT(UpVal, u.value, UPVAL_VALUE);
AT(Proto, compiled, PROTO_COMPILED);
AT(Proto, k, PROTO_K);
AT(Proto, code, PROTO_CODE);
AT(Proto, p, PROTO_P);
AT(Proto, lineinfo, PROTO_LINEINFO);
AT(Proto, source, PROTO_SOURCE);
AT(Proto, sizek, PROTO_SIZEK);
AT(Proto, sizecode, PROTO_SIZECODE);
AT(Proto, sizep, PROTO_SIZEP);
AT(Proto, linedefined, PROTO_LINEDEFINED);
AT(Proto, lastlinedefined, PROTO_LASTLINEDEFINED);
AT(Proto, nups, PROTO_NUPS);
AT(Proto, numparams, PROTO_NUMPARAMS);
AT(Proto, is_vararg, PROTO_IS_VARARG);
AT(Proto, maxstacksize, PROTO_MAXSTACKSIZE);
AT(Table, flags, TABLE_FLAGS);
AT(Table, lsizenode, TABLE_LSIZENODE);
AT(Table, nodemask, TABLE_NODEMASK);
AT(Table, metatable, TABLE_METATABLE);
AT(Table, array, TABLE_ARRAY);
AT(Table, node, TABLE_NODE);
AT(Table, sizearray, TABLE_SIZEARRAY);
AT(Node, i_key, NODE_KEY);
AT(Node, i_key.nk.tt, NODE_KEY_TAG);
AT(Node, i_key.nk.next, NODE_NEXT);
AT(TString, tsv.hash, STRING_HASH);
AT(TString, tsv.len, STRING_LEN);
AT(struct port, in, 0);
AT(struct port, ready, PORT_READY);
AT(struct port, views, PORT_VIEWS);
_Static_assert(offsetof(typeof(frames_seen), frame) == SEEN_FRAME &&
	       offsetof(typeof(frames_seen), object) == SEEN_OBJECT &&
	       offsetof(typeof(frames_seen), port) == SEEN_PORT, "frames_seen");
_Static_assert(sizeof(TValue) == VALUE_SIZE && sizeof(CallInfo) == CI_SIZE &&
	       sizeof(Node) == NODE_SIZE && sizeof(TString) == STRING_TEXT, "sizes");
_Static_assert(bitmask(BLACKBIT) == OBJECT_BLACK && bitmask(WATCHEDBIT) == OBJECT_WATCHED, "marks");
_Static_assert(MINUS_ZERO == NUM_MINUS_ZERO, "-0");
_Static_assert(TAG_NUMBER == LUA_TNUMBER && TAG_THREAD == LUA_TTHREAD && TAG_PROTO == LUA_TPROTO,
	       "tags");

/* -- Running them ----------------------------------------------------------------- */

typedef long compiled(void *unused, StkId func, long nargs, unsigned long nresults, lua_State *L);

static bool has_room(const lua_State *L)
{
	char here;

	return (unsigned long)&here >= L->floor;
}

static int compiled_can(lua_State *L, const TValue *func)
{
	return isLfunction(func) && clvalue(func)->l.p->compiled && has_room(L);
}

/* Begins a call of the function at @func, whose arguments end at L->top. */
static long begin(lua_State *L, StkId func, int nresults, unsigned long tailcalls)
{
	long number = clvalue(func)->l.p->compiled;

	return ((compiled *)number)(func, func, L->top - func - 1,
				    (unsigned int)nresults | tailcalls << 32, L);
}

/* Ends a call of the function at @func: restores L->top. */
static inline void is_over(lua_State *L, ptrdiff_t func, int nresults)
{
	if (nresults >= 0)
		L->top = restorestack(L, func) + nresults;
	L->savedpc = L->ci->savedpc;
}

/* Continues until nothing is left to do here, or @status needs the caller. */
static int run_on(lua_State *L, ptrdiff_t func, int nresults, long status)
{
	while ((int)status == COMPILED_TAIL)
		status = begin(L, restorestack(L, func), nresults, (unsigned long)status >> 32);
	if (status == COMPILED_FRAME)
		return PCRLUA;
	if (status == COMPILED_YIELD)
		return PCRYIELD;
	is_over(L, func, nresults);
	return PCRC;
}

static int compiled_call(lua_State *L, StkId func, int nresults)
{
	return run_on(L, savestack(L, func), nresults, begin(L, func, nresults, 0));
}

/* The number of the function's compiled form, or 0. */
static inline unsigned long compiled_number(const TValue *func)
{
	unsigned long id = ttisfunction(func) ? clvalue(func)->c.id : 0;

	return id < ID_SYSCALL ? id : 0;
}

/* Restores the state after an error, as luaD_pcall() does. */
static __attribute__((noinline)) void recover(lua_State *L, int status, ptrdiff_t old_top,
					      ptrdiff_t old_ci)
{
	StkId top = restorestack(L, old_top);

	luaF_close(L, top);
	luaD_seterrorobj(L, status, top);
	L->ci = restoreci(L, old_ci);
	L->base = L->ci->base;
	L->savedpc = L->ci->savedpc;
	restore_stack_limit(L);
}

/* Removes the frame of L->ci, and moves @func and its arguments there. */
static StkId move_down(lua_State *L, StkId func)
{
	StkId to = L->ci->func;

	if (L->openupval)
		luaF_close(L, L->ci->base);
	L->ci--;
	L->base = L->ci->base;
	while (func < L->top) {
		setobjs2s(L, to, func);
		to++;
		func++;
	}
	func = (L->ci + 1)->func;
	L->top = to;
	return func;
}

static int compiled_tailcall(lua_State *L, StkId func)
{
	unsigned long tailcalls = (unsigned int)L->ci->tailcalls + 1;
	int nresults = L->ci->nresults;

	func = move_down(L, func);
	return run_on(L, savestack(L, func), nresults, begin(L, func, nresults, tailcalls));
}

static int compiled_begun(lua_State *L)
{
	return L->savedpc != ci_func(L->ci)->l.p->code;
}

static void compiled_pc(CallInfo *ci)
{
	unsigned long pc = (unsigned long)ci->savedpc;

	if (pc < COMPILED_PC_MAX && isLua(ci))
		ci->savedpc = ci_func(ci)->l.p->code + pc;
}

static void compiled_leave(lua_State *L)
{
	CallInfo *ci;

	for (ci = L->base_ci; ci <= L->ci; ci++)
		compiled_pc(ci);
}

/* -- What they call: instructions --------------------------------------------------- */

struct at {
	Instruction i;
	const Proto *p;
	LClosure *cl;
	StkId base, ra;
};

/*
 * A point where the run may be stopped.  Sets the line for errors, and for the stop; L->top stays,
 * for instructions that use it.
 */
static inline struct at look(lua_State *L, long pc)
{
	LClosure *cl = &clvalue(L->ci->func)->l;
	StkId base = L->base;
	Instruction i = cl->p->code[pc];

	L->savedpc = cl->p->code + pc + 1;
	luai_threadyield(L);
	return (struct at){ i, cl->p, cl, base, base + GETARG_A(i) };
}

/*
 * As above, and sets L->top to the frame's end, for the collector and for values that are pushed.
 */
static inline struct at look_closed(lua_State *L, long pc)
{
	L->top = L->ci->top;
	return look(L, pc);
}

static inline TValue *rk(const struct at *at, int index)
{
	return ISK(index) ? at->p->k + INDEXK(index) : at->base + index;
}

/* The slow path into a compiled function; 0 passes its frame to the interpreter. */
static long compiled_enter(lua_State *L, StkId func, long nargs, unsigned long nresults)
{
	compiled_pc(L->ci);
	L->savedpc = L->ci->savedpc;
	L->top = func + 1 + nargs;
	luaD_enter(L, func, (int)nresults);
	L->ci->tailcalls = (int)(nresults >> 32);
	return has_room(L);
}

/* The interpreter has to continue at @pc. */
static long compiled_leave_at(lua_State *L, long pc)
{
	look_closed(L, pc);
	L->savedpc--;
	return COMPILED_FRAME;
}

/* Continues according to luaD_precall()'s result; returns DONE or YIELD. */
static long go_on(lua_State *L, int how)
{
	if (how == PCRLUA) {
		luaV_execute(L, 1);
		how = L->status == LUA_YIELD ? PCRYIELD : PCRC;
	}
	return how == PCRYIELD ? COMPILED_YIELD : COMPILED_DONE;
}

/*
 * The function at @func was inlined into its caller, and the interpreter has to continue in it at
 * @pc: its registers are in place, but it has no frame.
 */
static long compiled_resume(lua_State *L, StkId func, long pc, long nresults)
{
	const Proto *p = clvalue(func)->l.p;
	CallInfo *ci;

	compiled_pc(L->ci);
	L->savedpc = L->ci->savedpc;
	L->top = func + 1 + p->maxstacksize;
	ci = inc_ci(L);
	ci->func = func;
	L->base = ci->base = func + 1;
	ci->top = L->top;
	ci->tailcalls = 0;
	ci->nresults = (int)nresults;
	L->savedpc = p->code + pc;
	luai_threadyield(L);
	return go_on(L, PCRLUA);
}

static long compiled_call_at(lua_State *L, long pc)
{
	struct at at = look(L, pc);
	int b = GETARG_B(at.i);

	if (b)
		L->top = at.ra + b;
	L->ci->savedpc = L->savedpc;
	/* The code is specialised for another function, for instance a method of strings. */
	if (iscfunction(at.ra) && compiled_number(at.ra))
		return ((compiled *)compiled_number(at.ra))(NULL, at.ra, L->top - at.ra - 1,
							    (unsigned int)(GETARG_C(at.i) - 1), L);
	return go_on(L, luaD_precall(L, at.ra, GETARG_C(at.i) - 1));
}

/**
 * struct caught - state that compiled_pcall() restores after an error, as luaD_pcall() does
 * @counts:  of calls, L->nCcalls to L->nny
 * @ci:      of pcall()
 * @handler: L->errfunc
 */
struct caught {
	struct lua_longjmp jump;
	uint64_t counts;
	ptrdiff_t ci, handler;
};

static uint64_t *counts(lua_State *L)
{
	return (uint64_t *)&L->nCcalls;
}

/* In the form of a compiled function: calls the function at @func, which has none. */
static long call_caught(void *unused, StkId func, long nargs, unsigned long nresults, lua_State *L)
{
	luaD_call(L, func, (int)nresults);
	return COMPILED_DONE;
}

/* As above, for a compiled function that has returned @status and is not finished. */
static long go_on_caught(void *unused, StkId func, long status, unsigned long nresults,
			 lua_State *L)
{
	if (run_on(L, savestack(L, func), (int)nresults, status) == PCRLUA)
		luaV_execute(L, 1);
	return COMPILED_DONE;
}

/* After an error, a yield, or a request to end the run. */
static __attribute__((noinline)) void fail_caught(lua_State *L, struct caught *caught)
{
	int nresults, status;
	StkId ra;

	luai_tried(&caught->jump);
	luaD_tried(L, caught->jump.status);
	status = caught->jump.status;
	*counts(L) = caught->counts;
	recover(L, status, savestack(L, restoreci(L, caught->ci)->base), caught->ci);
	ra = L->ci->func;
	nresults = L->ci->nresults;
	setbvalue(ra, 0);
	while (nresults != LUA_MULTRET && L->top < ra + nresults) {
		setnilvalue(L->top);
		L->top++;
	}
	/* A loop around pcall() may have no other point where the run can be stopped. */
	luai_threadyield(L);
}

static inline void push_pcall(lua_State *L, StkId func, int nresults)
{
	CallInfo *ci = inc_ci(L);

	ci->func = func;
	L->base = ci->base = func + 1;
	ci->top = L->top + LUA_MINSTACK;
	ci->nresults = nresults;
}

/* pcall() without a function: raises the error. */
static __attribute__((noinline)) long pcall_nothing(lua_State *L, StkId func, int nresults)
{
	compiled_pc(L->ci);
	L->savedpc = L->ci->savedpc;
	return go_on(L, luaD_precall(L, func, nresults));
}

static __attribute__((noinline)) StkId grow_stack(lua_State *L, StkId func)
{
	ptrdiff_t place = savestack(L, func);

	luaD_growstack(L, LUA_MINSTACK);
	return restorestack(L, place);
}

/* Is work left after a protected call? */
static inline bool is_left(const struct lua_longjmp *jump, long status)
{
	return status != COMPILED_DONE && !jump->status && !runtime_stops();
}

/* pcall() at @func, in the form of a compiled function. */
static long compiled_pcall(void *unused, StkId func, long nargs, unsigned long nresults,
			   lua_State *L)
{
	unsigned int wanted = (int)nresults - ((int)nresults > 0);
	long status;
	unsigned long number = 0;
	struct caught caught;

	L->top = func + 1 + nargs;
	if (!nargs)
		return pcall_nothing(L, func, (int)nresults);
	if ((char *)L->stack_last - (char *)L->top <= LUA_MINSTACK * (int)sizeof(TValue))
		func = grow_stack(L, func);
	push_pcall(L, func, (int)nresults);
	caught.jump.status = 0;
	caught.jump.previous = L->errorJmp;
	caught.counts = *counts(L);
	caught.ci = saveci(L, L->ci);
	caught.handler = L->errfunc;
	L->errorJmp = &caught.jump;
	L->errfunc = 0;
	if (L->nCcalls < LEAVE_DEPTH - 1)
		number = compiled_number(func + 1);
	L->nCcalls += number != 0;
	status = TRY(number ?: (unsigned long)call_caught, func + 1, nargs - 1, wanted, L);
	if (is_left(&caught.jump, status))
		TRY(go_on_caught, restoreci(L, caught.ci)->base, status, wanted, L);
	L->errorJmp = caught.jump.previous;
	L->errfunc = caught.handler;
	if (caught.jump.status || runtime_stops()) {
		fail_caught(L, &caught);
	} else {
		*counts(L) = caught.counts;
		setbvalue(L->ci->func, 1);
	}
	L->ci--;
	L->base = L->ci->base;
	return COMPILED_DONE;
}

/* A compiled function that compiled code called directly has returned @status. */
static long compiled_finish(lua_State *L, long pc, long status)
{
	struct at at;

	if (status == COMPILED_YIELD)
		return status;
	if (status == COMPILED_FRAME)
		return go_on(L, PCRLUA);
	at = look(L, pc);
	return go_on(L, run_on(L, savestack(L, at.ra), GETARG_C(at.i) - 1, status));
}

static long compiled_return(lua_State *L, long pc)
{
	struct at at = look(L, pc);
	int b = GETARG_B(at.i);

	if (b)
		L->top = at.ra + b - 1;
	if (L->openupval)
		luaF_close(L, at.base);
	luaD_poscall(L, at.ra);
	return COMPILED_DONE;
}

static long compiled_tail(lua_State *L, long pc)
{
	struct at at = look(L, pc);
	unsigned long tailcalls = (unsigned int)L->ci->tailcalls + 1;
	int b = GETARG_B(at.i), how;

	if (b)
		L->top = at.ra + b;
	if (!ttisfunction(at.ra))
		at.ra = luaD_tryfuncTM(L, at.ra);
	if (compiled_can(L, at.ra)) {
		move_down(L, at.ra);
		return COMPILED_TAIL | (long)(tailcalls << 32);
	}
	if (iscfunction(at.ra) && compiled_number(at.ra)) {
		L->ci->savedpc = L->savedpc;
		return ((compiled *)compiled_number(at.ra))(NULL, at.ra, L->top - at.ra - 1,
							    (unsigned int)LUA_MULTRET, L);
	}
	how = luaD_precall(L, at.ra, LUA_MULTRET);
	if (how != PCRLUA || compiled_begun(L))
		return go_on(L, how);
	luaD_replace(L);
	return COMPILED_FRAME;
}

static long compiled_getglobal(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	TValue g;

	sethvalue(L, &g, at.cl->env);
	luaV_gettable(L, &g, at.p->k + GETARG_Bx(at.i), at.ra);
	return 0;
}

static long compiled_setglobal(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	TValue g;

	sethvalue(L, &g, at.cl->env);
	luaV_settable(L, &g, at.p->k + GETARG_Bx(at.i), at.ra);
	return 0;
}

/* The view that the object has at @place if it is a port, or 0. */
static long compiled_view(Udata *object, long place)
{
	struct port *port;
	unsigned long view;

	if (!port_meta || object->uv.metatable != port_meta || !frames_seen.view ||
	    (unsigned long)place - 1 >= FRAMES_MAX)
		return 0;
	port = ports[*(unsigned int *)(object + 1)];
	view = port->views | (place - 1);
	frames_seen.object = object;
	frames_seen.port = port;
	see_frame(port, place - 1, view);
	return (long)view;
}

/* frame:str() of the @n bytes at @p. */
static long compiled_frame_text(lua_State *L, StkId ra, const char *p, unsigned long n)
{
	put_text(L, ra, p, n);
	check_collector(L);
	return 1;
}

/* frame:reply(@n), or 0 if that fails or raises an error. */
static long compiled_replied(struct image_batch_frame *frame, unsigned long n, unsigned long value)
{
	const struct view view = view_from(value);

	return may_note(view.port) && reply_with(&view, frame, n);
}

/* As callTMres(), but calls a compiled function as compiled code does. */
static void call_handler(lua_State *L, StkId res, const TValue *f, const TValue *t,
			 const TValue *key)
{
	ptrdiff_t result = savestack(L, res), func;
	long status;

	if (L->nCcalls >= LEAVE_DEPTH - 1 || !compiled_can(L, f))
		return callTMres(L, res, f, t, key);
	setobj2s(L, L->top, f);
	setobj2s(L, L->top + 1, t);
	setobj2s(L, L->top + 2, key);
	luaD_checkstack(L, 3);
	func = savestack(L, L->top);
	L->top += 3;
	L->ci->savedpc = L->savedpc;
	L->nCcalls++;
	status = begin(L, L->top - 3, 1, 0);
	if (status == COMPILED_DONE)
		is_over(L, func, 1);
	else if (run_on(L, func, 1, status) == PCRLUA)
		luaV_execute(L, 1);
	L->nCcalls--;
	luaC_checkGC(L);
	L->top--;
	setobjs2s(L, restorestack(L, result), L->top);
}

static long compiled_gettable(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	StkId rb = at.base + GETARG_B(at.i);
	TValue *key = rk(&at, GETARG_C(at.i));
	const TValue *value, *handler;

	if (is_frame_at(rb, key)) {
		set_view(at.ra, rb, nvalue(key));
		return 0;
	}
	if (!ttistable(rb)) {
		luaV_gettable(L, rb, key, at.ra);
		return 0;
	}
	value = luaH_get(hvalue(rb), key);
	handler = ttisnil(value) ? fasttm(L, hvalue(rb)->metatable, TM_INDEX) : NULL;
	if (!handler)
		setobj2s(L, at.ra, value)
	else if (ttisfunction(handler))
		call_handler(L, at.ra, handler, rb, key);
	else
		luaV_gettable(L, handler, key, at.ra);
	return 0;
}

static long compiled_settable(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	TValue *key = rk(&at, GETARG_B(at.i)), *to;

	/* An array element without metamethods. */
	if (ttistable(at.ra) && !hvalue(at.ra)->metatable && ttisnumber(key) &&
	    nvalue(key) == (int)nvalue(key)) {
		to = luaH_setnum(L, hvalue(at.ra), (int)nvalue(key));
		setobj2t(L, to, rk(&at, GETARG_C(at.i)));
		luaC_barriert(L, hvalue(at.ra), to);
		return 0;
	}
	luaV_settable(L, at.ra, rk(&at, GETARG_B(at.i)), rk(&at, GETARG_C(at.i)));
	return 0;
}

static long compiled_self(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	StkId rb = at.base + GETARG_B(at.i);

	TValue *name = rk(&at, GETARG_C(at.i));
	const TValue *method = method_of(rb, name);

	setobjs2s(L, at.ra + 1, rb);
	if (method) {
		setobj2s(L, at.ra, method);
		return 0;
	}
	luaV_gettable(L, rb, name, at.ra);
	return 0;
}

static long compiled_setupval(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	UpVal *uv = at.cl->upvals[GETARG_B(at.i)];

	setobj(L, uv->v, at.ra);
	luaC_barrier(L, uv, at.ra);
	return 0;
}

static long compiled_newtable(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	int b = GETARG_B(at.i), c = GETARG_C(at.i);

	sethvalue(L, at.ra, luaH_new(L, luaO_fb2int(b), luaO_fb2int(c)));
	luaC_checkGC(L);
	return 0;
}

static long compiled_arith(lua_State *L, long pc)
{
	static const TMS events[] = {
		[OP_ADD] = TM_ADD, [OP_SUB] = TM_SUB, [OP_MUL] = TM_MUL, [OP_DIV] = TM_DIV,
		[OP_MOD] = TM_MOD, [OP_POW] = TM_POW, [OP_UNM] = TM_UNM,
	};
	struct at at = look_closed(L, pc);
	OpCode op = GET_OPCODE(at.i);
	const TValue *rb = rk(&at, GETARG_B(at.i));

	Arith(L, at.ra, rb, op == OP_UNM ? rb : rk(&at, GETARG_C(at.i)), events[op]);
	return 0;
}

static long compiled_len(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	const TValue *rb = at.base + GETARG_B(at.i);

	if (ttistable(rb))
		setnvalue(at.ra, cast_num(luaH_getn(hvalue(rb))))
	else if (ttisstring(rb))
		setnvalue(at.ra, cast_num(tsvalue(rb)->len))
	else if (!call_binTM(L, rb, luaO_nilobject, at.ra, TM_LEN))
		luaG_typeerror(L, rb, "get length of");
	return 0;
}

static long compiled_concat(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	int b = GETARG_B(at.i), c = GETARG_C(at.i);

	if (join_values(L, at.ra, L->base + b, L->base + c)) {
		luaC_checkGC(L);
		return 0;
	}
	luaV_concat(L, c - b + 1, c);
	luaC_checkGC(L);
	setobjs2s(L, L->base + GETARG_A(at.i), L->base + b);
	return 0;
}

/* OP_EQ, OP_LT, OP_LE: is the condition true? */
static long compiled_compare(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	TValue *rb = rk(&at, GETARG_B(at.i)), *rc = rk(&at, GETARG_C(at.i));

	switch (GET_OPCODE(at.i)) {
	case OP_EQ:
		return equalobj(L, rb, rc) != 0;
	case OP_LT:
		return luaV_lessthan(L, rb, rc) != 0;
	default:
		return lessequal(L, rb, rc) != 0;
	}
}

/*
 * The number of elements of @t up to the one with @key, in the order of next(); -1: next() has to
 * look for it.
 */
static long next_place(const Table *t, const TValue *key)
{
	int i = arrayindex(key);
	const Node *n;

	if (ttisnil(key))
		return 0;
	if (0 < i && i <= t->sizearray)
		return i;
	for (n = mainposition(t, key); n; n = gnext(n))
		if (gkey(n)->tt == key->tt && gkey(n)->value.gc == key->value.gc)
			return t->sizearray + (n - t->node) + 1;
	return -1;
}

/* As luaH_next(): the element at @place or after it at @to; returns 0 at the end. */
static long put_next(lua_State *L, const Table *t, long place, StkId to)
{
	const Node *n, *end = t->node + sizenode(t);

	for (; place < t->sizearray; place++) {
		if (ttisnil(&t->array[place]))
			continue;
		setnvalue(to, place + 1);
		setobj2s(L, to + 1, &t->array[place]);
		return 1;
	}
	for (n = t->node + (place - t->sizearray); n < end; n++) {
		if (ttisnil(gval(n)))
			continue;
		setobj2s(L, to, key2tval(n));
		setobj2s(L, to + 1, gval(n));
		return 1;
	}
	return 0;
}

/* A loop over next(), as pairs() begins it, without a call; -1: it is another one. */
static long loop_next(lua_State *L, StkId ra, int wanted)
{
	StkId to = ra + 3;
	long place;

	if (!iscfunction(ra) || clvalue(ra)->c.f != luaB_next || !ttistable(ra + 1))
		return -1;
	place = next_place(hvalue(ra + 1), ra + 2);
	if (place < 0)
		return -1;
	if (!put_next(L, hvalue(ra + 1), place, to)) {
		setnilvalue(to);
		return 0;
	}
	put_nils(to, 2, wanted);
	setobjs2s(L, to - 1, to);
	return 1;
}

/* Does the loop continue? */
static long compiled_tforloop(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	StkId cb = at.ra + 3;
	long more = loop_next(L, at.ra, GETARG_C(at.i));

	if (more >= 0)
		return more;
	setobjs2s(L, cb + 2, at.ra + 2);
	setobjs2s(L, cb + 1, at.ra + 1);
	setobjs2s(L, cb, at.ra);
	L->top = cb + 3;
	luaD_call(L, cb, GETARG_C(at.i));
	cb = L->base + GETARG_A(at.i) + 3;
	if (ttisnil(cb))
		return 0;
	setobjs2s(L, cb - 1, cb);
	return 1;
}

static long compiled_setlist(lua_State *L, long pc)
{
	struct at at = look(L, pc);
	int n = GETARG_B(at.i), c = GETARG_C(at.i), last;
	Table *h;

	if (n == 0)
		n = cast_int(L->top - at.ra) - 1;
	if (c == 0)
		c = cast_int(at.p->code[pc + 1]);
	if (!ttistable(at.ra))
		return 0;
	h = hvalue(at.ra);
	last = (c - 1) * LFIELDS_PER_FLUSH + n;
	if (last > h->sizearray)
		luaH_resizearray(L, h, last);
	for (; n > 0; n--) {
		TValue *val = at.ra + n;

		setobj2t(L, luaH_setnum(L, h, last--), val);
		luaC_barriert(L, h, val);
	}
	/* Not earlier: the values may lie beyond the frame's end. */
	L->top = L->ci->top;
	return 0;
}

static long compiled_close(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);

	luaF_close(L, at.ra);
	return 0;
}

static long compiled_closure(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	Proto *p = at.p->p[GETARG_Bx(at.i)];
	const Instruction *next = L->savedpc;
	int nup = p->nups, j;
	Closure *ncl = luaF_newLclosure(L, nup, at.cl->env);

	ncl->l.p = p;
	ncl->l.id = p->compiled;
	for (j = 0; j < nup; j++, next++) {
		if (GET_OPCODE(*next) == OP_GETUPVAL)
			ncl->l.upvals[j] = at.cl->upvals[GETARG_B(*next)];
		else
			ncl->l.upvals[j] = luaF_findupval(L, at.base + GETARG_B(*next));
	}
	setclvalue(L, at.ra, ncl);
	luaC_checkGC(L);
	return 0;
}

static long compiled_vararg(lua_State *L, long pc)
{
	struct at at = look_closed(L, pc);
	CallInfo *ci = L->ci;
	int b = GETARG_B(at.i) - 1, j, n = cast_int(ci->base - ci->func) - at.p->numparams - 1;

	if (b == LUA_MULTRET) {
		luaD_checkstack(L, n);
		at.ra = L->base + GETARG_A(at.i);
		b = n;
		L->top = at.ra + n;
	}
	for (j = 0; j < b; j++) {
		if (j < n)
			setobjs2s(L, at.ra + j, L->ci->base - n + j)
		else
			setnilvalue(at.ra + j);
	}
	return 0;
}

/* A result outside of INTEGER_BITS: stores it in R(A) of the call at @pc. */
static long compiled_integer(lua_State *L, long pc, long value)
{
	struct at at = look_closed(L, pc);

	luaD_checkstack(L, 1);
	push_long(L, value);
	L->top--;
	setobjs2s(L, L->base + GETARG_A(at.i), L->top);
	return 0;
}

/* The address of @t's value for @key, or 0 if that is nil. */
static long compiled_field(Table *t, TString *key)
{
	Node *n = &t->node[key->tsv.hash & t->nodemask];

	while (rawtsvalue(gkey(n)) != key || !ttisstring(gkey(n))) {
		n = gnext(n);
		if (!n)
			return 0;
	}
	return ttisnil(gval(n)) ? 0 : (long)gval(n);
}

/*
 * As above, and adds the key if it is missing, as newkey() does. 0 also if a metatable may want to
 * know, if there is no room, or if the collector has to be told of the key or its value.
 */
static long compiled_added(Table *t, TString *key)
{
	Node *main = hashstr(t, key), *n = main;

	if (t->metatable || t->marked & (OBJECT_BLACK | OBJECT_WATCHED))
		return 0;
	t->flags = 0;
	do {
		if (rawtsvalue(gkey(n)) == key && ttisstring(gkey(n)))
			return (long)gval(n);
		n = gnext(n);
	} while (n);
	n = freenode(t, main);
	if (!n)
		return 0;
	gkey(n)->value.gc = (GCObject *)key;
	gkey(n)->tt = LUA_TSTRING;
	return (long)gval(n);
}

#define compiled_call compiled_call_at
#define compiled_copied memcpy
#define HELPER_ENTRY(name)	[HELPER_##name] = (uint64_t)compiled_##name,
#define INTRINSIC_ENTRY(name)	[INTRINSIC_##name] = (uint64_t)name,
static const struct runtime_exports exports = {
	{ HELPERS(HELPER_ENTRY) },
	{ INTRINSICS(INTRINSIC_ENTRY) },
};
#undef compiled_call
#undef compiled_copied
