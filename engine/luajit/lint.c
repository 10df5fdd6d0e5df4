/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Finds mistakes in a script that compiles: unknown names, missing arguments, globals
 * that were meant to be locals, lost descriptors.
 *
 * Works on the bytecode, one function after the other: a dataflow analysis computes for each
 * instruction what is known about each slot (struct flow), and a last pass over the instructions
 * reports mistakes. Values of upvalues that never change are known in inner functions. Anything
 * that is not certain is assumed to be right.
 */
#define lint_c
#define LUA_LIB

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>	/* qsort() */
#include <string.h>

#include "lua.h"
#include "lauxlib.h"

#include "lj_obj.h"
#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_err.h"
#include "lj_str.h"
#include "lj_tab.h"

#include "lib.h"
#include "../../include/uapi/syscript.h"

static const unsigned char syscall_flags[] = {
#define SYSCALL(name, kinds, flags)	flags,
#include "syscalls.def"
};

/* -- Values ---------------------------------------------------------------- */

/* The lint's knowledge of a slot: a kind in the top byte, and its data. */
typedef uint64_t value;

enum kind {
  V_NONE,	/* The instruction is not reached. */
  V_ANY,
  V_NIL,
  V_NUMBER,
  V_STRING,
  V_LIBRARY,	/* A table of functions or constants: GCstr *name. */
  V_SYSCALL,	/* A function of syscall.*: index. */
  V_FD,		/* A descriptor: position of the call that returned it. */
  V_FUNCTION	/* GCproto * */
};

#define VALUE(kind, rest)	((value)(kind) << 56 | (value)(uintptr_t)(rest))
#define KIND(v)			((enum kind)((v) >> 56))
#define REST(v)			((v) & (((value)1 << 56) - 1))
#define ANY			VALUE(V_ANY, 0)

/* -- Findings -------------------------------------------------------------- */

struct finding {
  BCLine line;
  unsigned int order;
  char text[192];
};

struct lint {
  lua_State *L;
  const char *chunk;
  GCtab *assigned;	/* Globals: true if at the top level, else false. */
  GCtab *members;	/* Names that are assigned to in any table. */
  GCproto *run;
  int blind;		/* Globals may be set in ways that the lint does not see. */
  struct finding *findings;	/* [FINDINGS_MAX] */
  unsigned int n;
};

#define FINDINGS_MAX	250

/*
 * Allocates zeroed whole pages, which are freed with the VM if an error or a limit ends the lint.
 */
static void *lint_pages(struct lint *lt, size_t size)
{
  void *p = port_pages(G2VM(G(lt->L)), (size + 4095) & ~(size_t)4095);
  if (!p)
    luaL_error(lt->L, "no memory to check the script");
  return p;
}

static void lint_free(struct lint *lt, void *p, size_t size)
{
  port_free_pages(G2VM(G(lt->L)), p, (size + 4095) & ~(size_t)4095);
}

static void report(struct lint *lt, BCLine line, const char *format, ...)
{
  struct finding *f = &lt->findings[lt->n];
  va_list args;
  if (lt->n == FINDINGS_MAX)
    return;
  f->line = line;
  f->order = lt->n++;
  va_start(args, format);
  vsnprintf(f->text, sizeof(f->text), format, args);
  va_end(args);
}

static int by_line(const void *a, const void *b)
{
  const struct finding *f = (const struct finding *)a;
  const struct finding *g = (const struct finding *)b;
  return f->line != g->line ? (f->line < g->line ? -1 : 1) :
	 f->order < g->order ? -1 : 1;
}

static void write_findings(struct lint *lt, struct engine_findings *to)
{
  unsigned int i;
  qsort(lt->findings, lt->n, sizeof(lt->findings[0]), by_line);
  for (i = 0; i < lt->n; i++) {
    const struct finding *f = &lt->findings[i];
    char place[16] = "";
    int n;
    if (f->line)
      snprintf(place, sizeof(place), "%d:", (int)f->line);
    n = snprintf(to->text + to->len, to->size - to->len, "%s:%s %s\n", lt->chunk,
		 place, f->text);
    if ((unsigned long)n >= to->size - to->len) {
      to->text[to->len] = '\0';  /* Whole lines only. */
      break;
    }
    to->len += (unsigned long)n;
  }
  to->n = lt->n;
}

/* -- Names ----------------------------------------------------------------- */

static GCstr *kstr(GCproto *pt, BCReg d)
{
  return gco2str(proto_kgc(pt, ~(ptrdiff_t)d));
}

/* The globals as a new script sees them: lint does not run the top level. */
static cTValue *builtin(struct lint *lt, GCstr *name)
{
  cTValue *o = lj_tab_getstr(tabref(lt->L->env), name);
  return o && !tvisnil(o) ? o : NULL;
}

static cTValue *assigned(struct lint *lt, GCstr *name)
{
  cTValue *o = lj_tab_getstr(lt->assigned, name);
  return o && !tvisnil(o) ? o : NULL;
}

static int isname(GCstr *s, const char *name)
{
  return strcmp(strdata(s), name) == 0;
}

/* Looks up (library, name) as a script would. */
static int get_member(lua_State *L)
{
  lua_gettable(L, 1);
  return 1;
}

/* Reports if the library has no such member. */
static void check_member(struct lint *lt, BCLine line, GCstr *library, GCstr *name)
{
  lua_State *L = lt->L;
  int top = lua_gettop(L);
  cTValue *o = lj_tab_getstr(lt->members, name);
  if (o && !tvisnil(o))
    return;
  lua_pushcfunction(L, get_member);
  lua_getglobal(L, strdata(library));
  lua_pushstring(L, strdata(name));
  if (lua_pcall(L, 2, 1, 0) != LUA_OK)
    report(lt, line, "%s", lua_tostring(L, -1));
  else if (lua_isnil(L, -1))
    report(lt, line, "%s has no member '%s'", strdata(library), strdata(name));
  lua_settop(L, top);
}

/* -- One function ---------------------------------------------------------- */

struct flow {
  struct lint *lt;
  GCproto *pt;
  BCReg nslots;
  value *in;			/* [sizebc][nslots]: the state before each instruction. */
  value *out;			/* [nslots]: the state after the current instruction. */
  const value *upvalues;
  unsigned char *shared;	/* [nslots]: slots that inner functions may assign to. */
  unsigned char *used;		/* [sizebc]: the descriptor returned there is used. */
  unsigned char *todo;		/* [sizebc]: instructions to be visited again. */
};

static value *before(struct flow *fl, BCPos pc)
{
  return fl->in + (size_t)pc * fl->nslots;
}

static BCLine line_of(struct flow *fl, BCPos pc)
{
  return lj_debug_line(fl->pt, pc);
}

static void use(struct flow *fl, value v)
{
  if (KIND(v) == V_FD)
    fl->used[REST(v)] = 1;
}

static value merge(struct flow *fl, value a, value b)
{
  if (a == b || KIND(b) == V_NONE)
    return a;
  if (KIND(a) == V_NONE)
    return b;
  /* The value may be used where its origin is not known any more. */
  use(fl, a);
  use(fl, b);
  return ANY;
}

/* Merges @out, the state after an instruction, into the state before @pc. */
static void flow_to(struct flow *fl, BCPos pc, const value *out)
{
  value *in = before(fl, pc);
  BCReg s;
  if (pc >= fl->pt->sizebc)
    return;
  for (s = 0; s < fl->nslots; s++) {
    value v = fl->shared[s] ? ANY : merge(fl, in[s], out[s]);
    if (v != in[s]) {
      in[s] = v;
      fl->todo[pc] = 1;
    }
  }
}

static void forget(struct flow *fl, value *out, BCReg from)
{
  for (; from < fl->nslots; from++)
    out[from] = ANY;
}

static value global(struct flow *fl, GCstr *name)
{
  cTValue *o = builtin(fl->lt, name);
  return o && tvistab(o) && !isname(name, "_G") && !assigned(fl->lt, name) ?
	 VALUE(V_LIBRARY, name) : ANY;
}

static value member(value library, GCstr *name)
{
  GCstr *of = (GCstr *)(uintptr_t)REST(library);
  int i;
  if (KIND(library) != V_LIBRARY)
    return ANY;
  if (isname(of, "const") || (isname(of, "errno") && !isname(name, "name")))
    return VALUE(V_NUMBER, 0);
  i = isname(of, "syscall") ? vm_syscall_find(strdata(name)) : -1;
  return i < 0 ? ANY : VALUE(V_SYSCALL, i);
}

static value call_result(BCPos pc, value function, BCIns ins)
{
  if (KIND(function) != V_SYSCALL)
    return ANY;
  /* Results that a later instruction takes as multiple values are not followed. */
  return (syscall_flags[REST(function)] & SC_OPENS) && bc_b(ins) == 2 ?
	 VALUE(V_FD, pc) : ANY;
}

static value function_at(GCproto *pt, BCIns ins)
{
  return VALUE(V_FUNCTION, gco2pt(proto_kgc(pt, ~(ptrdiff_t)bc_d(ins))));
}

/* Computes the slots after an instruction. */
static void step(struct flow *fl, BCPos pc, BCIns ins, value *out)
{
  BCReg a = bc_a(ins), s;
  switch (bc_op(ins)) {
  case BC_KSTR: out[a] = VALUE(V_STRING, 0); break;
  case BC_KNUM: case BC_KSHORT: out[a] = VALUE(V_NUMBER, 0); break;
  case BC_KPRI: out[a] = bc_d(ins) == 0 ? VALUE(V_NIL, 0) : ANY; break;
  case BC_KNIL:
    for (s = a; s <= bc_d(ins); s++)
      out[s] = VALUE(V_NIL, 0);
    break;
  case BC_MOV: out[a] = out[bc_d(ins)]; break;
  case BC_UGET: out[a] = fl->upvalues[bc_d(ins)]; break;
  case BC_FNEW: out[a] = function_at(fl->pt, ins); break;
  case BC_GGET: out[a] = global(fl, kstr(fl->pt, bc_d(ins))); break;
  case BC_TGETS: out[a] = member(out[bc_b(ins)], kstr(fl->pt, bc_c(ins))); break;
  case BC_CALL: case BC_CALLM: {
    value result = call_result(pc, out[a], ins);
    forget(fl, out, a);
    out[a] = result;
    break;
  }
  case BC_VARG: case BC_ITERC: case BC_ITERN: case BC_FORI: case BC_FORL:
    forget(fl, out, a);
    break;
  case BC_ITERL: out[a-1] = ANY; break;
  default:
    if (bcmode_a(bc_op(ins)) == BCMdst)
      out[a] = ANY;
    break;
  }
}

static BCPos target(BCPos pc, BCIns ins)
{
  return (BCPos)((ptrdiff_t)pc + 1 + bc_j(ins));
}

static void visit(struct flow *fl, BCPos pc)
{
  BCIns ins = proto_bc(fl->pt)[pc];
  BCOp op = bc_op(ins);
  value *out = fl->out;
  memcpy(out, before(fl, pc), fl->nslots * sizeof(*out));
  step(fl, pc, ins, out);
  if (bc_isret_or_tail(op))
    return;
  if (bcmode_d(op) == BCMjump && op != BC_LOOP)
    flow_to(fl, target(pc, ins), out);
  if (op != BC_JMP && op != BC_UCLO && op != BC_ISNEXT)
    flow_to(fl, pc + 1, out);
  if (op <= BC_ISF)  /* A condition: either the following jump is taken, or it is not. */
    flow_to(fl, pc + 2, out);
}

static void solve(struct flow *fl)
{
  int again = 1;
  BCPos pc;
  forget(fl, fl->out, 0);
  flow_to(fl, 1, fl->out);
  while (again) {
    again = 0;
    for (pc = 1; pc < fl->pt->sizebc; pc++) {
      if (!fl->todo[pc])
	continue;
      fl->todo[pc] = 0;
      again = 1;
      visit(fl, pc);
    }
  }
}

/* -- Registers that an instruction reads ----------------------------------- */

static void use_range(struct flow *fl, const value *in, BCReg from, BCReg to)
{
  for (; from < to && from < fl->nslots; from++)
    use(fl, in[from]);
}

static void use_captured(struct flow *fl, const value *in, GCproto *inner)
{
  unsigned int i;
  for (i = 0; i < inner->sizeuv; i++) {
    uint16_t uv = proto_uv(inner)[i];
    if (uv & PROTO_UV_LOCAL)
      use(fl, in[uv & 0xff]);
  }
}

static void use_operands(struct flow *fl, const value *in, BCIns ins)
{
  BCOp op = bc_op(ins);
  if (bcmode_a(op) == BCMvar)
    use(fl, in[bc_a(ins)]);
  if (bcmode_b(op) == BCMvar && !bcmode_hasd(op))
    use(fl, in[bc_b(ins)]);
  if (bcmode_hasd(op) ? bcmode_d(op) == BCMvar : bcmode_c(op) == BCMvar)
    use(fl, in[bcmode_hasd(op) ? bc_d(ins) : bc_c(ins)]);
}

static void uses(struct flow *fl, const value *in, BCIns ins)
{
  BCReg a = bc_a(ins), args = a + 1 + LJ_FR2, all = fl->nslots;
  switch (bc_op(ins)) {
  case BC_ISLT: case BC_ISGE: case BC_ISLE: case BC_ISGT: case BC_ISEQV:
  case BC_ISNEV: case BC_ISEQN: case BC_ISNEN: case BC_ISEQP: case BC_ISNEP:
  case BC_IST: case BC_ISF:
    break;  /* A comparison is not a use: it does not close the descriptor. */
  case BC_CALL: use_range(fl, in, args, args + bc_c(ins) - 1); break;
  case BC_CALLT: use_range(fl, in, args, args + bc_d(ins) - 1); break;
  case BC_CALLM: case BC_CALLMT: use_range(fl, in, args, all); break;
  case BC_ITERC: case BC_ITERN: use_range(fl, in, a - 3, a); break;
  case BC_CAT: use_range(fl, in, bc_b(ins), bc_c(ins) + 1); break;
  case BC_TSETM: use_range(fl, in, a - 1, all); break;
  case BC_RETM: use_range(fl, in, a, all); break;
  case BC_RET: case BC_RET1: use_range(fl, in, a, a + bc_d(ins) - 1); break;
  case BC_FORI: use_range(fl, in, a, a + FORL_EXT); break;
  case BC_FNEW: use_captured(fl, in, gco2pt(proto_kgc(fl->pt, ~(ptrdiff_t)bc_d(ins)))); break;
  default: use_operands(fl, in, ins); break;
  }
}

/* -- Reports --------------------------------------------------------------- */

static void check_argument(struct flow *fl, BCPos pc, int index, int i, value v)
{
  const char *name = vm_syscall_names[index];
  if (KIND(v) == V_NIL)
    report(fl->lt, line_of(fl, pc), "argument %d of %s is nil", i + 1, name);
  else if (KIND(v) == V_LIBRARY || KIND(v) == V_FUNCTION || KIND(v) == V_SYSCALL)
    report(fl->lt, line_of(fl, pc), "argument %d of %s is not a number", i + 1, name);
  else if (KIND(v) == V_STRING && vm_kind_letter(vm_syscall_kinds[index][i]) != 's')
    report(fl->lt, line_of(fl, pc), "argument %d of %s is a string, not a number",
	   i + 1, name);
}

/* Omits the results from @n on. */
static void check_left_out(struct flow *fl, BCPos pc, int index, int n, value last)
{
  const char *kinds = vm_syscall_kinds[index];
  int i = n;
  if (vm_kind_letter(kinds[i]) == 'l' && KIND(last) != V_NUMBER && i > 0)
    i++;
  if (kinds[i] == '\0' || vm_kind_optional(kinds[i]))
    return;
  report(fl->lt, line_of(fl, pc), "%s lacks argument %d%s", vm_syscall_names[index],
	 i + 1, kinds[i] == 'l' ? ", a length" : "");
}

/* A call with exactly @n arguments, or at least @n. */
static void check_call(struct flow *fl, BCPos pc, const value *in, int n, int all)
{
  BCIns ins = proto_bc(fl->pt)[pc];
  const value *args = in + bc_a(ins) + 1 + LJ_FR2;
  int i, most, index = (int)REST(in[bc_a(ins)]);
  if (KIND(in[bc_a(ins)]) != V_SYSCALL)
    return;
  most = (int)strlen(vm_syscall_kinds[index]);
  for (i = 0; i < n && i < most; i++)
    check_argument(fl, pc, index, i, args[i]);
  if (n > most)
    report(fl->lt, line_of(fl, pc), "%s takes %d argument%s, not %d",
	   vm_syscall_names[index], most, most == 1 ? "" : "s", n);
  else if (all)
    check_left_out(fl, pc, index, n, n ? args[n-1] : ANY);
  if (bc_op(ins) == BC_CALL && bc_b(ins) == 1 && (syscall_flags[index] & SC_OPENS))
    report(fl->lt, line_of(fl, pc), "the descriptor that %s returns is lost",
	   vm_syscall_names[index]);
}

static void check_read(struct flow *fl, BCPos pc, GCstr *name)
{
  struct lint *lt = fl->lt;
  if (!lt->blind && !builtin(lt, name) && !assigned(lt, name))
    report(lt, line_of(fl, pc), "global '%s' is never assigned", strdata(name));
}

static void check_assignment(struct flow *fl, BCPos pc, GCstr *name)
{
  cTValue *o = assigned(fl->lt, name);
  if (fl->lt->blind || isname(name, "run") || builtin(fl->lt, name) || tvistrue(o))
    return;
  report(fl->lt, line_of(fl, pc),
	 "'%s' is a global: declare it local, or assign to it at the top level",
	 strdata(name));
}

static void check_results(struct flow *fl, BCPos pc, int n)
{
  if (fl->pt == fl->lt->run && n > SYSCRIPT_RESULTS_MAX)
    report(fl->lt, line_of(fl, pc), "run returns %d results: the caller gets %d", n,
	   SYSCRIPT_RESULTS_MAX);
}

static void check_instruction(struct flow *fl, BCPos pc, const value *in)
{
  BCIns ins = proto_bc(fl->pt)[pc];
  GCproto *pt = fl->pt;
  switch (bc_op(ins)) {
  case BC_GGET: check_read(fl, pc, kstr(pt, bc_d(ins))); break;
  case BC_GSET: check_assignment(fl, pc, kstr(pt, bc_d(ins))); break;
  case BC_TGETS:
    if (KIND(in[bc_b(ins)]) == V_LIBRARY)
      check_member(fl->lt, line_of(fl, pc), (GCstr *)(uintptr_t)REST(in[bc_b(ins)]),
		   kstr(pt, bc_c(ins)));
    break;
  case BC_CALL: check_call(fl, pc, in, (int)bc_c(ins) - 1, 1); break;
  case BC_CALLT: check_call(fl, pc, in, (int)bc_d(ins) - 1, 1); break;
  case BC_CALLM: check_call(fl, pc, in, (int)bc_c(ins), 0); break;
  case BC_CALLMT: check_call(fl, pc, in, (int)bc_d(ins), 0); break;
  case BC_RET: case BC_RET1: check_results(fl, pc, (int)bc_d(ins) - 1); break;
  default: break;
  }
}

static void check_descriptors(struct flow *fl)
{
  BCPos pc;
  for (pc = 1; pc < fl->pt->sizebc; pc++) {
    BCIns ins = proto_bc(fl->pt)[pc];
    const value *in = before(fl, pc);
    if (bc_op(ins) != BC_CALL || KIND(in[0]) == V_NONE || fl->used[pc])
      continue;
    if (KIND(call_result(pc, in[bc_a(ins)], ins)) == V_FD)
      report(fl->lt, line_of(fl, pc), "the descriptor that %s returns is never used",
	     vm_syscall_names[REST(in[bc_a(ins)])]);
  }
}

/* -- All functions --------------------------------------------------------- */

#define for_each_inner(pt, i, inner) \
  for (i = -(ptrdiff_t)(pt)->sizekgc; i < 0; i++) \
    if (proto_kgc(pt, i)->gch.gct != ~LJ_TPROTO) continue; \
    else if (inner = gco2pt(proto_kgc(pt, i)), 1)

static void mark_shared(struct flow *fl)
{
  GCproto *inner;
  ptrdiff_t i;
  unsigned int k;
  for_each_inner(fl->pt, i, inner) {
    for (k = 0; k < inner->sizeuv; k++) {
      uint16_t uv = proto_uv(inner)[k];
      if ((uv & (PROTO_UV_LOCAL|PROTO_UV_IMMUTABLE)) == PROTO_UV_LOCAL)
	fl->shared[uv & 0xff] = 1;
    }
  }
}

static void analyze(struct lint *lt, GCproto *pt, const value *upvalues);

/* The knowledge of an inner function created at @pc. */
static void analyze_inner(struct flow *fl, BCPos pc)
{
  BCIns ins = proto_bc(fl->pt)[pc];
  GCproto *inner = gco2pt(proto_kgc(fl->pt, ~(ptrdiff_t)bc_d(ins)));
  value upvalues[256];
  unsigned int i;
  for (i = 0; i < inner->sizeuv; i++) {
    uint16_t uv = proto_uv(inner)[i];
    BCReg slot = uv & 0xff;
    if (!(uv & PROTO_UV_LOCAL))
      upvalues[i] = fl->upvalues[slot];
    else if (!(uv & PROTO_UV_IMMUTABLE) || slot == bc_a(ins))
      upvalues[i] = ANY;  /* The upvalue changes, or is the function itself. */
    else
      upvalues[i] = before(fl, pc)[slot];
    if (KIND(upvalues[i]) == V_FD || KIND(upvalues[i]) == V_NIL)
      upvalues[i] = ANY;
  }
  analyze(fl->lt, inner, upvalues);
}

static void check_function(struct flow *fl)
{
  BCPos pc;
  for (pc = 1; pc < fl->pt->sizebc; pc++) {
    const value *in = before(fl, pc);
    if (KIND(in[0]) == V_NONE)
      continue;  /* Never reached. */
    uses(fl, in, proto_bc(fl->pt)[pc]);
    check_instruction(fl, pc, in);
  }
  check_descriptors(fl);
}

static void analyze(struct lint *lt, GCproto *pt, const value *upvalues)
{
  BCReg nslots = pt->framesize + 3u;  /* FORI and ITERC write further slots. */
  size_t values = ((size_t)pt->sizebc + 1) * nslots;
  size_t size = values * sizeof(value) + nslots + 2u * pt->sizebc;
  struct flow fl = { .lt = lt, .pt = pt, .nslots = nslots, .upvalues = upvalues };
  BCPos pc;
  fl.in = (value *)lint_pages(lt, size);
  fl.out = fl.in + values - nslots;
  fl.shared = (unsigned char *)(fl.in + values);
  fl.used = fl.shared + nslots;
  fl.todo = fl.used + pt->sizebc;
  mark_shared(&fl);
  solve(&fl);
  check_function(&fl);
  for (pc = 1; pc < pt->sizebc; pc++)
    if (bc_op(proto_bc(pt)[pc]) == BC_FNEW && KIND(before(&fl, pc)[0]) != V_NONE)
      analyze_inner(&fl, pc);
  lint_free(lt, fl.in, size);
}

/* Notes which globals are assigned, and instructions after which that is not known. */
static void collect(struct lint *lt, GCproto *pt, int depth)
{
  static const char *const hidden[] = { "_G", "load", "loadstring", "getfenv", "setfenv" };
  GCproto *inner, *last = NULL;
  ptrdiff_t i;
  BCPos pc;
  for (pc = 1; pc < pt->sizebc; pc++) {
    BCIns ins = proto_bc(pt)[pc];
    GCstr *name = bc_op(ins) == BC_GGET || bc_op(ins) == BC_GSET ? kstr(pt, bc_d(ins)) : NULL;
    for (i = 0; name && i < (ptrdiff_t)(sizeof(hidden) / sizeof(hidden[0])); i++)
      lt->blind |= isname(name, hidden[i]);
    if (bc_op(ins) == BC_TSETS)
      setboolV(lj_tab_setstr(lt->L, lt->members, kstr(pt, bc_c(ins))), 1);
    if (bc_op(ins) == BC_FNEW)
      last = gco2pt(proto_kgc(pt, ~(ptrdiff_t)bc_d(ins)));
    if (bc_op(ins) != BC_GSET)
      continue;
    if (isname(name, "run") && bc_op(proto_bc(pt)[pc-1]) == BC_FNEW)
      lt->run = last;
    if (depth == 0 || !assigned(lt, name))
      setboolV(lj_tab_setstr(lt->L, lt->assigned, name), depth == 0);
  }
  for_each_inner(pt, i, inner)
    collect(lt, inner, depth + 1);
}

void vm_lint(lua_State *L, struct engine_findings *findings)
{
  GCproto *pt = funcproto(funcV(L->top - 1));
  char chunk[LUA_IDSIZE];
  struct lint lt = { .L = L, .chunk = chunk };
  lj_debug_shortname(chunk, proto_chunkname(pt), 0);
  lt.findings = lint_pages(&lt, FINDINGS_MAX * sizeof(lt.findings[0]));
  lua_newtable(L);
  lt.assigned = tabV(L->top - 1);
  lua_newtable(L);
  lt.members = tabV(L->top - 1);
  collect(&lt, pt, 0);
  if (!lt.blind && !assigned(&lt, lj_str_newlit(L, "run")))
    report(&lt, 0, "no function named run");
  analyze(&lt, pt, NULL);
  write_findings(&lt, findings);
}
