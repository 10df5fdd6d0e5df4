#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The resolution of timers on a thread's CPU clock
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18, HZ 250
# Guess:     clock_getres() says 1 ns, so a timer of 100 us on that clock fires after 100 us.
# Behaviour: it fires at the scheduler's tick, after up to 1/HZ: the resolution is the
#            clock's, not the timer's.
# Seen:      resolution 1 ns; ten timers of 0.1 ms fired after 3.8 to 4.1 ms of CPU time
# Here:      a limit of CPU time in a process is overrun by up to a tick.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/timer.py" <<'PY'
import ctypes, signal, statistics, time

CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL = 3, 0
libc = ctypes.CDLL(None)
Timespec = ctypes.c_long * 2
resolution = Timespec()
libc.clock_getres(CLOCK_THREAD_CPUTIME_ID, resolution)
event = (ctypes.c_int * 16)()
event[2:4] = signal.SIGUSR1, SIGEV_SIGNAL
timer = ctypes.c_void_p()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
assert libc.timer_create(CLOCK_THREAD_CPUTIME_ID, event, ctypes.byref(timer)) == 0
took = []
for _ in range(20):
    begin = time.thread_time_ns()
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 100_000), None)
    while signal.SIGUSR1 not in signal.sigpending():
        pass
    took.append(time.thread_time_ns() - begin)
    signal.sigtimedwait([signal.SIGUSR1], 0)
late = statistics.median(took) >= 500_000
print(resolution[1], "ns,", "a tick late" if late else f"{statistics.median(took)} ns late")
PY
expect "resolution, and a timer of 0.1 ms" "1 ns, a tick late" "$(python3 "$tmp/timer.py")"
