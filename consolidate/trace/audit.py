# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Parses records of the kernel's audit: a call is several lines with one serial number.

They contain the call's number, its first four arguments as words, and its paths; but no duration,
and not the thread that made it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from functools import cache

from consolidate import calltable
from consolidate.trace.call import NOTHING, Call, Line, LineKind
from consolidate.trace.strace import FORKS

# Formats of auditd, with or without a host, of the kernel's log, and of `ausearch -i`, which
# has the time of day after a date of the locale, and names for numbers.
RECORD = re.compile(
    r"\btype=(\w+(?:\[\d+\])?) (?:msg=)?audit\((?:(\d+\.\d+)|[^()]* (\d\d:\d\d:\d\d\.\d+)):(\d+)\)"
    r" ?: ?(.*)$",
    re.S,
)
# Other lines of a log: the audit daemon's own records, and ausearch's separators.
OTHERS = re.compile(r"^\s*$|^----$|^time->|\btype=(?!SYSCALL|PATH|1300 |1302 )")
FIELD = re.compile(r'(\w+)=("[^"]*"|\S*)')
# Strings of `ausearch -i` have no quotes: they end before the next field.
STRINGS = re.compile(
    r"\b(name|comm)=(.*?) (?:inode=\d+ dev=\S+ mode=.*)?(?:nametype=|objtype=|exe=/)"
)
# ausearch's formats csv and text have no arguments.
SUMMARY = re.compile(r"^NODE,EVENT,DATE,|^At \d\d:\d\d:\d\d ")
# Record types of a call, by their numbers in the kernel's log.
NUMBERED = {"1300": "SYSCALL", "1302": "PATH", "1320": "EOE", "1327": "PROCTITLE"}
LAST = ("EOE", "PROCTITLE")
X86_64 = ("c000003e", "x86_64")
# Other architectures, whose calls have other numbers, by the kernel's AUDIT_ARCH_*.
ARCHITECTURES = {
    "40000003": "i386",
    "40000028": "arm",
    "c00000b7": "aarch64",
    "c00000f3": "riscv64",
    "c0000102": "loongarch64",
    "c0000015": "ppc64le",
    "80000015": "ppc64",
    "80000016": "s390x",
}
# The most calls with records still missing: CPUs interleave in the log.
MOST_OPEN = 256
WORDS = 4
# Results that the program never sees: the call is restarted, or interrupted.
RESTARTS = range(-516, -511)
AT_FDCWD = -100
# The kinds of arguments of calls that are not in core/syscalls.def, since scripts cannot make
# them. Audit records have their paths.
PATHS_OF_OTHERS = {"execve": "spp", "execveat": "fspp"}

O_CREAT, O_TMPFILE = 0o100, 0o20000000
# Flags that reports use; the rest is written as a number.
OPEN_FLAGS = {
    O_CREAT: "O_CREAT",
    0o200: "O_EXCL",
    0o1000: "O_TRUNC",
    0o2000: "O_APPEND",
    0o4000: "O_NONBLOCK",
    0o200000: "O_DIRECTORY",
    0o400000: "O_NOFOLLOW",
    0o2000000: "O_CLOEXEC",
}
ACCESS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE")
MAP_FLAGS = {0x01: "MAP_SHARED", 0x02: "MAP_PRIVATE", 0x10: "MAP_FIXED", 0x20: "MAP_ANONYMOUS"}
CLONE_FLAGS = {0x100: "CLONE_VM", 0x10000: "CLONE_THREAD"}
FUTEX_COMMANDS = {0: "FUTEX_WAIT", 6: "FUTEX_LOCK_PI", 9: "FUTEX_WAIT_BITSET", 13: "FUTEX_LOCK_PI2"}
FUTEX_COMMAND = 0x7F


def bits(value: int, names: dict[int, str]) -> str:
    known = [name for bit, name in names.items() if value & bit]
    rest = value & ~sum(names)
    return "|".join([*known, *([f"{rest:#x}"] if rest or not known else [])])


def open_flags(value: int) -> str:
    rest = bits(value & ~3, OPEN_FLAGS) if value & ~3 else ""
    return ACCESS[value & 3] + (f"|{rest}" if rest else "")


def futex_command(value: int) -> str:
    return FUTEX_COMMANDS.get(value & FUTEX_COMMAND, str(value))


# Prefixes of constants that `ausearch -i` leaves out: by call and index.
PREFIXES = {
    (name, place): prefix
    for name in ("socket", "socketpair")
    for place, prefix in ((0, "AF_"), (2, "IPPROTO_"))
}
# Arguments that other tools write as names: by call and index.
SYMBOLIC: dict[tuple[str, int], Callable[[int], str]] = {
    ("open", 1): open_flags,
    ("openat", 2): open_flags,
    ("mmap", 3): lambda value: bits(value, MAP_FLAGS),
    ("clone", 0): lambda value: bits(value, CLONE_FLAGS),
    ("futex", 1): futex_command,
}


def decoded(text: str, interpreted: bool) -> bytes:
    """A string field: in quotes, or in hexadecimal if it has unusual characters."""
    if interpreted:
        return text.encode("utf-8", "surrogateescape")
    if text.startswith('"'):
        return text.strip('"').encode("utf-8", "surrogateescape")
    try:
        return bytes.fromhex(text)
    except ValueError:
        return text.encode()


def quoted(text: bytes) -> str:
    """A string in strace's notation."""
    return (
        '"'
        + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:03o}" for c in text)
        + '"'
    )


@cache
def kinds(name: str) -> str:
    return PATHS_OF_OTHERS.get(name) or calltable.kinds(name) or "p" * WORDS


def word_of(text: str, interpreted: bool) -> int | str:
    """An argument, or its names: interpreted, only hexadecimal numbers are as they were."""
    unknown = re.fullmatch(r"unknown-[\w-]+\((0x[0-9a-f]+)\)", text)
    if unknown is not None:
        return int(unknown[1], 16)
    return text if interpreted and not text.startswith("0x") else int(text, 16)


def result_of(text: str) -> int | None:
    """A call's result; None for a call to be restarted."""
    name = re.match(r"E[A-Z0-9]+", text)
    if name is None:
        return int(re.match(r"-?(?:0x)?[0-9a-f]+", text)[0], 0)
    number = getattr(errno, name[0], None)
    return None if number is None else -number


def argument(name: str, place: int, kind: str, word: int | str) -> str:
    if isinstance(word, str):
        return PREFIXES.get((name, place), "") + (word.upper() if word.islower() else word)
    if (name, place) in SYMBOLIC:
        return SYMBOLIC[name, place](word & 0xFFFFFFFF)
    if kind == "f":
        fd = (word & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)
        return "AT_FDCWD" if fd == AT_FDCWD else str(fd)
    if kind == "i":
        return str(word - (1 << 64) if word & 1 << 63 else word)
    return f"{word:#x}" if word else "NULL"


def shown(name: str, words: list[int | str]) -> int:
    """How many arguments count: a mode only counts if a file may be created."""
    place = {"open": 1, "openat": 2}.get(name)
    if place is None:
        return min(len(kinds(name)), len(words))
    flags = words[place]
    if isinstance(flags, str):
        creates = "O_CREAT" in flags or "O_TMPFILE" in flags
    else:
        creates = bool(flags & (O_CREAT | O_TMPFILE))
    return min(len(kinds(name)) if creates else place + 1, len(words))


class Open:
    """A call whose paths are still missing."""

    def __init__(self, call: Call, words: list[int | str]) -> None:
        self.call = call
        letters = kinds(call.name)[: len(words)]
        self.args = [argument(call.name, i, k, words[i]) for i, k in enumerate(letters)]
        self.places = [i for i, kind in enumerate(letters) if kind == "s"]
        self.write()

    def write(self) -> None:
        self.call.args = ", ".join(self.args)

    def path(self, fields: dict[str, str], interpreted: bool) -> None:
        """Adds the next path of the call; not the directory where it was looked up."""
        if fields.get("nametype") == "PARENT" or not self.places:
            return
        place = self.places.pop(0)
        name = fields.get("name", "(null)")
        if name != "(null)":
            self.args[place] = quoted(decoded(name, interpreted))
            self.write()


class Parser:
    """Parses the lines of a log, in which other records may come between those of a call."""

    def __init__(self) -> None:
        self.interpreted = False  # the line, by ausearch -i
        self.open: dict[str, Open] = {}
        # Records of calls whose own record is still missing: ausearch prints that last.
        self.early: dict[str, list[dict[str, str]]] = {}

    def __call__(self, text: str) -> Line:
        match = RECORD.search(text.rstrip("\n"))
        if match is None:
            return NOTHING if OTHERS.search(text) else Line(LineKind.DAMAGED, why="not of audit")
        kind, stamp, clock, serial, rest = match.groups()
        kind, event = NUMBERED.get(kind, kind), f"{stamp or clock}:{serial}"
        self.interpreted = stamp is None
        # auditd appends fields in words; only the call's name is new.
        rest, _, words = rest.partition("\x1d")
        if kind == "SYSCALL":
            named = re.search(r"\bSYSCALL=(\w+)", words)
            return self.call(self.fields(rest), stamp or clock, event, named and named[1])
        if kind == "PATH":
            self.path(event, self.fields(rest))
        elif kind in LAST:
            self.open.pop(event, None)
        return NOTHING

    def fields(self, text: str) -> dict[str, str]:
        found = dict(FIELD.findall(text))
        return found | dict(STRINGS.findall(text)) if self.interpreted else found

    def path(self, event: str, fields: dict[str, str]) -> None:
        if event in self.open:
            self.open[event].path(fields, self.interpreted)
            return
        while len(self.early) >= MOST_OPEN:
            del self.early[next(iter(self.early))]
        self.early.setdefault(event, []).append(fields)

    def call(self, fields: dict[str, str], stamp: str, event: str, name: str | None) -> Line:
        try:
            pid, number = int(fields["pid"]), fields["syscall"]
            words = [word_of(fields[f"a{i}"], self.interpreted) for i in range(WORDS)]
            exit_value = result_of(fields["exit"]) if "exit" in fields else None
        except (KeyError, ValueError, TypeError):
            return Line(LineKind.DAMAGED, why="a call that is cut off")
        command = decoded(fields.get("comm", ""), self.interpreted).decode("utf-8", "replace")
        early = self.early.pop(event, [])
        if (arch := fields.get("arch", "")) not in X86_64:
            known = ARCHITECTURES.get(arch)
            other = f"{known} ({arch})" if known else arch or "none that is named"
            return Line(LineKind.BREAK, pid, command=command, why=other)
        if exit_value is None or exit_value in RESTARTS:
            # The thread's last call, or one that will be restarted.
            return Line(LineKind.BREAK, pid, command=command)
        if name is None:
            name = calltable.name_of(int(number)) if number.isdigit() else number
        call = new_call(calltable.ALIASES.get(name, name), exit_value, seconds_of(stamp))
        while len(self.open) >= MOST_OPEN:
            del self.open[next(iter(self.open))]
        opened = self.open[event] = Open(call, words[: shown(call.name, words)])
        for one in sorted(early, key=lambda one: int(one.get("item", "0"))):
            opened.path(one, self.interpreted)
        child = call.name in FORKS
        return Line(LineKind.CALL, pid, call, command, name_of_child=child)


def seconds_of(stamp: str) -> float:
    """Since 1970, or midnight."""
    return sum(float(part) * 60**i for i, part in enumerate(reversed(stamp.split(":"))))


def new_call(name: str, exit_value: int, start: float) -> Call:
    error = errno.errorcode.get(-exit_value) if -4096 < exit_value < 0 else None
    if error is None:
        return Call(name, "", exit_value, None, str(exit_value), start, None)
    return Call(name, "", -1, error, f"-1 {error}", start, None)


def parser() -> Callable[[str], Line]:
    return Parser()
