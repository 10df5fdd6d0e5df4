#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An empty match after a match
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     ("abc"):gsub("%w*", "x") is "x", as in Lua 5.4, Perl's s///g without the last match.
# Behaviour: the end of a match is tried again, and matches once more, empty.  Lua 5.3.6 and 5.4
#            do not do that.
# Seen:      xx, 2
# Here:      the same on both engines; patterns that may be empty want + in place of *
#            (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(("abc"):gsub("%w*", "x"))'
expect "PUC 5.1" $'xx\t2' "$puc"
expect "LuaJIT" $'xx\t2' "$luajit"
