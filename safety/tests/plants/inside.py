#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Commit planted faults in a guest, one after the other; what each tool says of them.

usage: inside.py [-c] TOOL FILE [NAME...]

-c: what was loaded is removed at the end, which some of what is planted prevents.

A line of JSON for each is added to FILE: {"begin": NAME} before it, {"name": NAME, "text":
what was reported or None, "end": how it ended} after it.  Whoever started the guest knows by
the last line which one ended it.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "vm")]

from modules_in_guest import MODULES, alone, insmod  # noqa: E402
from plants_table import Plant, is_of, plants  # noqa: E402

DEBUG = Path("/sys/kernel/debug")
PANIC_ON_OOPS = Path("/proc/sys/kernel/panic_on_oops")
KMEMLEAK = DEBUG / "kmemleak"
CPUS = Path("/sys/devices/system/cpu")
# Seconds for one, until it hangs; for what it started to come to an end.
TIME, AFTER = 20, 0.05
# Seconds in which the check of calls that may sleep reports once.
SLEEP_CHECK, WAITS = 1.1, 4

# What the stock kernel itself says.
KERNEL = (
    r"BUG: .*|kernel BUG at .*|WARNING: .*|Oops: .*|.*list_(?:add|del) corruption.*|refcount_t: .*"
    r"|general protection fault.*"
)
# What is built with lockdep: the checks of locks' own state, and of RCU's sections.
LOCKDEP = (
    r"WARNING: (?!CPU).*(?:lock|RCU usage).*|BUG: (?:spinlock|rwlock|workqueue leaked lock) .*"
    r"|.*BUG: Invalid wait context.*|INFO: trying to register non-static key.*"
    r"|DEBUG_(?:LOCKS|RWSEMS)_WARN_ON.*(?:\nWARNING: .*)?"
)
# By the name of a column: what the log has of it.
PATTERNS = {
    "stock": KERNEL,
    "kgcc": r"kgcc: violation: .*",
    "evmon": r"evmon: violation: .*",
    "kefence": r"kefence: violation: .*",
    "kasan": r"BUG: KASAN: .*|KASAN: .* in range .*",
    "ubsan": r"UBSAN: .*",
    "lockdep": LOCKDEP,
    "sleep": r"BUG: (?:sleeping function called|scheduling while atomic).*",
    "others": rf"ODEBUG: .*|{KERNEL}",
}
# By the name of a run: the module's directory, the tools' modules, the columns.
MONITORS = ["spin", "mutex", "part", "refs", "irq", "alloc"]
PARAMETERS = {
    "evmon/evmon_irq": {"limit_us": 100_000},
    "evmon/evmon_alloc": {"modules": "plants"},
    "kefence": {"settings": "*:reports=all"},
}
# In a report that is of a plant.
OURS = "[plants]"
# Of the tracepoint that switches lockdep on again.
SWITCH = r"WARNING: .* at ct_irq_(?:enter|exit).*"
# In this order: what no other accounts for is the last one's.
DEBUG_COLUMNS = ["kasan", "ubsan", "lockdep", "sleep", "others"]
RUNS: dict[str, tuple[str, list[str], list[str]]] = {
    "stock": ("plants", [], ["stock"]),
    "kgcc": ("plants+kgcc", ["kgcc"], ["kgcc"]),
    "evmon": ("plants+evmon", ["evmon", *(f"evmon/evmon_{name}" for name in MONITORS)], ["evmon"]),
    "kefence": ("plants+kefence", ["kefence"], ["kefence"]),
    "debug": ("plants", [], DEBUG_COLUMNS),
}


def reports_in(columns: list[str], text: str) -> dict[str, str]:
    """The first line of each column's report."""
    found = {}
    text = re.sub(SWITCH, "", text)
    for column in columns:
        # Lockdep, switched on again, may report what is no plant's.
        if (match := re.search(PATTERNS[column], text)) and (column != "lockdep" or OURS in text):
            found[column] = match[0][:200]
        text = re.sub(PATTERNS[column], "", text)
    return found


class Log:
    """The kernel's, from where it was last read."""

    def __init__(self) -> None:
        self.fd = os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def mark(self, text: str) -> None:
        os.write(self.fd, f"<6>plants: {text}\n".encode())

    def read(self) -> str:
        text = ""
        while True:
            try:
                text += os.read(self.fd, 8192).decode(errors="replace").partition(";")[2]
            except BlockingIOError:
                return text
            except BrokenPipeError:
                continue


class Violations:
    """evmon's file of violations: the log has each pair of places once, and not too many."""

    def __init__(self) -> None:
        self.seen = self.rows()

    def rows(self) -> dict[str, int]:
        path = DEBUG / "evmon" / "violations"
        rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
        return {"\t".join([row[0], *row[2:]]): int(row[1]) for row in rows}

    def read(self) -> str:
        before, self.seen = self.seen, self.rows()
        new = [row for row, count in self.seen.items() if count > before.get(row, 0)]
        return "".join(f"evmon: violation: {row}\n" for row in new)


def commit(plant: Plant) -> str:
    """In a process of its own; how that ended."""
    buffer = mmap.mmap(-1, mmap.PAGESIZE)
    name = plant.name.encode() + b"\0"
    buffer[: len(name)] = name
    child = os.fork()
    if not child:
        file = os.open(DEBUG / "plants", os.O_WRONLY)
        os._exit(0 if os.write(file, memoryview(buffer)[: len(name)]) > 0 else 1)
    deadline = time.monotonic() + TIME
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            signaled = os.WIFSIGNALED(status)
            return signal.Signals(os.WTERMSIG(status)).name if signaled else ""
        time.sleep(0.01)
    return "hangs"


class Run:
    def __init__(self, name: str, results: Path) -> None:
        self.name = name
        self.module, self.tools, self.columns = RUNS[name]
        self.results = results.open("a")
        # An oops is a result.
        self.panics = PANIC_ON_OOPS.read_text()
        PANIC_ON_OOPS.write_text("0")
        for tool in self.tools:
            insmod(tool, **PARAMETERS.get(tool, {}))
        if name == "kgcc":
            (DEBUG / "kgcc" / "settings").write_text("* reports=all\n")
        self.log = Log()
        self.violations = Violations() if name == "evmon" else None
        self.load()

    def load(self) -> None:
        insmod(self.module)
        if self.name == "debug":
            # Until lockdep goes on, no other CPU may lock what it would not know of.
            for cpu in CPUS.glob("cpu[1-9]*/online"):
                cpu.write_text("0")

    def write(self, result: dict[str, Any]) -> None:
        self.results.write(json.dumps(result) + "\n")
        self.results.flush()
        os.fsync(self.results.fileno())

    def said(self) -> str:
        text = self.log.read()
        return text + self.violations.read() if self.violations else text

    def commit(self, plant: Plant) -> bool:
        """False: it never ended, or what it broke has no end."""
        self.write({"begin": plant.name})
        # What the kernel says once, it says again.
        (DEBUG / "clear_warn_once").write_text("1")
        self.said()
        self.log.mark(plant.name)
        end = commit(plant)
        time.sleep(AFTER)
        text = self.said()
        reports = reports_in(self.columns, text)
        self.write({"name": plant.name, "reports": reports, "end": end})
        return end != "hangs" and self.is_quiet(text)

    def is_quiet(self, text: str) -> bool:
        """After some seconds, in which the check of calls that may sleep can report again."""
        for _ in range(WAITS):
            if not re.search(PATTERNS["sleep"], text):
                return True
            time.sleep(SLEEP_CHECK)
            text = self.said()
        return False

    def leaks(self, those: list[Plant]) -> None:
        """What is said of them when their module is removed."""
        self.said()
        texts = {name: "" for name in self.columns}
        if self.name == "debug":
            for _ in range(2):
                KMEMLEAK.write_text("scan")
                time.sleep(6)
            texts = {"kmemleak": KMEMLEAK.read_text()}
            KMEMLEAK.write_text("clear")
        alone("rmmod", "plants")
        time.sleep(1)
        if self.name != "debug":
            texts = {self.columns[0]: self.said()}
        for column, text in texts.items():
            for plant in those:
                if is_of(plant, text):
                    self.write({"name": plant.name, "reports": {column: "leak"}, "end": ""})
        self.write({"leaks": True})
        self.load()

    def all(self, those: list[Plant]) -> None:
        first = [plant for plant in those if plant.is_leak or plant.is_sound]
        for plant in sorted(first, key=lambda plant: plant.is_sound):
            if not self.commit(plant):
                return
        if first:
            self.leaks(first)
        for plant in those:
            if plant not in first and not self.commit(plant):
                return

    def close(self) -> None:
        """Leave the guest as it was, if what was planted allows it."""
        for name in ["plants", *(Path(tool).name for tool in reversed(self.tools))]:
            alone("rmmod", name)
        PANIC_ON_OOPS.write_text(self.panics)


def main() -> int:
    closes = sys.argv[1] == "-c"
    name, results, *names = sys.argv[1 + closes :]
    those = [plant for plant in plants() if plant.name in names or not names]
    if not (MODULES / RUNS[name][0]).exists():
        print(f"{MODULES / RUNS[name][0]} is not built", file=sys.stderr)
        return 1
    run = Run(name, Path(results))
    run.all(those)
    if closes:
        run.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
