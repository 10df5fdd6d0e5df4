// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The library net for the confined engine, with the same interface as for LuaJIT
 * (engine/luajit/lib_net.c): batches of connections and of messages on sockets. net.messages()
 * makes the engine import a struct mmsghdr array once, and returns a userdata with the import's
 * number.
 */
#include <errno.h>

#include "../../core/net/accept.h"
#include "../../core/net/mmsg.h"

/* The type's name in errors, and its key in the registry. */
#define MESSAGES	"messages"

/* Their metatable, hidden from scripts. */
static HOT const Table *messages_meta;

/* @engine assigned the number; another engine has to import the array again. */
struct messages {
	unsigned int number, n;
	unsigned long addr, engine;
};

static int bad_messages(lua_State *L, long err, unsigned long wrong)
{
	switch (err) {
	case -E2BIG:
		return luaL_error(L, MMSG_MALFORMED "%d has more than %d buffers", wrong,
				  MMSG_IOV);
	case -EOPNOTSUPP:
		return luaL_error(L, MMSG_MALFORMED "%d asks for control data: use syscall.recvmmsg",
				  wrong);
	case -EINVAL:
		return luaL_error(L, MMSG_MALFORMED "%d has a negative msg_namelen", wrong);
	case -EFAULT:
		return luaL_error(L, "bad address %p", wrong);
	}
	return luaL_error(L, "no memory for messages");
}

static long import_messages(lua_State *L, struct image_batch_import *import)
{
	long ret = runtime_batch(IMAGE_BATCH_MESSAGES, import);

	if (ret != -ENOBUFS)
		return ret;
	/* Imports that are garbage may have used up the limit. */
	lua_gc(L, LUA_GCCOLLECT, 0);
	return runtime_batch(IMAGE_BATCH_MESSAGES, import);
}

static void number_messages(lua_State *L, struct messages *messages)
{
	struct image_batch_import import = { .addr = messages->addr, .n = messages->n };
	long number;

	messages->number = 0;
	number = import_messages(L, &import);
	if (number < 0)
		bad_messages(L, number, import.wrong);
	messages->number = (unsigned int)number;
	messages->engine = runtime->engine;
}

/* net.messages(addr, n) -> messages */
static int net_messages(lua_State *L)
{
	unsigned long addr = check_long(L, 1);
	long n = check_long(L, 2);
	struct messages *messages;

	luaL_argcheck(L, n >= 1 && n <= MMSG_MAX, 2, "number out of range");
	messages = lua_newuserdata(L, sizeof(*messages));
	*messages = (struct messages){ .n = (unsigned int)n, .addr = addr };
	luaL_getmetatable(L, MESSAGES);
	lua_setmetatable(L, -2);
	number_messages(L, messages);
	return 1;
}

static int messages_gc(lua_State *L)
{
	struct messages *messages = luaL_checkudata(L, 1, MESSAGES);

	if (messages->number && messages->engine == runtime->engine)
		ENGINE(IMAGE_CALL_BATCH)(IMAGE_BATCH_FORGET, messages->number);
	messages->number = 0;
	return 0;
}

/* The count in argument @arg, checked against @messages, if there are any. */
static unsigned int check_messages(lua_State *L, int arg, const struct messages *messages, long n)
{
	luaL_argcheck(L, n >= 0 && n <= (messages ? messages->n : MMSG_MAX), arg,
		      "number out of range");
	return (unsigned int)n;
}

/* The import's number, after importing again if the engine has changed. */
static unsigned int number_now(lua_State *L, struct messages *messages)
{
	if (messages->engine != runtime->engine)
		number_messages(L, messages);
	return messages->number;
}

/* Flags beyond an int are unknown, and so are descriptors. */
static int as_fd(long fd)
{
	return fd == (int)fd ? (int)fd : -1;
}

static unsigned int as_flags(long flags)
{
	return flags == (unsigned int)flags ? (unsigned int)flags : ~0U;
}

static void set_socket(struct image_batch_messages *call, long fd, long flags)
{
	call->fd = as_fd(fd);
	call->flags = as_flags(flags);
}

/* net.accept(fd, addr, n [, flags]) -> count or -errno */
static int net_accept(lua_State *L)
{
	long fd = check_long(L, 1), addr = check_long(L, 2), n = check_long(L, 3);
	struct image_batch_accept call = {
		.fds = addr, .fd = as_fd(fd), .flags = as_flags(opt_long(L, 4, 0)),
	};

	luaL_argcheck(L, n >= 0 && n <= (long)ACCEPT_MAX, 3, "number out of range");
	call.n = (unsigned int)n;
	push_long(L, runtime_batch(IMAGE_BATCH_ACCEPT, &call));
	return 1;
}

/* net.recv(fd, messages [, n [, flags]]) -> count or -errno */
static int net_recv(lua_State *L)
{
	struct image_batch_messages call = { 0 };
	long fd = check_long(L, 1), n = opt_long(L, 3, -1);
	struct messages *messages = luaL_checkudata(L, 2, MESSAGES);

	if (n == -1)
		n = messages->n;
	set_socket(&call, fd, opt_long(L, 4, 0));
	call.n = check_messages(L, 3, messages, n);
	call.messages = number_now(L, messages);
	push_long(L, runtime_batch(IMAGE_BATCH_RECEIVE, &call));
	return 1;
}

/* net.send(fd, addr, n [, flags [, messages]]) -> count or -errno */
static int net_send(lua_State *L)
{
	struct image_batch_messages call = { 0 };
	long fd = check_long(L, 1), n;
	struct messages *to = NULL;

	call.addr = check_long(L, 2);
	n = check_long(L, 3);
	set_socket(&call, fd, opt_long(L, 4, 0));
	if (!lua_isnoneornil(L, 5))
		to = luaL_checkudata(L, 5, MESSAGES);
	call.n = check_messages(L, 3, to, n);
	call.messages = to ? number_now(L, to) : 0;
	push_long(L, runtime_batch(IMAGE_BATCH_SEND, &call));
	return 1;
}

/* in frames.c */
static int net_frames(lua_State *L);

static const luaL_Reg net_functions[] = {
	{ "accept", net_accept }, { "messages", net_messages }, { "recv", net_recv }, { "send", net_send },
	{ "frames", net_frames },
	{ NULL, NULL },
};

/* lib_quick.c: adds compiled code's variants of functions in the table on the stack's top. */
static void set_quick_net(lua_State *L);

static void open_net(lua_State *L)
{
	luaL_register(L, "net", net_functions);
	set_quick_net(L);
	luaL_newmetatable(L, MESSAGES);
	messages_meta = hvalue(L->top - 1);
	lua_pushcfunction(L, messages_gc);
	lua_setfield(L, -2, "__gc");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 2);
}
