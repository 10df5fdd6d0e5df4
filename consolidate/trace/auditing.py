# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Records through the kernel's audit: no tracer stops the program, but audit requires root.

A command gets its own audit session, which its children inherit, so one rule matches exactly these
processes. Records are read as the kernel sends them to listeners, with or without an audit daemon.

A helper process waits for this one's end and restores all settings, even after SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from consolidate.errors import ConsolidateError, not_installed
from consolidate.trace.signals import as_shell

NETLINK_AUDIT, READLOG, HEADER = 9, 1, 16
SO_RCVBUFFORCE = 33
BUFFER = 64 << 20
BACKLOG = 65536
TYPES = {
    1005: "USER",
    1300: "SYSCALL",
    1302: "PATH",
    1307: "CWD",
    1309: "EXECVE",
    1320: "EOE",
    1327: "PROCTITLE",
}
SERIAL = re.compile(rb"audit\(\d+\.\d+:(\d+)\)")
# Seconds for the final mark to arrive, after all records before it.
PATIENCE = 10.0
UNSET = 4294967295
# Reports its session, and becomes the command when the rule is set.
STARTER = """
import os, sys
tell, go = int(sys.argv[1]), int(sys.argv[2])
try:
    before = open("/proc/self/loginuid").read()
    with open("/proc/self/loginuid", "w") as file:
        file.write(before if before != "4294967295" else str(os.getuid()))
    os.write(tell, open("/proc/self/sessionid").read().encode())
    os.close(tell)
    if not os.read(go, 1):
        sys.exit(125)
    os.close(go)
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    sys.exit(f"{error.filename or sys.argv[3]}: {error.strerror}")
"""
# Signals that end a session do not end the helper: only the end of its standard input does.
KEEPER = "trap '' INT TERM HUP QUIT PIPE; cat >/dev/null; "


def auditctl(*args: str) -> str:
    done = subprocess.run(["auditctl", *args], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ConsolidateError(f"auditctl {shlex.join(args)} failed: {said}")
    return done.stdout


@dataclass(frozen=True)
class State:
    """The status as shown by `auditctl -s`."""

    enabled: int
    failure: int
    backlog: int
    lost: int


def state() -> State:
    words = dict(re.findall(r"^(\w+) (\d+)", auditctl("-s"), re.M))
    try:
        return State(*(int(words[n]) for n in ("enabled", "failure", "backlog_limit", "lost")))
    except KeyError as error:
        raise ConsolidateError(f"auditctl -s does not say {error}") from error


def possible() -> State:
    """The current audit settings; an error if recording may not change them."""
    if os.geteuid():
        raise ConsolidateError("--audit needs root: the kernel's audit records all users")
    if shutil.which("auditctl") is None:
        raise not_installed("auditctl", "auditd")
    now = state()
    if now.enabled == 2:
        raise ConsolidateError("audit's rules are locked until the next boot (auditctl -e 2)")
    if now.failure == 2:
        raise ConsolidateError(
            "this machine panics when it loses an audit record (auditctl -f 2), and a"
            " recording makes many"
        )
    if re.search(r"-a (?:never,task|task,never)", auditctl("-l")):
        raise ConsolidateError(
            "the rule -a never,task keeps new processes from being audited: remove it first"
        )
    return now


@contextlib.contextmanager
def kept(undo: list[list[str]]) -> Iterator[None]:
    """Run these auditctl commands at the end, however this process ends."""
    script = "; ".join(f"{shlex.join(['auditctl', *one])} >/dev/null 2>&1" for one in undo)
    keeper = subprocess.Popen(
        ["/bin/sh", "-c", KEEPER + script + "; exit 0"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        keeper.stdin.close()
        if keeper.wait():
            subprocess.run(["/bin/sh", "-c", script], check=False)


def listen() -> socket.socket:
    try:
        log = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT)
        with contextlib.suppress(OSError):
            log.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        log.bind((0, READLOG))
    except OSError as error:
        raise ConsolidateError(f"cannot listen to audit: {error.strerror}") from error
    return log


class Log:
    """Writes the records of our rule in auditd's format."""

    def __init__(self, source: socket.socket, file: BinaryIO, key: str) -> None:
        self.source, self.file = source, file
        self.key = f'key="{key}"'.encode()
        self.mark = f"{key} ends".encode()
        self.ours: set[bytes] = set()  # calls with records still missing
        self.calls = self.lost = 0
        self.ended = False

    def record(self, data: bytes) -> None:
        kind = struct.unpack_from("=4xH", data)[0]
        text = data[HEADER:].split(b"\0")[0].rstrip(b"\n")
        found = SERIAL.match(text)
        if found is None or kind not in TYPES:
            return
        serial = found[1]
        if kind == 1005:
            self.ended = self.ended or self.mark in text
            return
        if kind == 1300 and self.key in text:
            self.ours.add(serial)
            self.calls += 1
        if serial in self.ours:
            self.file.write(b"type=%s msg=%s\n" % (TYPES[kind].encode(), text))
            if kind == 1320:
                self.ours.remove(serial)

    def receive(self) -> None:
        """The records received so far."""
        while True:
            try:
                self.record(self.source.recv(65536, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return
            except OSError:
                self.lost += 1  # ENOBUFS: this reader was too slow

    def until(self, pidfds: list[int], ending: Ending) -> None:
        """Write until these processes have ended, or the user ends the recording."""
        left = set(pidfds)
        while left:
            ready = select.select([self.source, ending, *left], [], [])[0]
            left -= set(ready)
            self.receive()
            if ending in ready:
                ending.taken()
                return

    def drain(self, ending: Ending) -> None:
        """Write what the kernel still has queued: everything before a mark of ours."""
        auditctl("-m", self.mark.decode())
        end = time.monotonic() + PATIENCE
        while not self.ended and (left := end - time.monotonic()) > 0:
            ready = select.select([self.source, ending], [], [], left)[0]
            self.receive()
            if ending in ready:
                return


class Ending:
    """Becomes readable when a signal ends the recording, however early it arrives."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> Ending:
        self.come, self.tell = os.pipe()
        os.set_blocking(self.tell, False)
        self.before = {number: signal.signal(number, self.signalled) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        os.close(self.come)
        os.close(self.tell)

    def signalled(self, number: int, frame: object) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self.tell, b"1")

    def fileno(self) -> int:
        return self.come

    def taken(self) -> None:
        """Consumes the signal; a later one counts again."""
        os.read(self.come, 1)


class Command:
    """A command in its own audit session, which begins when it is told to."""

    def __init__(self, argv: list[str]) -> None:
        told, tell = os.pipe()
        go, self.go = os.pipe()
        starter = [sys.executable, "-SEc", STARTER, str(tell), str(go)]
        self.process = subprocess.Popen([*starter, *argv], pass_fds=(tell, go))
        os.close(tell)
        os.close(go)
        with os.fdopen(told) as line:
            said = line.read()
        if not said.isdigit() or int(said) == UNSET:
            os.close(self.go)
            self.process.wait()
            raise ConsolidateError(
                "cannot give the command an audit session of its own, for the error printed before;"
                " `auditctl --loginuid-immutable` and containers forbid it"
            )
        self.field = f"sessionid={said}"

    def start(self) -> None:
        os.write(self.go, b"1")
        os.close(self.go)

    def end(self) -> int:
        """Its exit status; kills it if it has not ended."""
        if self.process.poll() is None:
            self.process.terminate()
        return as_shell(self.process.wait())


def rule(field: str, key: str) -> list[str]:
    return ["always,exit", "-F", "arch=b64", "-S", "all", "-F", field, "-k", key]


def open_pids(pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        try:
            found.append(os.pidfd_open(pid))
        except OSError as error:
            raise ConsolidateError(f"process {pid}: {error.strerror}") from error
    return found


@contextlib.contextmanager
def enabled(before: State) -> Iterator[None]:
    """Audit enabled, with a large backlog."""
    changes, undo = [], []
    if 0 < before.backlog < BACKLOG:  # 0: no limit
        changes.append(["-b", str(BACKLOG)])
        undo.append(["-b", str(before.backlog)])
    if not before.enabled:
        changes.append(["-e", "1"])
        undo.append(["-e", "0"])
    with kept(undo):
        for change in changes:
            auditctl(*change)
        yield


@contextlib.contextmanager
def ruled(fields: list[str], key: str) -> Iterator[None]:
    with kept([["-d", *rule(field, key)] for field in fields]):
        for field in fields:
            auditctl("-a", *rule(field, key))
        yield


def record(command: list[str], output: Path, pids: list[int]) -> int:
    """Run a command, or watch processes, and write their records; returns the command's status."""
    before = possible()
    key = f"consolidate-{os.getpid()}"
    watched = open_pids(pids)
    with Ending() as ending, listen() as source, output.open("wb") as file, enabled(before):
        # Only now: a process that started earlier is not audited.
        run = Command(command) if command else None
        fields = [f"pid={pid}" for pid in pids] + ([run.field] if run else [])
        log = Log(source, file, key)
        with ruled(fields, key):
            if run is not None:
                watched.append(os.pidfd_open(run.process.pid))
                run.start()
            log.until(watched, ending)
            status = run.end() if run else 0
            log.drain(ending)
            lost = log.lost + state().lost - before.lost
    judge(log, lost, pids)
    return status


def judge(log: Log, lost: int, pids: list[int]) -> None:
    """Report what is wrong with a recording."""
    if not log.calls and pids:
        raise ConsolidateError(
            "no call was recorded: processes that began before audit was first enabled are"
            " not audited; restart them, or boot with audit=1"
        )
    if not log.calls:
        raise ConsolidateError(
            "no call was recorded: audit is the host's, and does not see containers"
        )
    if lost or not log.ended:
        text = f"consolidate: {lost or 'some'} records were lost: the trace has gaps"
        print(text, file=sys.stderr)
