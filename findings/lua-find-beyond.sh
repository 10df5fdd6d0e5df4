#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# string.find() that begins beyond the end
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     nil, as in Lua 5.2 and later.
# Behaviour: it begins at the end: an empty match is found there, over and over.
# Seen:      ("hello"):find("", 10) is 6, 5
# Here:      the same on both engines: a loop that goes on behind each match needs a test for the
#            end of its own (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(("hello"):find("", 10))'
expect "PUC 5.1" $'6\t5' "$puc"
expect "LuaJIT" $'6\t5' "$luajit"
