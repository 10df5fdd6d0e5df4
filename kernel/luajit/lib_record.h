/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How calls of our libraries are recorded: as direct calls of the functions in
 * lib_ircall.h (the paper, section 2.4).  Part of lj_ffrecord.c.
 *
 * A call that has effects takes a snapshot behind it, so that no exit repeats
 * it.  The guard on its result comes before: it only fails where nothing has
 * been done yet.
 */
#include "lib.h"

static TRef recff_vm_guardnum(jit_State *J, TRef tr)
{
  emitir(IRTG(IR_EQ, IRT_NUM), tr, tr);  /* Not NaN. */
  J->needsnap = 1;
  return tr;
}

/* A number argument; what else there is, the interpreter deals with. */
static TRef recff_vm_num(jit_State *J, TRef tr)
{
  if (!tref_isnumber(tr))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  return lj_ir_tonum(J, tr);
}

static void LJ_FASTCALL recff_syscall_call(jit_State *J, RecordFFData *rd)
{
  int index = lj_num2int(numV(&J->fn->c.upvalue[0]));
  const char *kinds = vm_syscall_kinds[index];
  TRef tri = lj_ir_kint(J, index), tr, a[6];
  int i, strings = 0;
  for (i = 0; i < 6; i++) {
    TRef arg = kinds[i] != '\0' && i < (int)J->maxslot ? J->base[i] : 0;
    if (kinds[i] == '\0') {
      if (i < (int)J->maxslot)
	lj_trace_err(J, LJ_TRERR_BADTYPE);  /* Too many arguments. */
      break;
    }
    if (!arg || tref_isnil(arg)) {
      a[i] = lj_ir_knum_zero(J);
    } else if (tref_isstr(arg) && kinds[i] == 's') {
      a[i] = lj_ir_call(J, IRCALL_vm_syscall_string, arg,
			lj_ir_kint(J, strings++ == 0));
      emitir(IRTG(IR_EQ, IRT_NUM), a[i], a[i]);
    } else {
      a[i] = recff_vm_num(J, arg);
    }
  }
  for (; i < 6; i++)
    a[i] = lj_ir_knum_zero(J);
  if (kinds[0] == '\0')
    tr = lj_ir_call(J, IRCALL_vm_syscall0, tri);
  else if (strlen(kinds) <= 3)
    tr = lj_ir_call(J, IRCALL_vm_syscall3, tri, a[0], a[1], a[2]);
  else
    tr = lj_ir_call(J, IRCALL_vm_syscall6, tri, a[0], a[1], a[2], a[3], a[4],
		    a[5]);
  if (kinds[0] == '\0')
    J->needsnap = 1;
  else
    recff_vm_guardnum(J, tr);
  J->base[0] = tr;
  UNUSED(rd);
}

/* The kind in argument @i as a constant, to which the trace is specialised. */
static TRef recff_vm_kind(jit_State *J, RecordFFData *rd, int i)
{
  TRef tr = i < (int)J->maxslot ? J->base[i] : 0;
  int kind = VM_I4;
  if (tr && !tref_isnil(tr)) {
    GCstr *s;
    if (!tref_isstr(tr))
      lj_trace_err(J, LJ_TRERR_BADTYPE);
    s = strV(&rd->argv[i]);
    emitir(IRTG(IR_EQ, IRT_STR), tr, lj_ir_kstr(J, s));
    kind = vm_kind(s);
    if (kind < 0)
      lj_trace_err(J, LJ_TRERR_BADTYPE);
  }
  return lj_ir_kint(J, kind);
}

static TRef recff_vm_arg(jit_State *J, int i)
{
  return recff_vm_num(J, i < (int)J->maxslot ? J->base[i] : 0);
}

static void LJ_FASTCALL recff_util_peek(jit_State *J, RecordFFData *rd)
{
  TRef addr = recff_vm_arg(J, 0), kind = recff_vm_kind(J, rd, 1);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_peek, addr, kind));
}

static void LJ_FASTCALL recff_util_poke(jit_State *J, RecordFFData *rd)
{
  TRef addr = recff_vm_arg(J, 0), kind = recff_vm_kind(J, rd, 1);
  TRef tr = lj_ir_call(J, IRCALL_vm_poke, addr, kind, recff_vm_arg(J, 2));
  emitir(IRTGI(IR_NE), tr, lj_ir_kint(J, 0));
  J->needsnap = 1;
  rd->nres = 0;
}

static void LJ_FASTCALL recff_util_copyin(jit_State *J, RecordFFData *rd)
{
  TRef addr = recff_vm_arg(J, 0), n = recff_vm_arg(J, 1);
  TRef tr = lj_ir_call(J, IRCALL_vm_copyin, addr, n, recff_vm_kind(J, rd, 2));
  emitir(IRTG(IR_NE, IRT_TAB), tr, lj_ir_knull(J, IRT_TAB));
  J->needsnap = 1;
  J->base[0] = tr;
}

static void LJ_FASTCALL recff_util_copyout(jit_State *J, RecordFFData *rd)
{
  TRef tab = J->base[0], addr, n, tr;
  if (!tref_istab(tab))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  addr = recff_vm_arg(J, 1);
  n = recff_vm_arg(J, 2);
  tr = lj_ir_call(J, IRCALL_vm_copyout, tab, addr, n,
		  recff_vm_kind(J, rd, 3));
  emitir(IRTGI(IR_NE), tr, lj_ir_kint(J, 0));
  J->needsnap = 1;
  rd->nres = 0;
}

/* As recff_vm_arg(), with a default. */
static TRef recff_vm_optarg(jit_State *J, int i, lua_Number def)
{
  TRef tr = i < (int)J->maxslot ? J->base[i] : 0;
  return !tr || tref_isnil(tr) ? lj_ir_knum(J, def) : recff_vm_num(J, tr);
}

static void LJ_FASTCALL recff_net_recv(jit_State *J, RecordFFData *rd)
{
  TRef fd = recff_vm_arg(J, 0), ud = J->base[1];
  TRef n = recff_vm_optarg(J, 2, MMSG_ALL), flags = recff_vm_optarg(J, 3, 0);
  if (!tref_isudata(ud))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_net_recv, fd, ud, n,
					       flags));
  UNUSED(rd);
}

static void LJ_FASTCALL recff_net_send(jit_State *J, RecordFFData *rd)
{
  TRef fd = recff_vm_arg(J, 0), addr = recff_vm_arg(J, 1);
  TRef n = recff_vm_arg(J, 2), flags = recff_vm_optarg(J, 3, 0);
  TRef ud = 4 < (int)J->maxslot ? J->base[4] : 0;
  if (!ud || tref_isnil(ud))
    ud = lj_ir_knull(J, IRT_UDATA);
  else if (!tref_isudata(ud))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_net_send, fd, addr,
					       n, flags, ud));
  UNUSED(rd);
}
