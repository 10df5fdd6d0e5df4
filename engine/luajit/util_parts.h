/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The parts of util that are written in Lua, loaded by the plain C API: for LuaJIT, and for the
 * confined engine's Lua. Included once, after lua.h and lauxlib.h, and after a definition of this
 * function, which may leave a value on the stack:
 *
 *   const char *util_source(lua_State *L, const char *part, size_t *size)
 *
 * It returns the text of struct.lua or types.lua.
 */
#ifndef SYSCRIPT_UTIL_PARTS_H
#define SYSCRIPT_UTIL_PARTS_H

static const struct part {
  const char *name, *part;
} parts[] = {
  { "struct", "struct" },
  { "types", "types" },
  { "htonl", "types" },
  { "htons", "types" },
  { "ntohl", "types" },
  { "ntohs", "types" },
};

/* Runs a part, which returns a table of new members of util. */
static void loadpart(lua_State *L, const struct part *part)
{
  size_t size;
  const char *source = util_source(L, part->part, &size);
  lua_pushfstring(L, "=util.%s", part->part);
  if (luaL_loadbuffer(L, source, size, lua_tostring(L, -1)))
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

/* (util, name): loads a part when it is first used. */
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
