#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The exit status of a program under gdb
#
# Versions:  gdb 13.1, strace 6.1
# Guess:     `gdb -batch -ex run --args PROGRAM` ends as the program does, as strace and Valgrind.
# Behaviour: with 0, however the program ended, unless --return-child-result is given.
# Seen:      of a program that exits with 3: 0, 3 with the option, 3 of strace
# Here:      tests of scripts under gdb compare what the program prints, or give the option.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || { echo "no gdb: apt-get install gdb" >&2; exit 2; }
debian strace 6.1-0.1
echo 'int main(void) { return 3; }' >"$tmp/three.c"
gcc -o "$tmp/three" "$tmp/three.c"
status() {
	local status=0

	"$@" >"$tmp/said" 2>&1 || status=$?
	echo "$status"
}
expect "gdb -batch" 0 "$(status gdb -nx -q -batch -ex run "$tmp/three")"
expect "with the option" 3 "$(status gdb -nx -q -batch --return-child-result -ex run "$tmp/three")"
expect "strace" 3 "$(status "$tmp/root/usr/bin/strace" -o "$tmp/trace" "$tmp/three")"
