/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * net: batches of connections and of messages on sockets, see ../net/accept.h and
 * ../net/mmsg.h; of frames: lib_frames.c.
 *
 * net.messages() imports a struct mmsghdr array once.  It returns a userdata with a struct mmsg.
 * Scripts cannot create userdata, so all plain userdata are of this kind.
 */
#define lib_net_c
#define LUA_LIB

#include <errno.h>

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_udata.h"
#include "lj_lib.h"

#include "net/accept.h"
#include "net/frames.h"
#include "net/frames_text.h"
#include "net/mmsg.h"
#include "lib.h"
#include "lib_ircall.h"

/* -- Importing ------------------------------------------------------------- */

static LJ_NOINLINE void badmessages(lua_State *L, int err, unsigned long wrong)
{
  switch (err) {
  case -E2BIG:
    luaL_error(L, MMSG_MALFORMED "%d has more than %d buffers", (int)wrong, MMSG_IOV);
    break;
  case -EOPNOTSUPP:
    luaL_error(L, MMSG_MALFORMED "%d asks for control data: use syscall.recvmmsg", (int)wrong);
    break;
  case -EINVAL:
    luaL_error(L, MMSG_MALFORMED "%d has a negative msg_namelen", (int)wrong);
    break;
  }
  vm_badaddr(L, wrong);
}

/* -- Calls ----------------------------------------------------------------- */

static struct mmsg *mmsgof(GCudata *ud)
{
  return ud ? (struct mmsg *)uddata(ud) : NULL;
}

static int asfd(long fd)
{
  return fd == (int)fd ? (int)fd : -1;
}

/* Flags beyond an int are unknown, so they are refused. */
static unsigned int asflags(long flags)
{
  return flags == (unsigned int)flags ? (unsigned int)flags : ~0u;
}

static int checkcall(struct mmsg_call *call, double fd, double n, double flags)
{
  long f, count, fl;
  if (!vm_isint(fd, &f) || !vm_isint(n, &count) || !vm_isint(flags, &fl))
    return 0;
  if (count < 0 || count > (call->mmsg ? (long)call->mmsg->n : MMSG_MAX))
    return 0;
  call->fd = asfd(f);
  call->n = (unsigned int)count;
  call->flags = asflags(fl);
  return 1;
}

/* All return NaN, having done nothing, for arguments that need the interpreter. */

double vm_net_accept(lua_State *L, double fd, double addr, double n, double flags)
{
  struct accept_request request;
  long f, a, count, fl;
  if (!vm_isint(fd, &f) || !vm_isint(addr, &a) || !vm_isint(n, &count) ||
      !vm_isint(flags, &fl) || count < 0 || count > (long)ACCEPT_MAX)
    return VM_NAN;
  request.fd = asfd(f);
  request.n = (unsigned int)count;
  request.flags = asflags(fl);
  request.addr = (unsigned long)a;
  return (double)vm_called(L, accept_batch(G2RUN(G(L)), &request));
}

double vm_net_recv(lua_State *L, double fd, GCudata *ud, double n, double flags)
{
  struct mmsg_call call;
  call.mmsg = mmsgof(ud);
  call.addr = 0;
  if (n == MMSG_ALL)
    n = call.mmsg->n;
  if (!checkcall(&call, fd, n, flags))
    return VM_NAN;
  return (double)vm_called(L, mmsg_recv(G2RUN(G(L)), &call));
}

double vm_net_send(lua_State *L, double fd, double addr, double n, double flags,
		   GCudata *ud)
{
  struct mmsg_call call;
  long a;
  call.mmsg = mmsgof(ud);
  if (!vm_isint(addr, &a) || !checkcall(&call, fd, n, flags))
    return VM_NAN;
  call.addr = (unsigned long)a;
  return (double)vm_called(L, mmsg_send(G2RUN(G(L)), &call));
}

/* -- The library ----------------------------------------------------------- */

#define LJLIB_MODULE_net

static GCudata *checkmessages(lua_State *L, int narg)
{
  TValue *o = L->base + narg - 1;
  if (o >= L->top || !tvisudata(o) || udataV(o)->udtype != VM_UD_MESSAGES)
    lj_err_argtype(L, narg, "messages");
  return udataV(o);
}

static int pushresult(lua_State *L, double ret, int narg)
{
  if (ret != ret)
    lj_err_arg(L, narg, LJ_ERR_NUMRNG);  /* All other arguments were checked. */
  lua_pushnumber(L, ret);
  return 1;
}

/* net.messages(addr, n) -> messages */
LJLIB_CF(net_messages)
{
  unsigned long addr = (unsigned long)vm_checkint(L, 1);
  unsigned int n = (unsigned int)vm_checkrange(L, 2, 1, MMSG_MAX);
  size_t size = sizeof(struct mmsg) + n * sizeof(struct mmsg_slot);
  struct mmsg *mmsg = lua_newuserdata(L, size);
  unsigned long wrong = 0;
  int err;
  memset(mmsg, 0, size);
  err = mmsg_import(G2RUN(G(L)), mmsg, addr, n, &wrong);
  if (err)
    badmessages(L, err, wrong);
  return 1;
}

/* net.accept(fd, addr, n [, flags]) -> count or -errno */
LJLIB_CF(net_accept)		LJLIB_REC(.)
{
  double fd = (double)vm_checkint(L, 1), addr = (double)vm_checkint(L, 2);
  double n = (double)vm_checkint(L, 3), flags = (double)vm_optint(L, 4, 0);
  return pushresult(L, vm_net_accept(L, fd, addr, n, flags), 3);
}

/* net.recv(fd, messages [, n [, flags]]) -> count or -errno */
LJLIB_CF(net_recv)		LJLIB_REC(.)
{
  double fd = (double)vm_checkint(L, 1), n = (double)vm_optint(L, 3, MMSG_ALL);
  GCudata *ud = checkmessages(L, 2);
  return pushresult(L, vm_net_recv(L, fd, ud, n, (double)vm_optint(L, 4, 0)), 3);
}

/* net.send(fd, addr, n [, flags [, messages]]) -> count or -errno */
LJLIB_CF(net_send)		LJLIB_REC(.)
{
  double fd = (double)vm_checkint(L, 1), addr = (double)vm_checkint(L, 2);
  double n = (double)vm_checkint(L, 3), flags = (double)vm_optint(L, 4, 0);
  int to = L->base+4 < L->top && !tvisnil(L->base+4);
  GCudata *ud = to ? checkmessages(L, 5) : NULL;
  return pushresult(L, vm_net_send(L, fd, addr, n, flags, ud), 3);
}

static int optbool(lua_State *L, int narg)
{
  TValue *o = L->base + narg - 1;
  return o < L->top && tvistruecond(o);
}

/* Checks argument @narg: none, true, or "unfiltered". */
static enum frames_take opttake(lua_State *L, int narg)
{
  TValue *o = L->base + narg - 1;
  if (!optbool(L, narg))
    return FRAMES_LEAVE;
  if (!tvisstr(o))
    return FRAMES_TAKE;
  if (strV(o)->len != 10 || memcmp(strVdata(o), "unfiltered", 10))
    luaL_argerror(L, narg, "true or \"unfiltered\" expected");
  return FRAMES_TAKE_UNFILTERED;
}

/* net.frames(fd [, all [, take]]) -> port */
LJLIB_CF(net_frames)
{
  long fd = vm_checkint(L, 1);
  struct frames *frames;
  long ret = vm_called(L, frames_open(G2RUN(G(L)), fd == (int)fd ? (int)fd : -1,
				       opttake(L, 3), &frames));
  if (ret)
    luaL_error(L, "descriptor %d: %s", (int)fd, frames_open_text(ret));
  frames->all = optbool(L, 2);
  vm_pushframes(L, frames);
  return 1;
}

#include "lj_libdef.h"

void vm_open_net(lua_State *L)
{
  LJ_LIB_REG(L, "net", net);
  L->top--;
}
