#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Trigger planted faults in a guest, one after the other, and record the tools' reports.

usage: inside.py [-c] TOOL FILE [NAME...]

-c: unload the modules at the end, which some plants prevent.

A line of JSON for each is added to FILE: {"begin": NAME} before it, {"name": NAME, "text":
the report or None, "end": how it ended} after it. If the guest dies, the last line names the plant
that ended it.
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
# Seconds until a plant counts as hung, and seconds for its aftermath.
TIME, AFTER = 20, 0.05
# Seconds between reports of the kernel's check of calls that may sleep; number of retries.
SLEEP_CHECK, WAITS = 1.1, 4

# Reports of a stock kernel.
KERNEL = (
    r"BUG: .*|kernel BUG at .*|WARNING: .*|Oops: .*|.*list_(?:add|del) corruption.*|refcount_t: .*"
    r"|general protection fault.*"
)
# Reports of features built with lockdep: lock state, and RCU sections.
LOCKDEP = (
    r"WARNING: (?!CPU).*(?:lock|RCU usage).*|BUG: (?:spinlock|rwlock|workqueue leaked lock) .*"
    r"|.*BUG: Invalid wait context.*|INFO: trying to register non-static key.*"
    r"|DEBUG_(?:LOCKS|RWSEMS)_WARN_ON.*(?:\nWARNING: .*)?"
)
# Reports in the log, by column.
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
# For each run: the module's directory, the tools' modules, the columns.
MONITORS = ["spin", "mutex", "part", "refs", "irq", "alloc"]
PARAMETERS = {
    "evmon/evmon_irq": {"limit_us": 100_000},
    "evmon/evmon_alloc": {"modules": "plants"},
    "kefence": {"settings": "*:reports=all"},
}
# Marks a report as being about a plant.
OURS = "[plants]"
# A report about the tracepoint that switches lockdep on again.
SWITCH = r"WARNING: .* at ct_irq_(?:enter|exit).*"
# In this order: the last column takes whatever no other accounts for.
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
        # After it was switched on again, lockdep may report the switch itself.
        if (match := re.search(PATTERNS[column], text)) and (column != "lockdep" or OURS in text):
            found[column] = match[0][:200]
        text = re.sub(PATTERNS[column], "", text)
    return found


class Log:
    """The kernel log, from the position last read."""

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
    """evmon's file of all violations; the kernel's log omits repeated ones."""

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
    """Trigger the fault in a child process; returns how the child ended."""
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
            # While lockdep is off, no other CPU may take locks, which it would miss.
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
        """Returns False if the plant never ended, or left damage without end."""
        self.write({"begin": plant.name})
        # Messages printed once per boot are printed again.
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
        """Waits some seconds, so that the check of calls that may sleep can report again."""
        for _ in range(WAITS):
            if not re.search(PATTERNS["sleep"], text):
                return True
            time.sleep(SLEEP_CHECK)
            text = self.said()
        return False

    def leaks(self, those: list[Plant]) -> None:
        """Reports that come when the plants' module is removed."""
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
        """Restore the guest, if the plant allows it."""
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
