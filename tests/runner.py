# SPDX-License-Identifier: GPL-2.0
"""Runs Lua programs through syscript(1), in both backends, compiled or not.

tests/lua holds programs that print the same wherever they run; tests/attack
holds hostile ones, each with the outcomes that are allowed in its header:

    -- expect: ETIME | ENOBUFS | error: REGEX | ok | signal | any
    -- memory-limit: KIB    -- args: INTEGER...
    -- time-limit: MS       if not 100, or ample if ETIME is not expected
    -- backend: kernel      only in the kernel (it harms its own process)
    -- confined: OUTCOME... outcomes on the confined engine, if different
    -- engine: luajit       only on LuaJIT (fractions, and features that the other engine lacks)
    -- raw: BYTES           this is the source, with Python's escapes, instead of the file
"""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
COMMAND = TESTS.parent / "build" / "syscript"
CORPUS = sorted((TESTS / "lua").glob("*.lua"))
ATTACKS = sorted((TESTS / "attack").glob("*.lua"))

# Programs whose output differs on the confined engine: its compiled code reports the line of a tail
# call in errors.
OTHER_NAMES = "struct_views"
CONFINED_CORPUS = [path for path in CORPUS if path.stem not in OTHER_NAMES.split()]
# A program whose output differs between the engines.
SPECIAL = TESTS / "confined" / "special.lua"

# Whether syscript.ko is built with tools of the safety kit.
HAS_TOOL = bool(os.environ.get("SYSCRIPT_SAFETY"))

# Slowdown of the debug kernel, of a module with a tool, or of another architecture's emulated CPU:
# time limits are multiplied by it, repetitions divided.
GUEST = os.environ.get("SYSCRIPT_GUEST", "")
SLOWDOWN = 10 if GUEST == "debug" else 4 if HAS_TOOL or GUEST.endswith("-arm64") else 1

# ms.  Programs of the corpus take some ms natively; emulation is up to 50 times slower.
PATIENCE = "10000"
# Wall-clock time also counts while other processes have the processors.
WALL_PATIENCE = "50s"
CORPUS_LIMITS = ["--time-limit", PATIENCE, "--memory-limit", "8192"]
# A run that takes longer counts as hung, whatever it prints.
HANG = 60 * SLOWDOWN

# ns beyond the time limit that a busy, emulated machine may need to stop a script.
OVERRUN = 10_000_000_000

TEXT = {"ETIME": "over the time limit", "ENOBUFS": "over the memory limit of"}

Run = Callable[..., subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Mode:
    backend: str
    jit: bool
    confined: bool = False

    def __str__(self) -> str:
        how = "confined" if self.confined else "jit" if self.jit else "interp"
        return f"{self.backend}-{how}"

    def command(self, script: Path, *options: str, args: list[str] | None = None) -> list[str]:
        run = [str(COMMAND), "run", "--backend", self.backend]
        if self.confined:
            run = confined_lua(self.backend)
        if not self.jit:
            run.append("--no-jit")
        return [*run, *options, str(script), *(args or [])]


# KiB. Makes an arena of 4 MiB: all of it counts as pinned, and most users may pin 8 MiB.
CONFINED_MEMORY = 2048
CONFINED_LIMITS = ["--time-limit", PATIENCE, "--memory-limit", str(CONFINED_MEMORY)]


def confined_lua(backend: str) -> list[str]:
    """Options for Lua on the confined engine."""
    return [str(COMMAND), "run", "--engine", "confined", "--backend", backend]


USER = [Mode("user", True), Mode("user", False)]
KERNEL = [Mode("kernel", True), Mode("kernel", False)]
CONFINED = {backend: Mode(backend, True, confined=True) for backend in ("user", "kernel")}


def in_turn(cases: Iterable[tuple[Any, list[Mode]]], name: Callable[[Any], str]) -> list[Any]:
    """A test's cases, each in all of its modes; the gate runs one mode of each, in rotation."""
    params = []
    for number, (case, modes) in enumerate(cases):
        for place, mode in enumerate(modes):
            marks = [] if place == number % len(modes) else [pytest.mark.long]
            params.append(pytest.param(case, mode, id=f"{name(case)}-{mode}", marks=marks))
    return params


@dataclass(frozen=True)
class Outcome:
    """The visible outcome of a run."""

    status: int
    stdout: str
    stderr: str
    # What --info adds: counters, so never the same twice.
    info: str = field(default="", compare=False)

    def kind(self) -> str:
        """The kind of outcome, in the words of the headers."""
        if self.status < 0:
            return "signal"
        if self.status == 0:
            return "ok"
        return next((name for name, text in TEXT.items() if text in self.stderr), "error")


def here(command: list[str], **options) -> subprocess.CompletedProcess[str]:
    """Runs as the current user; in a guest, the fixture as_user takes its place."""
    return subprocess.run(command, check=False, **options)


def outcome(run: Run, command: list[str], source: str | None = None) -> Outcome:
    """Run a command to its end. Scripts may print any bytes."""
    done = run(
        command,
        input=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        capture_output=False,
        text=True,
        encoding="latin-1",
        timeout=HANG,
    )
    stderr, mark, info = done.stderr.rpartition("backend ")
    if mark and "ns in script code" in info:
        return Outcome(done.returncode, done.stdout, stderr, info)
    return Outcome(done.returncode, done.stdout, done.stderr)


@dataclass
class Attack:
    """A hostile script with the expectations in its header."""

    path: Path
    header: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Attack:
        lines = re.findall(r"^-- ([a-z-]+): (.*)$", path.read_text(), re.MULTILINE)
        return cls(path, dict(lines))

    def suits(self, mode: Mode) -> bool:
        if mode.confined and self.header.get("engine") == "luajit":
            return False
        return self.header.get("backend") in (None, mode.backend)

    def expect(self, mode: Mode) -> list[str]:
        header = self.header
        text = header.get("confined", header["expect"]) if mode.confined else header["expect"]
        return text.split(" | ")

    def time_limit(self, mode: Mode) -> int:
        """ms. Scripts that do not test time get ample time, however slow the machine."""
        enough = "100" if "ETIME" in self.expect(mode) else PATIENCE
        return int(self.header.get("time-limit", enough))

    def options(self, mode: Mode) -> list[str]:
        options = ["--info", "--time-limit", str(self.time_limit(mode))]
        # On a busy machine the wall-clock limit would come first.
        options += ["--wall-limit", WALL_PATIENCE]
        if memory := self.header.get("memory-limit"):
            options += ["--memory-limit", memory]
        return options

    def seen(self, run: Run, mode: Mode) -> Outcome:
        raw = self.header.get("raw")
        source = None if raw is None else raw.encode().decode("unicode_escape")
        script = self.path if source is None else Path("-")
        args = self.header.get("args", "").split()
        return outcome(run, mode.command(script, *self.options(mode), args=args), source)

    def check(self, run: Run, mode: Mode) -> None:
        """Fail if the attack succeeds in any way."""
        seen = self.seen(run, mode)
        assert self.allows(seen, mode), f"{self.expect(mode)} expected: {seen}"
        if seen.info:
            limit = self.time_limit(mode) * 1_000_000
            assert counter(seen.info, "ns in script code") < limit + OVERRUN, seen
        if not mode.jit and seen.info:
            assert counter(seen.info, "traces") == 0, seen

    def allows(self, seen: Outcome, mode: Mode) -> bool:
        kind = seen.kind()
        for word in self.expect(mode):
            name, _, pattern = word.partition(": ")
            if name == "any" or (name == kind and re.search(pattern, seen.stderr)):
                return True
        return False


def counter(info: str, unit: str) -> int:
    """The number before `unit` in what run --info says."""
    found = re.search(rf"(\d+) {unit}", info)
    assert found, info
    return int(found[1])


def account(user: str) -> dict[str, Any]:
    """Options of subprocess that run a command as one of the guest's accounts.

    Saves one exec compared with setpriv(1), of two per run: on the debug kernel that is seconds.
    """
    if user == "root":
        return {}
    group = pwd.getpwnam(user).pw_gid
    return {"user": user, "group": group, "extra_groups": os.getgrouplist(user, group)}


def in_namespace(command: list[str], user: str) -> str:
    """The output of a process that makes a user namespace, prints a line and reads one.

    In between, the namespace gets a hundred IDs mapped; returns the output after that.
    """
    with subprocess.Popen(
        command, **account(user), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        child.stdout.readline()
        Path(f"/proc/{child.pid}/uid_map").write_text("0 100000 100")
        output = child.communicate("\n")[0]
    assert not child.returncode
    return output
