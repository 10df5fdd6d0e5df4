#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# string.sub() from beyond 31 bits
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     ("abc"):sub(2^31) begins after the end of the string: it is empty.
# Behaviour: empty in PUC 5.1; LuaJIT takes the position as 32 bits with a sign, -2^31, and
#            returns the whole string.
# Seen:      [] and [abc]
# Here:      the confined engine does as LuaJIT does (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print("[" .. ("abc"):sub(2^31) .. "]")'
expect "sub(2^31), PUC 5.1" "[]" "$puc"
expect "the same, LuaJIT" "[abc]" "$luajit"
