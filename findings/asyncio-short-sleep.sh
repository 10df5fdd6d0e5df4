#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# asyncio.sleep() of a tenth of a millisecond
#
# Versions:  CPython 3.11.2
# Guess:     it takes 0.1 ms and some microseconds, as time.sleep() does.
# Behaviour: epoll's timeouts are milliseconds, and are rounded up: 1 ms and more.
# Seen:      more than 1 ms, each of ten; time.sleep() less
# Here:      a program that waits for completions of a queue with asyncio should wait for its
#            descriptor, not look again after a short sleep.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/sleep.py" <<'PY'
import asyncio, time

SHORT = 0.0001


def timed(began):
    return time.perf_counter() - began


async def slept():
    took = []
    for _ in range(10):
        began = time.perf_counter()
        await asyncio.sleep(SHORT)
        took.append(timed(began))
    return min(took)


def blocked():
    took = []
    for _ in range(10):
        began = time.perf_counter()
        time.sleep(SHORT)
        took.append(timed(began))
    return min(took)


print(asyncio.run(slept()) >= 0.001, blocked() >= 0.001)
PY
expect "1 ms or more: asyncio.sleep(), time.sleep()" "True False" "$(/usr/bin/python3 "$tmp/sleep.py")"
