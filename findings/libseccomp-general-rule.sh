#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two rules of libseccomp for one system call
#
# Versions:  libseccomp 2.5.4
# Guess:     the more exact rule counts, or the first, or a contradiction is an error.
# Behaviour: a rule without arguments replaces all others of the call, also later ones, with
#            status 0; of two without arguments the first counts, with status 0 for both.  Only
#            two rules with the same argument are an error.  Comparisons are unsigned.
# Seen:      close(555) with errno 1 for 555 and 2 for all: 2, in either order; errno 1 and then
#            2 for all: 1; -5 is not below 10; statuses 0, 0; the same argument twice: EEXIST
# Here:      the tests' filters of systemd's and Podman's profiles are compiled by libseccomp: what
#            a script gets is what the filter says, not the profile (tests/vm/test_filters.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian libseccomp2 2.5.4-1+deb12u1
cat >"$tmp/rules.py" <<'PY'
import ctypes, os, sys

lib = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
lib.seccomp_init.restype = ctypes.c_void_p
ALLOW, CLOSE, LT, EQ = 0x7FFF0000, 3, 2, 4


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int)]
    _fields_ += [("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def close_under(fd, *rules):
    """The statuses of adding rules, and the errno of close(fd)."""
    result, told = os.pipe()
    if not (pid := os.fork()):
        context = ctypes.c_void_p(lib.seccomp_init(ALLOW))
        said = []
        for errno, *compares in rules:
            action = 0x00050000 | errno
            compares = (Compare * len(compares))(*(Compare(0, *c) for c in compares))
            said.append(
                lib.seccomp_rule_add_array(context, action, CLOSE, len(compares), compares)
            )
        assert lib.seccomp_load(context) == 0
        libc.syscall(ctypes.c_long(CLOSE), ctypes.c_long(fd))
        said.append(ctypes.get_errno())
        os.write(told, " ".join(map(str, said)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(result, 100).decode()


print(close_under(555, (1, (EQ, 555)), (2,)))
print(close_under(555, (2,), (1, (EQ, 555))))
print(close_under(555, (1,), (2,)))
print(close_under(555, (1, (EQ, 555)), (2, (EQ, 555))))
print(close_under(-5, (1, (LT, 10))))
PY
expect "statuses, errno: exact, general; reversed; two general; two exact; signed" \
	"0 0 2,0 0 2,0 0 1,0 -17 1,0 9" \
	"$(python3 "$tmp/rules.py" "$tmp/root/usr/lib/x86_64-linux-gnu/libseccomp.so.2" | paste -sd,)"
