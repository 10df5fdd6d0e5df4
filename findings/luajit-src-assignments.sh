#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Operators in the LuaJIT of the crate luajit-src
#
# Versions:  luajit-src 210.7.4+c6ffc14; LuaJIT 2.1.0-beta3 of Debian 12
# Guess:     LuaJIT's syntax is Lua 5.1's with a few of 5.2: `x ~= 2` compares, and as a
#            statement is an error.
# Behaviour: the crate's version has operators on bits and compound assignments: `x ~= 2` as a
#            statement is an assignment with exclusive or.  There is no `//`.
# Seen:      7 becomes 5; 5 ~ 3 is 6; Debian's: '=' expected near '~='
# Here:      the confined engine refuses that statement; the manual has the difference
#            (tests/unit/test_lua_runtime.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
crate luajit-src 210.7.4+c6ffc14
debian luajit 2.1.0~beta3+git20220320+dfsg-4.1+deb12u1
debian libluajit-5.1-2 2.1.0~beta3+git20220320+dfsg-4.1+deb12u1
make -s -C "$tmp/luajit-src/luajit2" >"$tmp/said" 2>&1 || { tail -5 "$tmp/said" >&2; exit 2; }
new=$tmp/luajit-src/luajit2/src/luajit
printf 'local x = 7\nx ~= 2\nprint(x)\n' >"$tmp/x.lua"
old() {
	LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu "$tmp/root/usr/bin/luajit" "$@" 2>&1 |
		sed 's/.*: //'
}
expect "7 after x ~= 2" 5 "$("$new" "$tmp/x.lua")"
expect "5 ~ 3" 6 "$("$new" -e 'print(5 ~ 3)')"
expect "7 // 2" "unexpected symbol near '/'" "$("$new" -e 'print(7 // 2)' 2>&1 | sed 's/.*: //')"
expect "x ~= 2 by Debian's" "'=' expected near '~='" "$(old "$tmp/x.lua")"
