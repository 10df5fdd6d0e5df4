#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The errno of a seccomp filter
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     the low 16 bits of SECCOMP_RET_ERRNO are the errno; 0 is "allow".
# Behaviour: more than 4095 becomes 4095; with 0 the call is not made and returns 0, so
#            getpid() is 0.
# Seen:      getppid() -1, errno 4095; getpid() 0
# Here:      the module asks the kernel's own filter code, so scripts get the same
#            (tests/vm/test_seccomp.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/filter.py" <<'PY'
import ctypes, struct

NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
GETPID, GETPPID = 39, 110
ERRNO, ALLOW = 0x50000, 0x7FFF0000
libc = ctypes.CDLL(None, use_errno=True)

def refuse(number, errno):
    """Load the number, compare it, return."""
    steps = (0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, ERRNO | errno), (6, 0, 0, ALLOW)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in steps))
    program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code))
    assert libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(SECCOMP, FILTER, ctypes.create_string_buffer(program)) == 0

refuse(GETPPID, 5000)
refuse(GETPID, 0)
print(libc.syscall(GETPPID), ctypes.get_errno(), libc.syscall(GETPID))
PY
expect "errno 5000, errno 0" "-1 4095 0" "$(python3 "$tmp/filter.py")"
