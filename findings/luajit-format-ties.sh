#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Numbers half way between two of 14 digits
#
# Versions:  PUC Lua 5.1.5, LuaJIT 2.1.0-beta3
# Guess:     both print a number as C's "%.14g" does; half way, C takes the even digit.
# Behaviour: LuaJIT has a formatter of its own, which rounds halves up, in tostring() and in
#            string.format().
# Seen:      123456789012345 is 1.2345678901234e+14 in PUC Lua, 1.2345678901235e+14 in LuaJIT;
#            ("%.0f"):format(2.5) is 2 and 3
# Here:      LuaJIT's result on both engines.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(123456789012345, ("%.0f"):format(2.5))'
expect "PUC Lua" "$(printf '1.2345678901234e+14\t2')" "$puc"
expect "LuaJIT" "$(printf '1.2345678901235e+14\t3')" "$luajit"
