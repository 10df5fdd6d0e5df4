#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Waiting calls of a process that is frozen by its cgroup and thawed
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     a frozen process notices nothing: it has no signal and no handler, and what waits
#            goes on waiting.
# Behaviour: to be frozen is to be interrupted: calls that are never restarted after a signal,
#            as epoll_wait(), semtimedop() and sigtimedwait(), fail with EINTR.
# Seen:      epoll_wait, semtimedop, sigtimedwait: EINTR; read, poll, nanosleep go on
# Here:      any waiting call of a script ends so: a row of docs/surprises.md
#            (tests/vm/test_signals.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "cgroups want root: sudo $0" >&2; exit 2; }
cat >"$tmp/freeze.py" <<'PY'
import ctypes, errno, os, select, sys, time

libc = ctypes.CDLL(None, use_errno=True)
group = os.path.join(sys.argv[1], "frozen")
data, write = os.pipe()
buffer = ctypes.create_string_buffer(1000)
SHORT, IPC_RMID = (ctypes.c_long * 2)(2, 0), 0


def wait_epoll():
    epoll = select.epoll()
    epoll.register(data, select.EPOLLIN)
    return libc.epoll_wait(epoll.fileno(), buffer, 1, -1)


def wait_poll():
    waited = ctypes.create_string_buffer(data.to_bytes(4, "little") + b"\1\0\0\0")
    return libc.poll(waited, 1, -1)


def wait_semaphore():
    semaphore = libc.semget(0, 1, 0o600)
    lower = (ctypes.c_short * 3)(0, -1, 0)
    result = libc.semtimedop(semaphore, lower, 1, SHORT)
    error = ctypes.get_errno()
    libc.semctl(semaphore, 0, IPC_RMID)
    ctypes.set_errno(error)
    return result


def wait_signal():
    some = ctypes.create_string_buffer(b"\0\2" + bytes(126))  # SIGUSR1
    return libc.sigtimedwait(some, buffer, SHORT)


CALLS = {
    "epoll_wait": wait_epoll,
    "semtimedop": wait_semaphore,
    "sigtimedwait": wait_signal,
    "read": lambda: libc.read(data, buffer, 100),
    "poll": wait_poll,
    "nanosleep": lambda: libc.nanosleep(SHORT, None),
}


def put(file, text):
    with open(os.path.join(group, file), "w") as out:
        out.write(text)


def becomes(what):
    for _ in range(1000):
        if what():
            return
        time.sleep(0.01)
    sys.exit("it does not")


def frozen():
    return "frozen 1" in open(os.path.join(group, "cgroup.events")).read()


def waits(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")")[1].split()[0] == "S"


os.mkdir(group)
seen = []
for name, call in CALLS.items():
    result, told = os.pipe()
    if not (pid := os.fork()):
        n = call()
        os.write(told, (errno.errorcode[ctypes.get_errno()] if n < 0 else str(n)).encode())
        os._exit(0)
    put("cgroup.procs", str(pid))
    becomes(lambda: waits(pid))
    time.sleep(0.2)
    put("cgroup.freeze", "1")
    becomes(frozen)
    put("cgroup.freeze", "0")
    time.sleep(0.2)
    os.write(write, b"hello")
    seen.append(os.read(result, 100).decode())
    os.waitpid(pid, 0)
    if name != "read":
        os.read(data, 100)
os.rmdir(group)
print(*seen)
PY
mkdir "$tmp/cgroups"
expect "epoll_wait, semtimedop, sigtimedwait, read, poll, nanosleep" "EINTR EINTR EINTR 5 1 0" \
	"$(unshare -m sh -c "mount -t cgroup2 none '$tmp/cgroups' &&
		python3 '$tmp/freeze.py' '$tmp/cgroups'")"
