# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A memcached with one worker, in one of its modes of serving UDP."""

from __future__ import annotations

import functools
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from results import BUILD, ROOT

MEMCACHED = BUILD / "memcached" / "memcached"
SYSCRIPT = BUILD / "syscript"
UDPLOAD = BUILD / "bench" / "udpload" / "udpload"

MODES = ("off", "mmsg", "io_uring", "syscript_interp", "syscript", "syscript_wait", "confined")
SCRIPTED = ("syscript", "syscript_interp", "syscript_wait", "confined")
# Modes that combine one of memcached's with an engine for its script.
ON_ENGINE = {"confined": ("syscript", "confined"), "frames_confined": ("frames", "confined")}
# With a Wire only.
FRAMES = ("frames", "frames_confined")
# Prefix of the patch's messages; and its message if a script is not in the kernel.
SAYS = "udp_batch: "
SAYS_USER = "udp_batch: the script runs in this process"
# s, on a busy machine that emulates.
START, STOP = 60, 20
WORKER = "mc-worker"
# In a script descriptor's fdinfo.
SCRIPT_CALLS = r"syscript-syscalls:\t(\d+)"
# In a guest: a user of the group that may use LuaJIT in the kernel, and a user who is not in it.
MEMBER, OUTSIDER = "member", "outsider"
# Capabilities to open a packet socket, with a Wire.
WITH_PACKETS = ["--inh-caps=+net_raw", "--ambient-caps=+net_raw"]
# Runs a command under a container's seccomp filter.
UNDER_SECCOMP = [sys.executable, str(ROOT / "tests" / "seccomp.py"), "container"]


class Wire:
    """A namespace for servers at the other end of a veth pair, made by `syscript net`."""

    NAME, HOST = "bench", "10.88.0.2"

    def __init__(self, *ports: int) -> None:
        """UDP ports that the stack there does not see."""
        self.port = ports[0]
        addresses = ["--address", f"{self.HOST}/24", "--outside", "10.88.0.1/24"]
        bypassing = [word for port in ports for word in ("--port", str(port))]
        self.net("setup", *addresses, *bypassing, self.NAME)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.net("undo", self.NAME)

    @staticmethod
    def net(*words: str) -> None:
        done = subprocess.run([SYSCRIPT, "net", *words], capture_output=True, text=True)
        if done.returncode:
            raise ServerError(f"no wire: {done.stderr.strip()}")


class ServerError(Exception):
    """A memcached that does not work as started."""


def as_ordinary_user(command: list[str], account: str, packets: bool) -> list[str]:
    """The command run as an ordinary user: in a guest, root starts it."""
    if "SYSCRIPT_GUEST" in os.environ and os.getuid() == 0:
        options = [f"--reuid={account}", f"--regid={account}", "--init-groups"]
        return ["setpriv", *options, *(WITH_PACKETS if packets else []), "--", *command]
    return command if os.getuid() else [*command, "-u", "root"]


class Server:
    """Runs from construction to stop(); also a context manager."""

    def __init__(
        self,
        mode: str = "off",
        port: int = 0,
        binary: Path = MEMCACHED,
        cpu: int | None = None,
        options: tuple[str, ...] = (),
        batch: int = 16,
        account: str = "",
        seccomp: bool = False,
        wire: Wire | None = None,
        hold: int = 0,
    ) -> None:
        self.mode = mode
        self.port = port or free_port()
        self.host = wire.HOST if wire else "127.0.0.1"
        listens = "0.0.0.0" if wire else self.host
        command = [str(binary), "-l", listens, "-p", str(self.port), "-U", str(self.port)]
        command += ["-t", "1", "-m", "64", *options]
        way, engine = ON_ENGINE.get(mode, (mode, ""))
        if mode != "off":
            command += ["-o", f"udp_batch={way},udp_batch_size={batch}"]
        command = [*UNDER_SECCOMP, *command] if seccomp else command
        if mode in FRAMES:
            command += ["-o", f"udp_batch_device=frames0,udp_batch_hold={hold}"]
        account = account or (OUTSIDER if engine else MEMBER)
        command = as_ordinary_user(command, account, mode in FRAMES)
        if wire:
            command = ["ip", "netns", "exec", wire.NAME, *command]
        pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*pinned, *command],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env=os.environ | ({"SYSCRIPT_ENGINE": engine} if engine else {}),
        )
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self) -> None:
        """Wait until the server listens."""
        deadline = time.monotonic() + START
        while True:
            if self.process.poll() is not None:
                raise ServerError(f"memcached ({self.mode}) did not start: {self.said()}")
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise ServerError(f"memcached ({self.mode}) does not listen") from None
            time.sleep(0.05)

    def said(self) -> str:
        """Its standard output and error so far."""
        self.log.seek(0)
        return self.log.read().strip()

    @functools.cached_property
    def thread(self) -> int:
        """The thread ID of the worker that serves."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        found = [t.name for t in tasks.iterdir() if (t / "comm").read_text().strip() == WORKER]
        if len(found) != 1:
            raise ServerError(f"memcached has {len(found)} worker threads, not one")
        return int(found[0])

    def script_calls(self) -> int:
        """System calls that its scripts made in the kernel."""
        infos = [path.read_text() for path in Path(f"/proc/{self.process.pid}/fdinfo").iterdir()]
        return sum(int(n) for info in infos for n in re.findall(SCRIPT_CALLS, info))

    def stats(self) -> dict[str, str]:
        return stats_of(self.host, self.port)

    def complaints(self) -> list[str]:
        """Its messages about batches."""
        return [line for line in self.said().splitlines() if line.startswith(SAYS)]

    def batching(self) -> dict[str, str]:
        """The server's statistics about batches."""
        return {k: v for k, v in self.stats().items() if k.startswith("udp_batch")}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP)
            except subprocess.TimeoutExpired:
                self.kill()
                raise ServerError(f"memcached ({self.mode}) does not end at SIGTERM") from None
        self.log.close()


def stats_of(host: str, port: int) -> dict[str, str]:
    """The output of the command `stats`."""
    with socket.create_connection((host, port), START) as conn:
        conn.sendall(b"stats\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            more = conn.recv(65536)
            if not more:
                raise ServerError("memcached closed a connection in the middle of its stats")
            text += more
    words = [line.split(" ", 2) for line in text.decode().splitlines() if line != "END"]
    return {name: value for _, name, value in words}


def free_port() -> int:
    """A port that is free for TCP and UDP."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        return port
