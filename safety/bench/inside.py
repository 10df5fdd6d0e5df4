#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The guest's part of bench.py: file systems as they are, and built with each tool.

usage: inside.py ROUNDS
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / name) for name in ("tests/safety", "vm", "safety/evmon/lib")]

import ecryptfs  # noqa: E402
import reiserfs  # noqa: E402
from kernevents import Kernevents  # noqa: E402
from modules_in_guest import insmod, path_of, rmmod  # noqa: E402

# Of all that runs here, to a microsecond.
CPU_STAT = Path("/sys/fs/cgroup/command/cpu.stat")
INSTANCES = Path("/sys/kernel/tracing/instances")
EVENT = Path("events", "evmon", "evmon_event", "enable")
BATCHES = Path("events", "evmon", "evmon_batch", "enable")
# A ring that has room for all events, as evmon-log's.
LOG_KIB = 4096
# Seconds.
SETTLED = 1

# -- what is done over it ----------------------------------------------------------

# HdrHistogram_c, as the registry has it.
PACKAGE = ROOT / "build" / "vendor" / "hdrhistogram-c" / "HdrHistogram_c" / "src"

POSTMARK = """\
set location {top}
set number 200
set transactions 1000
set size 500 10000
run
quit
"""


def run(*command: str | Path, text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr or done.stdout}")
    return done.stdout


@contextmanager
def compiling(top: Path) -> Iterator[Callable[[], str]]:
    """Compile a package; what comes out has to be the same whatever is below it."""
    shutil.copytree(PACKAGE, top, dirs_exist_ok=True)
    objects = sorted(path.with_suffix(".o").name for path in PACKAGE.glob("*.c"))

    def work() -> str:
        run("make", "-s", "-C", top, "CFLAGS=-std=gnu99 -O2 -fPIC", *objects)
        run("ar", "rcs", top / "libhdr_histogram.a", *(top / name for name in objects))
        return hashlib.sha256((top / "libhdr_histogram.a").read_bytes()).hexdigest()

    yield work


@contextmanager
def mixing(top: Path) -> Iterator[Callable[[], str]]:
    """PostMark: small files are made, read, appended to and removed."""

    def work() -> str:
        said = run("postmark", text=POSTMARK.format(top=top))
        # The same files each time.
        return " ".join(re.findall(r"^\s+(\d+ \w+) \(", said, re.MULTILINE))

    yield work


WORKLOADS = {"compile": compiling, "mix": mixing}

# -- what is on while it is done ------------------------------------------------------


@contextmanager
def ring() -> Iterator[Callable[[], dict[str, int]]]:
    """Events are written to a ring that no one reads meanwhile; calling it: how many."""
    with Kernevents("bench", buffer_kib=LOG_KIB, percent=100) as events:

        def count() -> dict[str, int]:
            found = 0
            while more := sum(1 for _ in events.read(timeout=0)):
                found += more
            return {"events": found, "lost": events.lost}

        yield count


@contextmanager
def records() -> Iterator[Callable[[], dict[str, int]]]:
    """The same, and each is a record of its own, as perf and trace-cmd have them."""
    instance = INSTANCES / "bench"
    instance.mkdir()
    (instance / EVENT).write_text("1")
    try:
        yield lambda: {"events": written(instance)}
    finally:
        (instance / EVENT).write_text("0")
        instance.rmdir()


def written(instance: Path) -> int:
    stats = "".join(path.read_text() for path in instance.glob("per_cpu/cpu*/stats"))
    return sum(map(int, re.findall(r"^(?:entries|overrun): (\d+)", stats, re.MULTILINE)))


@contextmanager
def logger() -> Iterator[Callable[[], dict[str, int]]]:
    """evmon-log writes all to a file; calling it: all of it is written."""
    with (
        tempfile.NamedTemporaryFile() as log,
        subprocess.Popen(
            [ROOT / "build" / "evmon-log", log.name], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        enabled = INSTANCES / "kernevents" / BATCHES
        while not (enabled.exists() and enabled.read_text().startswith("1")):
            time.sleep(0.01)

        def finish() -> dict[str, int]:
            process.terminate()
            said = process.stderr.readline()
            found = re.search(r"(\d+) events, (\d+) lost", said)
            if not found:
                raise SystemExit(said)
            return {"events": int(found[1]), "lost": int(found[2])}

        try:
            yield finish
        finally:
            process.terminate()


@contextmanager
def coverage() -> Iterator[Callable[[], dict[str, int]]]:
    """Which share of the objects Kefence guards."""

    def share() -> dict[str, int]:
        lines = Path("/sys/kernel/debug/kefence/sites").read_text().splitlines()[1:]
        words = [line.split("\t") for line in lines]
        return {
            "objects": sum(int(w[2]) for w in words),
            "guarded": sum(int(w[3]) for w in words),
        }

    yield share


@contextmanager
def switched_off() -> Iterator[Callable[[], dict[str, int]]]:
    """Sites of KGCC's are switched off after 100 clean executions; how many were not."""
    debug = Path("/sys/kernel/debug/kgcc")
    (debug / "settings").write_text("* after=100\n")

    def sites() -> dict[str, int]:
        states = [line.split("\t")[5] for line in (debug / "sites").read_text().splitlines()]
        return {"sites": len(states), "on": states.count("on")}

    yield sites


@dataclass(frozen=True)
class Variant:
    """What is loaded, the file system last, and what is on besides."""

    modules: list[str]
    on: Callable[[], AbstractContextManager[Callable[[], dict[str, int]]]]
    workloads: tuple[str, ...]
    # It is done once before, for what the tool learns of it.
    rehearsed: bool = False

    def file_system(self) -> str:
        return self.modules[-1].partition("+")[0]

    def is_there(self) -> bool:
        return all(path_of(module).exists() for module in self.modules)


def nothing() -> AbstractContextManager[Callable[[], dict[str, int]]]:
    return nullcontext(dict)


MONITORS = ["evmon/evmon_spin", "evmon/evmon_mutex", "evmon/evmon_refs"]
VARIANTS = {
    "plain": Variant(["ecryptfs"], nothing, ("compile", "mix")),
    "kefence": Variant(["kefence", "ecryptfs+kefence"], coverage, ("compile", "mix")),
    "evmon_off": Variant(["evmon", "ecryptfs+evmon"], nothing, ("mix",)),
    "evmon": Variant(["evmon", "ecryptfs+evmon"], ring, ("mix",)),
    "records": Variant(["evmon", "ecryptfs+evmon"], records, ("mix",)),
    "monitors": Variant(["evmon", *MONITORS, "ecryptfs+evmon"], ring, ("mix",)),
    "logger": Variant(["evmon", "ecryptfs+evmon"], logger, ("mix",)),
    "kgcc": Variant(["kgcc", "ecryptfs+kgcc"], nothing, ("compile", "mix")),
    "kgcc_off": Variant(["kgcc", "ecryptfs+kgcc"], switched_off, ("compile",), True),
}
# Where it is mounted; what lies below it is a tmpfs.
MOUNTED = {"ecryptfs": ecryptfs.mounted, "reiserfs": reiserfs.mounted}

# -- rounds ---------------------------------------------------------------------------


def clocks() -> dict[str, float]:
    """Seconds: of the clock, of the CPU, and of children that ended, in the kernel."""
    used = int(re.search(r"^usage_usec (\d+)", CPU_STAT.read_text(), re.MULTILINE)[1])
    system = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
    return {"elapsed": time.perf_counter(), "cpu": used / 1e6, "system": system}


def sample(variant: Variant, workload: str, top: Path) -> dict[str, object]:
    with (
        MOUNTED[variant.file_system()](top / "lower", top / "upper") as upper,
        WORKLOADS[workload](upper) as work,
        variant.on() as finish,
    ):
        if variant.rehearsed:
            work()
        # What loading modules and opening rings left to be done later.
        time.sleep(SETTLED)
        before = clocks()
        said = work()
        # What the logger has still to write counts, reading statistics does not.
        if variant.on is logger:
            more, after = finish(), clocks()
        else:
            after, more = clocks(), finish()
        return {name: after[name] - before[name] for name in after} | {"result": said, **more}


def measure(name: str, workload: str) -> dict[str, object]:
    variant = VARIANTS[name]
    loaded = [insmod(module) for module in variant.modules]
    try:
        with tempfile.TemporaryDirectory() as top:
            return sample(variant, workload, Path(top))
    finally:
        for module in reversed(loaded):
            rmmod(module)


def measure_round(number: int) -> dict[str, dict[str, object]]:
    """Each in turn, every other round in the other direction."""
    found = {}
    for workload in WORKLOADS:
        names = [n for n, v in VARIANTS.items() if workload in v.workloads and v.is_there()]
        for name in names[:: 1 if number % 2 else -1]:
            found[f"{workload} {name}"] = measure(name, workload)
            print(f"{workload} {name}: {found[f'{workload} {name}']}", file=sys.stderr, flush=True)
        results = {str(found[f"{workload} {name}"].pop("result")) for name in names}
        if len(results) != 1:
            raise SystemExit(f"{workload}: other results with a tool: {results}")
    return found


def warm_up() -> None:
    """What is read from disk the first time only."""
    # Where the clock jumps over idle time, the kernel does not wait for modprobe.
    subprocess.run(["modprobe", "-a", "ecb", "cbc", "md5", "aesni_intel"], check=False)
    for workload in WORKLOADS:
        measure("plain", workload)


def main() -> int:
    rounds = int(sys.argv[1])
    with contextlib.suppress(FileExistsError):
        Path("/sys/kernel/tracing/instances").mkdir()
    warm_up()
    found = [measure_round(number) for number in range(1, rounds + 1)]
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    print(json.dumps({"kernel": os.uname().release, "accel": accel, "rounds": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
