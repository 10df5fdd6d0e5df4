#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Flags of common calls in gVisor
#
# Versions:  runsc 0.0~20221219.0-2
# Guess:     what its kernel does not have it answers by ENOSYS; flags of calls that it has, and
#            that change nothing there, are taken.
# Behaviour: EINVAL for flags that Linux has had for years: MADV_WIPEONFORK (4.14), AT_NO_AUTOMOUNT
#            of statx(), which breaks stat of coreutils 9.1, MSG_WAITFORONE of recvmmsg().
# Seen:      madvise: EINVAL; statx: 0, with AT_NO_AUTOMOUNT EINVAL; recvmmsg of a datagram: 1,
#            with MSG_WAITFORONE EINVAL
# Here:      no script could be registered there; the library does without the first two
#            (core/user/fd.c, core/user/attributes.c, tests/unit/test_lib_gvisor.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "runsc wants root: sudo $0" >&2; exit 2; }
debian runsc 0.0~20221219.0-2+b3
cat >"$tmp/flags.py" <<'PY'
import ctypes, errno, mmap, os, socket

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
AT_NO_AUTOMOUNT, MADV_WIPEONFORK, MSG_WAITFORONE = 0x800, 18, 0x10000


def told(result):
    return errno.errorcode[ctypes.get_errno()] if result < 0 else str(result)


def madvise(advice):
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    page = ctypes.c_void_p(libc.mmap(None, 4096, mmap.PROT_READ, private, -1, 0))
    return told(libc.madvise(page, 4096, advice))


def statx(flags):
    return told(libc.statx(-100, b"/", flags, 0x7FF, ctypes.create_string_buffer(256)))


def recvmmsg(flags):
    receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.send(b"x")
    message = ctypes.create_string_buffer(64)
    return told(libc.recvmmsg(receiver.fileno(), message, 1, flags, None))


print(madvise(MADV_WIPEONFORK), statx(0), statx(AT_NO_AUTOMOUNT), recvmmsg(0),
      recvmmsg(MSG_WAITFORONE))
PY
expect "MADV_WIPEONFORK; statx, with AT_NO_AUTOMOUNT; recvmmsg, with MSG_WAITFORONE" \
	"EINVAL 0 EINVAL 1 EINVAL" \
	"$("$tmp/root/usr/bin/runsc" --network=none --ignore-cgroups "do" python3 "$tmp/flags.py")"
