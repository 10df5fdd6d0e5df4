#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The seconds of `strace -c`
#
# Versions:  strace 6.1
# Guess:     how long calls took, as -T shows it.
# Behaviour: processor time in the kernel; -w is for how long they took.
# Seen:      a sleep of 0.3 s: less than 0.01 s with -c, 0.3 s with -cw
# Here:      a server's waits are missing in such tables; consolidate takes times from -T.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian strace 6.1-0.1

# seconds OPTION: of the sleep, in tenths.
seconds() {
	"$tmp/root/usr/bin/strace" "$1" -e trace=clock_nanosleep -o "$tmp/table" sleep 0.3
	awk '$NF == "clock_nanosleep" { printf "%.1f", $2 }' "$tmp/table"
}
expect "a sleep of 0.3 s by -c" 0.0 "$(seconds -c)"
expect "the same by -cw" 0.3 "$(seconds -cw)"
