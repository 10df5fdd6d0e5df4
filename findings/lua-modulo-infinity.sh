#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The remainder of a division by infinity
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     1 % math.huge is 1, as C's fmod() and Lua 5.3 have it.
# Behaviour: a % b is a - floor(a / b) * b, so 0 * infinity makes it no number; it prints as
#            -nan in PUC 5.1 (its sign bit is set) and as nan in LuaJIT.
# Seen:      -nan, nan; math.fmod(1, math.huge) is 1
# Here:      nan on both engines (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(1 % math.huge, math.fmod(1, math.huge))'
expect "1 % inf, fmod(1, inf), PUC 5.1" $'-nan\t1' "$puc"
expect "the same, LuaJIT" $'nan\t1' "$luajit"
