# SPDX-License-Identifier: GPL-2.0
"""A Debian with its own systemd, inside a guest."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "build" / "deploy" / "root"
COMMAND = ROOT / "build" / "syscript"
UP, PATIENCE = 180, 120  # s

Done = subprocess.CompletedProcess[str]


class Machine:
    """Runs from construction to stop()."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([ROOT / "tests/deploy/start", DEBIAN])
        deadline = time.monotonic() + UP
        while self.state() not in ("running", "degraded"):
            assert self.process.poll() is None, "systemd did not start"
            assert time.monotonic() < deadline, f"systemd is not up: {self.state()}"
            time.sleep(1)

    def state(self) -> str:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = children.read_text().split()
        # Wait until the shell has become systemd.
        if not found or Path(f"/proc/{found[0]}/comm").read_text() != "systemd\n":
            return "starting"
        self.pid = int(found[0])
        return self.run("systemctl", "is-system-running").stdout.strip()

    def run(self, *command: str | Path, user: str = "root", **options: Any) -> Done:
        """In there."""
        enter = ["nsenter", "-t", str(self.pid), "-m", "-p", "-C"]
        clean = ["env", "-i", "-C", "/", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
        if user != "root":
            become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
            clean = [*become, *clean, f"HOME=/home/{user}", "XDG_RUNTIME_DIR=/run/user/1500"]
        return subprocess.run(
            [*enter, *clean, *map(str, command)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,
        )

    def do(self, *command: str | Path, **options: Any) -> str:
        """The output of a command that must succeed."""
        done = self.run(*command, **options)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def write(self, path: str, text: str) -> None:
        self.do("sh", "-c", f'mkdir -p "$(dirname {path})" && cat >{path}', input=text)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def doctor(done: Done) -> dict[str, Any]:
    """The findings of doctor --json."""
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    return json.loads(done.stdout)
