#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Calls of a process that is stopped and goes on, without any handler
#
# Versions:  Linux up to 7.2 (seen on 6.18)
# Guess:     EINTR comes of handlers: without one, SIGSTOP and SIGCONT leave a waiting call
#            waiting.
# Behaviour: epoll_wait() fails with EINTR; read() of a pipe and poll() go on.
# Seen:      epoll_wait EINTR, read 5, poll 1
# Here:      a program that waits in epoll_wait() has to expect EINTR, with scripts or without.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/stop.py" <<'PY'
import ctypes, errno, os, select, signal, sys, time

libc = ctypes.CDLL(None, use_errno=True)
data, write = os.pipe()
buffer = ctypes.create_string_buffer(100)


def wait_epoll():
    epoll = select.epoll()
    epoll.register(data, select.EPOLLIN)
    return libc.epoll_wait(epoll.fileno(), buffer, 1, -1)


def wait_poll():
    waited = ctypes.create_string_buffer(data.to_bytes(4, "little") + b"\1\0\0\0")
    return libc.poll(waited, 1, -1)


CALLS = {
    "epoll_wait": wait_epoll,
    "read": lambda: libc.read(data, buffer, 100),
    "poll": wait_poll,
}


def waits(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")")[1].split()[0] == "S"


for name, call in CALLS.items():
    result, told = os.pipe()
    if not (pid := os.fork()):
        n = call()
        os.write(told, (errno.errorcode[ctypes.get_errno()] if n < 0 else str(n)).encode())
        os._exit(0)
    while not waits(pid):
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.2)
    os.write(write, b"hello")
    print(name, os.read(result, 100).decode(), end="," if name != "poll" else "\n")
    os.waitpid(pid, 0)
    os.set_blocking(data, False)
    if name != "read":
        os.read(data, 100)
    os.set_blocking(data, True)
PY
expect "after SIGSTOP and SIGCONT" "epoll_wait EINTR,read 5,poll 1" "$(python3 "$tmp/stop.py")"
