#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tonumber() of words
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     tonumber() reads numerals of the language: "inf" and "nan" are nil.
# Behaviour: both are numbers in both: C's strtod() has them, and LuaJIT's scanner, too.
# Seen:      inf inf true, in both
# Here:      the same on both engines; a script that reads numbers of a peer's should check them by
#            a pattern (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'local n = tonumber("nan") print(tonumber("inf"), tonumber("infinity"), n ~= n and n ~= nil)'
expect "inf, infinity, nan: PUC 5.1" "inf	inf	true" "$puc"
expect "inf, infinity, nan: LuaJIT" "inf	inf	true" "$luajit"
