#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An edge-triggered eventfd that nobody reads
#
# Versions:  Linux up to 7.2 (seen on 6.18)
# Guess:     EPOLLET reports an eventfd once, when its counter leaves zero, and again only
#            after it has been read.
# Behaviour: each write is an edge, whatever the counter was.
# Seen:      three writes without a read: an event each; none without a write
# Here:      who waits for completions with EPOLLET need not read the counter each time.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/edges.py" <<'PY'
import os, select

fd, epoll = os.eventfd(0), select.epoll()
epoll.register(fd, select.EPOLLIN | select.EPOLLET)
events = []
for _ in range(3):
    os.eventfd_write(fd, 1)
    events.append(len(epoll.poll(0)))
print(*events, len(epoll.poll(0)))
PY
expect "events after three writes, and after none" "1 1 1 0" "$(python3 "$tmp/edges.py")"
