#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a table has at 1 that is given there twice
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     the last one in the text: { v, [1] = "w" } has "w".
# Behaviour: PUC 5.1 stores values without keys last, 50 at a time: "v". LuaJIT gives "v" or "w",
#            depending on whether the key and the value before it are constants.
# Seen:      with v = "v", n = 1 of { v, [n] = "w" }, { v, [1] = "w" }, { "v", [1] = "w" } and
#            { "v", [n] = "w" }: "v v v v" of PUC, "w v w w" of LuaJIT; with 60 values before
#            [n] = "w": "w" of both
# Here:      each engine does as its original, which is a row of the manual's table; the comparison
#            of engines makes no such tables (tests/fuzz/text.templates).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'local v, n = "v", 1
local a, b, c, d = { v, [n] = "w" }, { v, [1] = "w" }, { "v", [1] = "w" }, { "v", [n] = "w" }
print(a[1], b[1], c[1], d[1])
print(loadstring("local n = 1 return { " .. ("1, "):rep(60) .. "[n] = 2 }")()[1])'
expect "PUC 5.1" $'v\tv\tv\tv 2' "$(paste -sd ' ' <<<"$puc")"
expect "LuaJIT" $'w\tv\tw\tw 2' "$(paste -sd ' ' <<<"$luajit")"
