#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A variable named arg outside of a vararg function
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     a function sees the `arg` of the function around it.
# Behaviour: PUC 5.1 as Debian builds it (LUA_COMPAT_VARARG) gives each vararg function a
#            local `arg` of its own, which hides the other: a table if `...` is not used,
#            nil if it is.  LuaJIT has none.
# Seen:      table, nil; 7, 7
# Here:      the confined engine's PUC 5.1 is built without it.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'local arg = 7
local function unused(...) return type(arg) end
local function used(...) local n = ...; return type(arg) end
print(unused(), used(1))'
expect "types, PUC 5.1" $'table\tnil' "$puc"
expect "the same, LuaJIT" $'number\tnumber' "$luajit"
