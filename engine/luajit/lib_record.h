/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How calls of our libraries are recorded: as direct calls of the functions in
 * lib_ircall.h (the paper, section 2.4).  Part of lj_ffrecord.c.
 *
 * After a call that has effects comes a snapshot, so that no exit repeats the call. The guard on
 * its result comes before the snapshot: it fails only if the call has done nothing.
 */
#include "net/frames.h"
#include "lib.h"

static TRef recff_vm_guardnum(jit_State *J, TRef tr)
{
  emitir(IRTG(IR_EQ, IRT_NUM), tr, tr);  /* Not NaN. */
  J->needsnap = 1;
  return tr;
}

/* A number argument; anything else is left to the interpreter. */
static TRef recff_vm_num(jit_State *J, TRef tr)
{
  if (!tref_isnumber(tr))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  return lj_ir_tonum(J, tr);
}

#define emitconv64(tr, dt, st, flags) \
  emitir(IRT(IR_CONV, (dt)), (tr), (st)|((dt) << 5)|(flags))

/* A number argument as an integer of 64 bits.  If it does not change in a loop,
** it is checked and converted before the loop.
*/
static TRef recff_vm_int(jit_State *J, TRef tr)
{
  TRef i;
  if (tref_isinteger(tr))
    return emitconv64(tr, IRT_I64, IRT_INT, IRCONV_SEXT);
  tr = recff_vm_num(J, tr);
  if (tref_isk(tr)) {
    long k;
    if (!vm_isint(ir_knum(IR(tref_ref(tr)))->n, &k))
      lj_trace_err(J, LJ_TRERR_BADTYPE);
    return lj_ir_kint64(J, (uint64_t)k);
  }
  emitir(IRTG(IR_LE, IRT_NUM),
	 emitir(IRTN(IR_ABS), tr, lj_ir_ksimd(J, LJ_KSIMD_ABS)),
	 lj_ir_knum(J, (lua_Number)VM_INT_MAX));
  i = emitconv64(tr, IRT_I64, IRT_NUM, 0);
  emitir(IRTG(IR_EQ, IRT_NUM), emitconv64(i, IRT_NUM, IRT_I64, 0), tr);
  return i;
}

/* An argument of a system call that was omitted, after @before. */
static TRef recff_vm_omitted(jit_State *J, char kind, TRef before)
{
  if (vm_kind_letter(kind) == 'l' && tref_isstr(before))
    return recff_vm_int(J, emitir(IRTI(IR_FLOAD), before, IRFL_STR_LEN));
  if (!vm_kind_optional(kind))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  return lj_ir_kint64(J, 0);
}

/* The value at [0] of a table. */
static TRef recff_vm_at0(jit_State *J, TRef tab, cTValue *o)
{
  RecordIndex ix;
  ix.tab = tab;
  copyTV(J->L, &ix.tabv, o);
  ix.key = lj_ir_kint(J, 0);
  setintV(&ix.keyv, 0);
  ix.val = 0;
  ix.idxchain = 0;
  return lj_record_idx(J, &ix);
}

/* The address at [0] of a view. */
static TRef recff_vm_view(jit_State *J, TRef tab, cTValue *o)
{
  return recff_vm_int(J, recff_vm_at0(J, tab, o));
}

static TRef recff_vm_sysarg(jit_State *J, char kind, TRef arg, cTValue *o, int *strings)
{
  TRef tr;
  if (tref_istab(arg) && vm_kind_address(kind))
    return recff_vm_view(J, arg, o);
  if (!tref_isstr(arg) || vm_kind_letter(kind) != 's')
    return recff_vm_int(J, arg);
  tr = lj_ir_call(J, IRCALL_vm_syscall_string, arg,
		  lj_ir_kint(J, (*strings)++ == 0));
  emitir(IRTG(IR_EQ, IRT_NUM), tr, tr);
  return emitconv64(tr, IRT_I64, IRT_NUM, 0);
}

/* The thunk takes integers: the trace checks all arguments. */
static void LJ_FASTCALL recff_syscall_call(jit_State *J, RecordFFData *rd)
{
  int index = lj_num2int(numV(&J->fn->c.upvalue[0]));
  const char *kinds = vm_syscall_kinds[index];
  TRef args = lj_ir_kptr(J, G2RUN(J2G(J))), arg[6];
  int i, n = (int)strlen(kinds), strings = 0;
  if ((int)J->maxslot > n || G2VM(J2G(J))->is_late)
    lj_trace_err(J, LJ_TRERR_BADTYPE);  /* Too many arguments, or one that is not a number. */
  for (i = 0; i < n; i++)
    arg[i] = i < (int)J->maxslot ?
	     recff_vm_sysarg(J, kinds[i], J->base[i], &rd->argv[i], &strings) :
	     recff_vm_omitted(J, kinds[i], i > 0 ? J->base[i-1] : 0);
  for (i = 0; i < n; i++)
    args = emitir(IRT(IR_CARG, IRT_NIL), args, arg[i]);
  args = emitir(IRTG(IR_CALLXS, IRT_I64), args, lj_ir_kint64(J, vm_syscall_code(index)));
  J->base[0] = emitconv64(args, IRT_NUM, IRT_I64, 0);
  if (vm_syscall_code(index) != (uintptr_t)run_thunks[index])
    emitir(IRTG(IR_NE, IRT_NUM), J->base[0], lj_ir_knum(J, (lua_Number)VM_LATE));
  J->needsnap = 1;
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

/* Usually no signal is pending; if one is, the trace exits. */
static void LJ_FASTCALL recff_util_pending(jit_State *J, RecordFFData *rd)
{
  TRef tr = lj_ir_call(J, IRCALL_vm_pending);
  emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, 0));
  J->base[0] = TREF_FALSE;
  UNUSED(rd);
}

static void LJ_FASTCALL recff_util_copyin(jit_State *J, RecordFFData *rd)
{
  TRef addr, n, tr;
  if (J->maxslot > 3 && !tref_isnil(J->base[3])) {
    recff_nyi(J, rd);  /* Traces assume that calls do not change tables. */
    return;
  }
  addr = recff_vm_arg(J, 0);
  n = recff_vm_arg(J, 1);
  tr = lj_ir_call(J, IRCALL_vm_copyin, addr, n, recff_vm_kind(J, rd, 2));
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

static void LJ_FASTCALL recff_util_fill(jit_State *J, RecordFFData *rd)
{
  TRef addr = recff_vm_arg(J, 0), byte = recff_vm_arg(J, 1);
  TRef tr = lj_ir_call(J, IRCALL_vm_fill, addr, byte, recff_vm_arg(J, 2));
  emitir(IRTGI(IR_NE), tr, lj_ir_kint(J, 0));
  J->needsnap = 1;
  rd->nres = 0;
}

/* Guards that @ud, now @o, is a userdata of type @kind. */
static void recff_vm_udata(jit_State *J, TRef ud, cTValue *o, int kind)
{
  if (!tref_isudata(ud) || udataV(o)->udtype != kind)
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  emitir(IRTGI(IR_EQ), emitir(IRT(IR_FLOAD, IRT_U8), ud, IRFL_UDATA_UDTYPE),
	 lj_ir_kint(J, kind));
}

/* As recff_vm_arg(), with a default. */
static TRef recff_vm_optarg(jit_State *J, int i, lua_Number def)
{
  TRef tr = i < (int)J->maxslot ? J->base[i] : 0;
  return !tr || tref_isnil(tr) ? lj_ir_knum(J, def) : recff_vm_num(J, tr);
}

static void LJ_FASTCALL recff_net_accept(jit_State *J, RecordFFData *rd)
{
  TRef fd = recff_vm_arg(J, 0), addr = recff_vm_arg(J, 1), n = recff_vm_arg(J, 2);
  TRef tr = lj_ir_call(J, IRCALL_vm_net_accept, fd, addr, n, recff_vm_optarg(J, 3, 0));
  J->base[0] = recff_vm_guardnum(J, tr);
  UNUSED(rd);
}

static void LJ_FASTCALL recff_net_recv(jit_State *J, RecordFFData *rd)
{
  TRef fd = recff_vm_arg(J, 0), ud = J->base[1];
  TRef n = recff_vm_optarg(J, 2, MMSG_ALL), flags = recff_vm_optarg(J, 3, 0);
  recff_vm_udata(J, ud, &rd->argv[1], VM_UD_MESSAGES);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_net_recv, fd, ud, n,
					       flags));
}

static void LJ_FASTCALL recff_net_send(jit_State *J, RecordFFData *rd)
{
  TRef fd = recff_vm_arg(J, 0), addr = recff_vm_arg(J, 1);
  TRef n = recff_vm_arg(J, 2), flags = recff_vm_optarg(J, 3, 0);
  TRef ud = 4 < (int)J->maxslot ? J->base[4] : 0;
  if (!ud || tref_isnil(ud))
    ud = lj_ir_knull(J, IRT_UDATA);
  else
    recff_vm_udata(J, ud, &rd->argv[4], VM_UD_MESSAGES);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_net_send, fd, addr,
					       n, flags, ud));
}

/* -- Frames, see lib_frames.c ------------------------------------------------ */

/* Any other call can change the call's operands, so these calls are not eliminated. */

static TRef recff_vm_frame(jit_State *J, RecordFFData *rd)
{
  TRef ud = J->base[0];
  recff_vm_udata(J, ud, &rd->argv[0], VM_UD_FRAME);
  return ud;
}

static void recff_vm_done(jit_State *J, RecordFFData *rd, TRef tr)
{
  emitir(IRTGI(IR_NE), tr, lj_ir_kint(J, 0));
  rd->nres = 0;
}

static TRef recff_vm_str(jit_State *J, int i)
{
  TRef tr = i < (int)J->maxslot ? J->base[i] : 0;
  if (!tref_isstr(tr))
    lj_trace_err(J, LJ_TRERR_BADTYPE);
  return tr;
}

static void LJ_FASTCALL recff_frame_len(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_frame_len, ud));
}

static void LJ_FASTCALL recff_frame_load(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_frame_load, ud, off,
					       lj_ir_kint(J, (int32_t)rd->data)));
}

static void LJ_FASTCALL recff_frame_peek(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_frame_load, ud, off,
					       recff_vm_kind(J, rd, 2)));
}

/* Unlike poke()'s, values are not negative. */
static void LJ_FASTCALL recff_frame_store(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1), value = recff_vm_arg(J, 2);
  emitir(IRTG(IR_GE, IRT_NUM), value, lj_ir_knum_zero(J));
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_frame_store, ud, off,
				  lj_ir_kint(J, (int32_t)rd->data), value));
}

static void LJ_FASTCALL recff_frame_poke(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1), kind = recff_vm_kind(J, rd, 2);
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_frame_store, ud, off, kind,
				  recff_vm_arg(J, 3)));
}

/* The trace is for the recorded case: a datagram, or none. */
static void LJ_FASTCALL recff_frame_udp(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), tr = lj_ir_call(J, IRCALL_vm_frame_udp, ud);
  if (vm_frame_udp(J->L, udataV(&rd->argv[0])) == -1) {
    emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, -1));
    J->base[0] = TREF_NIL;
    return;
  }
  emitir(IRTGI(IR_GE), tr, lj_ir_kint(J, 0));
  J->base[0] = emitir(IRTI(IR_BAND), tr, lj_ir_kint(J, 255));
  J->base[1] = emitir(IRTI(IR_BSHR), tr, lj_ir_kint(J, 8));
  rd->nres = 2;
}

static void LJ_FASTCALL recff_frame_headers(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), tr = lj_ir_call(J, IRCALL_vm_frame_headers, ud);
  emitir(IRTGI(IR_GE), tr, lj_ir_kint(J, 0));
  J->base[0] = tr;
}

static void LJ_FASTCALL recff_frame_copyout(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1), n = recff_vm_arg(J, 2);
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_frame_copyout, ud, off, n,
				  recff_vm_arg(J, 3)));
}

static void LJ_FASTCALL recff_frame_ports(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd);
  TRef tr = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_frame_ports, ud));
  tr = lj_opt_narrow_tobit(J, tr);
  J->base[0] = emitir(IRTI(IR_BSHR), tr, lj_ir_kint(J, 16));
  J->base[1] = emitir(IRTI(IR_BAND), tr, lj_ir_kint(J, 0xffff));
  rd->nres = 2;
}

/* The current value of argument @i, for calls that change nothing. */
static double recff_vm_now(RecordFFData *rd, int i)
{
  cTValue *o = &rd->argv[i];
  return tvisnumber(o) ? numberVnum(o) : 0;
}

static void LJ_FASTCALL recff_frame_find(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), byte = recff_vm_arg(J, 1);
  TRef off = recff_vm_optarg(J, 2, 0);
  TRef tr = lj_ir_call(J, IRCALL_vm_frame_find, ud, byte, off);
  double from = 2 < (int)J->maxslot ? recff_vm_now(rd, 2) : 0;
  int none = vm_frame_find(J->L, udataV(&rd->argv[0]), recff_vm_now(rd, 1), from) == -1;
  emitir(IRTG(none ? IR_EQ : IR_GE, IRT_NUM), tr, lj_ir_knum(J, none ? -1 : 0));
  J->base[0] = none ? TREF_NIL : tr;
}

static void LJ_FASTCALL recff_frame_equals(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1), s = recff_vm_str(J, 2);
  TRef tr = lj_ir_call(J, IRCALL_vm_frame_equals, ud, off, s);
  int same = vm_frame_equals(J->L, udataV(&rd->argv[0]), recff_vm_now(rd, 1),
			     strV(&rd->argv[2])) == 1;
  emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, same));
  J->base[0] = same ? TREF_TRUE : TREF_FALSE;
}

static void LJ_FASTCALL recff_frame_str(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1);
  TRef tr = lj_ir_call(J, IRCALL_vm_frame_str, ud, off, recff_vm_arg(J, 2));
  emitir(IRTG(IR_NE, IRT_STR), tr, lj_ir_knull(J, IRT_STR));
  J->needsnap = 1;
  J->base[0] = tr;
}

static void LJ_FASTCALL recff_frame_put(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1), s = recff_vm_str(J, 2);
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_frame_put, ud, off, s));
}

static void LJ_FASTCALL recff_frame_fill(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), off = recff_vm_arg(J, 1), byte = recff_vm_arg(J, 2);
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_frame_fill, ud, off, byte,
				  recff_vm_arg(J, 3)));
}

static void LJ_FASTCALL recff_frame_reply(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd);
  TRef tr = lj_ir_call(J, IRCALL_vm_frame_reply, ud, recff_vm_arg(J, 1));
  emitir(IRTGI(IR_GT), tr, lj_ir_kint(J, 0));
  J->base[0] = TREF_TRUE;
}

static TRef recff_vm_port(jit_State *J, RecordFFData *rd, int i)
{
  TRef ud = J->base[i];
  recff_vm_udata(J, ud, &rd->argv[i], VM_UD_PORT);
  return ud;
}

static void LJ_FASTCALL recff_frame_send(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), port, tr;
  if (1 < (int)J->maxslot && !tref_isnil(J->base[1]))
    port = recff_vm_port(J, rd, 1);
  else
    port = lj_ir_knull(J, IRT_UDATA);
  tr = lj_ir_call(J, IRCALL_vm_frame_send, ud, port);
  emitir(IRTGI(IR_GT), tr, lj_ir_kint(J, 0));
  J->base[0] = TREF_TRUE;
}

static void LJ_FASTCALL recff_frame_readdress(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_frame(J, rd), address = recff_vm_str(J, 1);
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_frame_readdress, ud,
				  lj_ir_kint(J, (int32_t)rd->data), address,
				  recff_vm_arg(J, 2)));
}

/* Methods are constants: all ports have the same. */
static void LJ_FASTCALL recff_port_meta___index(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_port(J, rd, 0), key = J->base[1];
  if (tref_isstr(key)) {
    GCstr *name = strV(&rd->argv[1]);
    cTValue *o = lj_tab_getstr(tabref(udataV(&rd->argv[0])->env), name);
    if (!o || !tvisfunc(o))
      lj_trace_err(J, LJ_TRERR_BADTYPE);
    emitir(IRTG(IR_EQ, IRT_STR), key, lj_ir_kstr(J, name));
    J->base[0] = lj_ir_kfunc(J, funcV(o));
    return;
  }
  J->base[0] = lj_ir_call(J, IRCALL_vm_port_view, ud, recff_vm_num(J, key));
  emitir(IRTG(IR_NE, IRT_UDATA), J->base[0], lj_ir_knull(J, IRT_UDATA));
}

/* Strings are left to the interpreter. */
static void LJ_FASTCALL recff_port_build(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_port(J, rd, 0), addr = recff_vm_arg(J, 1);
  TRef tr = lj_ir_call(J, IRCALL_vm_port_build, ud, addr, recff_vm_arg(J, 2));
  emitir(IRTG(IR_NE, IRT_UDATA), tr, lj_ir_knull(J, IRT_UDATA));
  J->needsnap = 1;
  J->base[0] = tr;
}

static void LJ_FASTCALL recff_port_receive(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_port(J, rd, 0);
  TRef max = recff_vm_optarg(J, 1, FRAMES_MAX), timeout = recff_vm_optarg(J, 2, -1);
  TRef enough = recff_vm_optarg(J, 3, 1), hold = recff_vm_optarg(J, 4, 0);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_port_receive, ud, max,
					       timeout, enough, hold));
}

static void LJ_FASTCALL recff_port_flush(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_port(J, rd, 0);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_port_flush, ud));
}

static void LJ_FASTCALL recff_port_keep(jit_State *J, RecordFFData *rd)
{
  recff_vm_done(J, rd, lj_ir_call(J, IRCALL_vm_port_keep, recff_vm_port(J, rd, 0)));
}

static void LJ_FASTCALL recff_port_copyout(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_port(J, rd, 0), addr = recff_vm_arg(J, 1), size = recff_vm_arg(J, 2);
  TRef headers = 3 < (int)J->maxslot ? J->base[3] : 0;
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_port_copyout, ud, addr, size,
					       lj_ir_kint(J, headers && tref_istruecond(headers))));
}

static void LJ_FASTCALL recff_port_reply(jit_State *J, RecordFFData *rd)
{
  TRef ud = recff_vm_port(J, rd, 0), addr = recff_vm_arg(J, 1), size = recff_vm_arg(J, 2);
  J->base[0] = recff_vm_guardnum(J, lj_ir_call(J, IRCALL_vm_port_reply, ud, addr, size,
					       recff_vm_arg(J, 3)));
}
