#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# asyncio.sleep() of a tenth of a millisecond
#
# Versions:  CPython 3.11.2, strace 6.1
# Guess:     it waits 0.1 ms, as time.sleep() does.
# Behaviour: epoll's timeouts are milliseconds, and are rounded up: it waits for 1 ms.
# Seen:      ten calls of epoll_wait() with a timeout of 1
# Here:      a program that waits for completions of a queue with asyncio should wait for its
#            descriptor, not look again after a short sleep.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
for package in python3.11-minimal libpython3.11-minimal libpython3.11-stdlib; do
	debian $package 3.11.2-6+deb12u9
done
debian strace 6.1-0.1
export PYTHONHOME=$tmp/root/usr

"$tmp/root/usr/bin/strace" -qq -o "$tmp/trace" -e trace=epoll_wait \
	"$tmp/root/usr/bin/python3.11" -S -c '
import asyncio
async def sleep():
    for _ in range(10):
        await asyncio.sleep(0.0001)
asyncio.run(sleep())'
# Those that do not wait have a timeout of 0.
expect "waits, timeout in ms" "10 1" \
	"$(sed -n 's/^epoll_wait(.*, \([1-9][0-9]*\)) *= .*/\1/p' "$tmp/trace" | sort | uniq -c | xargs)"
