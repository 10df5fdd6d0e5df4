#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# math.max() and math.min() of what is no number
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     nan, or the number, in either order; and the same in each Lua.
# Behaviour: it depends on the order, and PUC 5.1 and LuaJIT have opposite ones: the first
#            argument counts in PUC 5.1, the last in LuaJIT.
# Seen:      max(nan, 1), max(1, nan): nan, 1 in PUC 5.1; 1, nan in LuaJIT
# Here:      LuaJIT's results on both engines (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'local nan = 0/0
local function is(x) return x ~= x and "nan" or x end
print(is(math.max(nan, 1)), is(math.max(1, nan)), is(math.min(nan, 1)), is(math.min(1, nan)))'
expect "max, max, min, min: PUC 5.1" $'nan\t1\tnan\t1' "$puc"
expect "LuaJIT" $'1\tnan\t1\tnan' "$luajit"
