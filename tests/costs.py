#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measures the cost of tests: processor time, since elapsed time depends on the machine's load.

As a plugin of pytest, `--costs DIRECTORY` has each test's seconds added to a file there. In a guest
it is the emulator's time (/run/emulator, see vm/inside), including the kernel's.

  tests/costs.py part NAME DIRECTORY COMMAND...   run a part of the tests, add what it cost
  tests/costs.py report [--slowest N] DIRECTORY   what the last run cost, what is over budget
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

# Seconds that a test of the gate may take; slower ones get a mark and run in `make test-long`.
BUDGET = 4
EMULATOR = Path("/run/emulator")
TICKS = os.sysconf("SC_CLK_TCK")


def children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def spent() -> float:
    """Processor time so far: the emulator's, or that of this process and its children."""
    if EMULATOR.exists():
        times = EMULATOR.read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / TICKS
    own = os.times()
    return own.user + own.system + children()


class Costs:
    """The plugin: records each test's time, with its fixtures."""

    def __init__(self, directory: Path) -> None:
        # Two guests use the same file names and process numbers.
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.file = directory / f"tests-{boot}-{os.getpid()}"
        self.repeats = directory / f"repeats-{boot}-{os.getpid()}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item) -> Generator[None, object, object]:
        before = spent()
        result = yield
        with self.file.open("a") as file:
            file.write(f"{spent() - before:.2f} {item.nodeid}\n")
        return result

    def pytest_runtest_logreport(self, report) -> None:
        if report.outcome == "rerun":
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.splitlines()[0] if crash and crash.message else "failed"
            with self.repeats.open("a") as file:
                file.write(f"{report.nodeid}: {why}\n")


def pytest_addoption(parser) -> None:
    group = parser.getgroup("syscript")
    group.addoption("--costs", type=Path, metavar="DIRECTORY", help="write down what tests cost")


def pytest_configure(config) -> None:
    if config.option.costs:
        config.pluginmanager.register(Costs(config.option.costs), "costs-of-tests")


def part(name: str, directory: Path, command: list[str]) -> int:
    status = subprocess.run(command, check=False).returncode
    with (directory / "parts").open("a") as file:
        file.write(f"{children():.1f} {name}\n")
    return status


def lines(path: Path) -> list[tuple[float, str]]:
    split = (line.split(" ", 1) for line in path.read_text().splitlines())
    return [(float(seconds), name) for seconds, name in split]


def report_repeats(directory: Path) -> None:
    """Tests that passed when repeated: the last lines of the run."""
    for path in sorted(directory.glob("repeats-*")):
        for line in path.read_text().splitlines():
            print(f"a fault to be found: the first time this failed: {line}")


def report(directory: Path, slowest: int) -> None:
    tests = sorted(
        (line for path in directory.glob("tests-*") for line in lines(path)), reverse=True
    )
    over = [name for seconds, name in tests if seconds > BUDGET]
    for seconds, name in tests[:slowest]:
        print(f"{seconds:8.2f} s  {name}")
    if (directory / "parts").exists():
        parts = lines(directory / "parts")
        each = ", ".join(
            f"{name} {seconds / 60:.1f}" for seconds, name in sorted(parts, reverse=True)
        )
        whole = sum(seconds for seconds, _ in parts) / 60
        print(f"processor time: {whole:.1f} minutes ({each}); {len(tests)} tests")
    if over:
        print(f"over the budget of {BUDGET} s, see docs/design/testing.md: {', '.join(over)}")


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    own = commands.add_parser("part")
    own.add_argument("name")
    own.add_argument("directory", type=Path)
    own.add_argument("command", nargs=argparse.REMAINDER)
    own = commands.add_parser("report")
    own.add_argument("--slowest", type=int, default=0, metavar="N")
    own.add_argument("directory", type=Path)
    args = parser.parse_args()
    if args.what == "part":
        return part(args.name, args.directory, args.command)
    report(args.directory, args.slowest)
    report_repeats(args.directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
