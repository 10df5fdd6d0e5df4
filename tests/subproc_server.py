# SPDX-License-Identifier: GPL-2.0
"""Runs Python code in a process of its own, with another account of the guest.

One interpreter (apart_server.py) forks it for each call: in an emulated guest, starting an
interpreter and its imports takes 1.5 s.
"""

from __future__ import annotations

import functools
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile

import apart_server
from runner import HANG, account


def run(code: str, user: str, own: bool = False) -> dict:
    """The value of `result` after the code; @own: in new user and network namespaces."""
    server, asked = begun()
    job = {
        "code": code,
        "own": own,
        "account": {**account(user), "user": pwd.getpwnam(user).pw_uid},
    }
    with tempfile.TemporaryFile() as out:
        try:
            socket.send_fds(asked, [json.dumps(job).encode()], [out.fileno()])
            status = int(asked.recv(16))
        except (OSError, ValueError):
            begun.cache_clear()
            os.killpg(server.pid, signal.SIGKILL)
            raise
        out.seek(0)
        text = out.read().decode()
    assert status == 0, text
    return json.loads(text.splitlines()[-1])


@functools.cache
def begun() -> tuple[subprocess.Popen, socket.socket]:
    """Starts the server; it exits when no client is left."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-SE", apart_server.__file__, str(theirs.fileno())]
        server = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)
    ours.settimeout(HANG)
    return server, ours
