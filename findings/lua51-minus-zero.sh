#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# -0.0 as a constant
#
# Versions:  PUC Lua 5.1.5-9, LuaJIT 2.1.0~beta3+git20220320
# Guess:     -0.0 prints as -0, always or never.
# Behaviour: in PUC 5.1 constants of a function are kept in a table by their values, where 0
#            and -0 are one key: which of them is first decides for all.
# Seen:      print(-0.0) "-0"; after a 0 in the same function "0"; LuaJIT: "-0" both times
# Here:      -0 on both engines.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lua.sh"
said 'print(-0.0)'
expect "-0.0 alone" "-0 -0" "$puc $luajit"
said 'local zero = 0; print(-0.0)'
expect "-0.0 after a 0, PUC 5.1" "0" "$puc"
expect "the same, LuaJIT" "-0" "$luajit"
