#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tonumber() of negative numbers with a base
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     tonumber("-ff", 16) is -255 in both.
# Behaviour: PUC 5.1 reads by strtoul(), which wraps: 18446744073709551361.  LuaJIT: -255.
# Seen:      1.844674407371e+19, -255
# Here:      Lua on the confined engine, a PUC 5.1, gives LuaJIT's (lib/lua-runtime/number.h).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(tonumber("-ff", 16))'
expect "tonumber('-ff', 16), PUC 5.1" "1.844674407371e+19" "$puc"
expect "the same, LuaJIT" "-255" "$luajit"
