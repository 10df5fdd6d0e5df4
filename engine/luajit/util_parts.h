/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What of util is Lua, by the plain C API: for LuaJIT, and for the confined engine's
 * Lua.  Included once, after lua.h and lauxlib.h; the .inc are made of *.lua.
 */
#ifndef SYSCRIPT_UTIL_PARTS_H
#define SYSCRIPT_UTIL_PARTS_H

static const char struct_source[] = {
#include "struct.inc"
};

static const char types_source[] = {
#include "types.inc"
};

static const struct part {
  const char *name, *source;
  size_t size;
} parts[] = {
  { "struct", struct_source, sizeof(struct_source) },
  { "types", types_source, sizeof(types_source) },
  { "htonl", types_source, sizeof(types_source) },
  { "htons", types_source, sizeof(types_source) },
  { "ntohl", types_source, sizeof(types_source) },
  { "ntohs", types_source, sizeof(types_source) },
};

/* Runs a part, which returns a table of new members of util. */
static void loadpart(lua_State *L, const struct part *part)
{
  lua_pushfstring(L, "=util.%s", part->source == struct_source ? "struct" : "types");
  if (luaL_loadbuffer(L, part->source, part->size, lua_tostring(L, -1)))
    lua_error(L);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 1);
  }
}

/* (util, name): a part is loaded when first asked for. */
static int util_index(lua_State *L)
{
  const char *name = luaL_checkstring(L, 2);
  size_t i;
  for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    if (strcmp(name, parts[i].name) != 0)
      continue;
    luaL_checktype(L, 1, LUA_TTABLE);
    loadpart(L, &parts[i]);
    lua_pushvalue(L, 2);
    lua_rawget(L, 1);
    return 1;
  }
  return 0;
}

#endif /* SYSCRIPT_UTIL_PARTS_H */
