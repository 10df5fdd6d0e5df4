#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tonumber() of binary literals
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     tonumber("0b101") is nil in every Lua: no manual has binary literals.
# Behaviour: LuaJIT returns 5; and a program may have 0b101 as a literal.
# Seen:      nil, 5
# Here:      the confined engine's tonumber() does as LuaJIT's (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(tonumber("0b101"))'
expect "tonumber('0b101'), PUC 5.1" nil "$puc"
expect "the same, LuaJIT" 5 "$luajit"
