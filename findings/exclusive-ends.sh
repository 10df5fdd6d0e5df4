#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whom the end of what they wait for wakes, with EPOLLEXCLUSIVE
#
# Versions:  Linux 6.18, Python 3.11.2
# Guess:     all of them, as each has to learn of it; only data wakes one.
# Behaviour: so it is with pipes, sockets and processes; but when the other side of a
#            pseudoterminal is closed, two wake, and the others sleep on.
# Seen:      of four: data of a pipe 1; ends of a pipe, a local socket, TCP, a process 4, of a
#            pseudoterminal 2
# Here:      nothing: a wait in a script is the kernel's own.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/wake.py" <<'PY'
import os, select, signal, socket, threading, time

WAITERS = 4


def woken(file, happens):
    begun = threading.Barrier(WAITERS + 1)
    woken = []

    def wait():
        epoll = select.epoll()
        epoll.register(file, select.EPOLLIN | select.EPOLLEXCLUSIVE)
        begun.wait()
        woken.append(bool(epoll.poll(4)))

    threads = [threading.Thread(target=wait) for _ in range(WAITERS)]
    for thread in threads:
        thread.start()
    begun.wait()
    time.sleep(1)
    happens()
    for thread in threads:
        thread.join()
    return sum(woken)


def tcp():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    return server.accept()[0], client


data, fed = os.pipe()
seen = [woken(data, lambda: os.write(fed, b"x"))]
ended, end = os.pipe()
seen.append(woken(ended, lambda: os.close(end)))
for one, other in (socket.socketpair(), tcp()):
    seen.append(woken(one.fileno(), other.close))
if not (child := os.fork()):
    time.sleep(60)
seen.append(woken(os.pidfd_open(child), lambda: os.kill(child, signal.SIGKILL)))
terminal, slave = os.openpty()
seen.append(woken(terminal, lambda: os.close(slave)))
print(*seen)
PY
expect "data, and ends of a pipe, a local socket, TCP, a process, a terminal" "1 4 4 4 4 2" \
	"$(python3 "$tmp/wake.py")"
