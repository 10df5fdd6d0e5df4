#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How many results a call may have
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     as many as memory allows: unpack(t), s:byte(1, -1).
# Behaviour: less than 8,000, on both; 8,000 by byte() in LuaJIT (7,997 in PUC 5.1).
#            Beyond, it is an error.
# Seen:      7,000 of both; of 8,000 "too many results to unpack"; of a million bytes "string
#            slice too long"
# Here:      the same on both engines: work on parts of long strings, or util.peek()
#            (tests/lua/surprises.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
code='local function number(...) return (select("#", ...)) end
print(pcall(function() return number(unpack({}, 1, %s)) end))
print(pcall(function() return number((("x"):rep(%s)):byte(1, -1)) end))'
# shellcheck disable=SC2059 # it has the two places
said "$(printf "$code" 7000 7000)"
expect "7,000 results, PUC 5.1" $'true\t7000 true\t7000' "$(paste -sd ' ' <<<"$puc")"
expect "the same, LuaJIT" $'true\t7000 true\t7000' "$(paste -sd ' ' <<<"$luajit")"
# shellcheck disable=SC2059
said "$(printf "$code" 8000 1000000)"
expect "errors, PUC 5.1" 2 "$(grep -c 'false.*\(too many results\|too long\)' <<<"$puc")"
expect "the same, LuaJIT" 2 "$(grep -c 'false.*\(too many results\|too long\)' <<<"$luajit")"
