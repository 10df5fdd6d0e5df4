#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nice between sessions
#
# Versions:  Linux 6.18 with sched_autogroup_enabled
# Guess:     a process of nice 19 gives way to one of nice 0, so "setsid nice -n 19" starts work
#            that disturbs no measurement.
# Behaviour: each session is a group of the scheduler, and groups have equal shares: nice counts
#            within a session alone.
# Seen:      two loops on one CPU, of nice 0 and 19: 50 to 1 in one session, 1.0 to 1 in two
# Here:      vm/guest starts guests in sessions of their own: to run tests beside load, weigh
#            the load's session by /proc/PID/autogroup.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
if [ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)" != 1 ]; then
	echo "this kernel forms no groups of sessions" >&2
	exit 2
fi
cat >"$tmp/loops.py" <<'PY'
import os, sys, time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
loops = []
for nice in 0, 19:
    if not (loop := os.fork()):
        if sys.argv[1] == "two":
            os.setsid()
        os.nice(nice)
        until = time.monotonic() + 2
        while time.monotonic() < until:
            pass
        os._exit(0)
    loops.append(loop)
high, low = (os.wait4(loop, 0)[2].ru_utime for loop in loops)
print("far more" if high > 8 * low else "as much" if high < 2 * low else f"{high / low:.1f} times")
PY
expect "one session: nice 0 has" "far more" "$(setsid -w python3 "$tmp/loops.py" one)"
expect "two sessions: nice 0 has" "as much" "$(setsid -w python3 "$tmp/loops.py" two)"
