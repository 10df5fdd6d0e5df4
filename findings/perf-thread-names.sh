#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A thread's name in what perf script prints
#
# Versions:  perf 6.1
# Guess:     a name that is not a word is quoted or escaped, as strace and audit do it: a sample
#            is a line, and its fields are words.
# Behaviour: it is printed as it is.  One with spaces is several words, one with a line feed
#            makes two lines of a sample.
# Seen:      two words; line, feed
# Here:      consolidate takes for a name all that is before "/NUMBER", and says of both halves of
#            a line that they are not from perf trace.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
if [[ $(perf --version 2>&1) != "perf version 6.1."* ]]; then
	echo "perf is missing or not 6.1: apt-get install linux-perf" >&2
	exit 2
fi
cat >"$tmp/named.py" <<'PY'
import ctypes, sys, time

RENAME = 15
ctypes.CDLL(None).prctl(RENAME, sys.argv[1].encode())
end = time.process_time() + 0.1
while time.process_time() < end:
    pass
PY

# printed NAME LINES: the last sample of a thread of that name, without the spaces around it.
printed() {
	perf record -q -e cpu-clock -o "$tmp/data" -- python3 "$tmp/named.py" "$1"
	perf script -i "$tmp/data" -F comm,event 2>"$tmp/said" | tail -"$2" | sed 's/ *cpu-clock: *$//; s/^ *//'
}
expect "spaces" "two words" "$(printed 'two words' 1)"
expect "a line feed" $'line\nfeed' "$(printed $'line\nfeed' 2)"
