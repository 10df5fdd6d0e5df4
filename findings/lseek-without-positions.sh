#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lseek() on descriptors that have no position
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     ESPIPE, as on pipes and sockets.
# Behaviour: on eventfd, epoll, timerfd, signalfd, inotify and /dev/null it returns 0, whatever
#            the offset; on pipes, sockets, terminals and pidfds it is ESPIPE.
# Seen:      0 five times and for /dev/null, ESPIPE four times
# Here:      a script is called by lseek() with a negative offset.  On a descriptor that is no
#            script's any more, such a call need not fail: the library closes scripts itself.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/seek.py" <<'PY'
import ctypes, errno, os, select, socket

libc = ctypes.CDLL(None, use_errno=True)
epoll = select.epoll()
kept = [
    libc.eventfd(0, 0),
    epoll.fileno(),
    libc.timerfd_create(1, 0),
    libc.signalfd(-1, ctypes.create_string_buffer(128), 0),
    libc.inotify_init(),
    os.open("/dev/null", os.O_RDONLY),
    os.pipe()[0],
    socket.socket().detach(),
    os.openpty()[1],
    os.pidfd_open(os.getpid()),
]


def seek(fd):
    try:
        return os.lseek(fd, 12345, os.SEEK_SET)
    except OSError as error:
        return errno.errorcode[error.errno]


print(*map(seek, kept))
PY
expect "eventfd epoll timerfd signalfd inotify null, pipe socket terminal pidfd" \
	"0 0 0 0 0 0 ESPIPE ESPIPE ESPIPE ESPIPE" "$(python3 "$tmp/seek.py")"
