# SPDX-License-Identifier: GPL-2.0
"""Forks the processes of subproc_server.py, from a parent without open files."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import socket
import sys
import traceback
from pathlib import Path

NEW_USER, NEW_NET, SET_DUMPABLE = 0x10000000, 0x40000000, 4
# Modules that most code imports.
IMPORTS = "errno mmap resource signal subprocess threading time programs confined.kernel"
REQUEST_MAX = 1 << 17

libc = ctypes.CDLL(None, use_errno=True)


def become(user: int, group: int, extra_groups: list[int]) -> None:
    os.setgroups(extra_groups)
    os.setgid(group)
    os.setuid(user)
    # As after an exec: its user owns its files in /proc.
    libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)


def enter_own_namespaces() -> None:
    """As unshare --user --map-root-user --net."""
    ids = {"uid": os.getuid(), "gid": os.getgid()}
    if libc.unshare(NEW_USER | NEW_NET):
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    for kind, number in ids.items():
        Path(f"/proc/self/{kind}_map").write_text(f"0 {number} 1")


def run(code: str, own: bool, account: dict) -> None:
    """In the child: writes `result` as the last line of its output."""
    if account["user"]:
        become(**account)
    if own:
        enter_own_namespaces()
    names: dict = {"__name__": "__main__"}
    exec(compile(code, "<code>", "exec"), names)
    print("\n" + json.dumps(names["result"]))


def forked(request: bytes, out: int) -> int:
    """Forks a child that writes its output to @out; returns its exit status."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        os.dup2(out, 1)
        os.dup2(out, 2)
        run(**json.loads(request))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def main() -> None:
    for name in IMPORTS.split():
        importlib.import_module(name)
    asked = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(asked.fileno(), False)
    while True:
        request, fds, _, _ = socket.recv_fds(asked, REQUEST_MAX, 1)
        if not request:
            return
        status = forked(request, fds[0])
        os.close(fds[0])
        asked.send(b"%d" % status)


if __name__ == "__main__":
    main()
