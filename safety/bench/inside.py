#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The guest's part of bench.py: file systems unmodified and built with each tool.

usage: inside.py rounds N [VARIANT...]
       inside.py count FILE_SYSTEM WORKLOAD VARIANT

The first prints JSON. The second runs one sample once, between vm/profile's marks, and leaves the
modules loaded so that their symbols can be resolved.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import json
import mmap
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / name) for name in ("safety/tests", "vm", "safety/evmon/lib")]

import ecryptfs  # noqa: E402
import reiserfs  # noqa: E402
from kernevents import Kernevents  # noqa: E402
from modules_in_guest import insmod, path_of, rmmod  # noqa: E402

# ns that each CPU was not idle; a task's time is added when it leaves the CPU.
SCHEDSTAT = Path("/proc/schedstat")
INSTANCES = Path("/sys/kernel/tracing/instances")
EVENT = Path("events", "evmon", "evmon_event", "enable")
BATCHES = Path("events", "evmon", "evmon_batch", "enable")
# The ring is large enough for all events, like evmon-log's.
LOG_KIB = 4096
# Seconds.
SETTLED = 1

# -- what is done over it ----------------------------------------------------------

# HdrHistogram_c, as published in its registry.
PACKAGE = ROOT / "build" / "vendor" / "hdrhistogram-c" / "HdrHistogram_c" / "src"

POSTMARK = """\
set location {top}
set number 200
set transactions 1000
set size 500 10000
run
quit
"""


# Programs and all that they read lie in a tmpfs: looking up a name in the host's files waits
# for the host, while the kernel does other work.
WORKSHOP = Path("/tmp/workshop")
CC = Path(shutil.which("cc") or "cc").resolve()
CFLAGS = ["-std=gnu99", "-O2", "-fPIC"]


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def programs() -> list[str]:
    found = [shutil.which(name) for name in ("make", "sh", "as", "ar", "postmark")]
    return [str(CC), output(CC, "-print-prog-name=cc1").strip(), *filter(None, found)]


def set_up_workshop() -> None:
    """Copy programs, their libraries, and the headers that the package asks for."""
    files = set(programs())
    for program in programs():
        files |= set(re.findall(r"(/\S+) \(", output("ldd", program)))
    files |= set(re.findall(r"(/\S+\.h)\b", output(CC, *CFLAGS, "-M", *PACKAGE.glob("*.c"))))
    # The package's own headers come with it.
    for file in (Path(os.path.normpath(name)) for name in files):
        if PACKAGE not in file.parents:
            copy = WORKSHOP / file.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    shutil.copy(shutil.which("busybox") or "busybox", WORKSHOP)
    for name in ("tmp", "dev"):
        (WORKSHOP / name).mkdir()
    (WORKSHOP / "dev" / "null").write_text("")


def run(name: str, *arguments: str | Path, text: str = "") -> str:
    """Run a program in the workshop and return its output."""
    inside = [
        f"/{arg.relative_to(WORKSHOP)}" if isinstance(arg, Path) else arg for arg in arguments
    ]
    # preexec_fn would fork, which makes the cost depend on the size of this process.
    command = [WORKSHOP / "busybox", "chroot", WORKSHOP, shutil.which(name) or name, *inside]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr or done.stdout}")
    return done.stdout


@contextmanager
def compiling(top: Path) -> Iterator[Callable[[], str]]:
    """Compile a package; the output must be the same on every file system."""
    shutil.copytree(PACKAGE, top, dirs_exist_ok=True)
    objects = sorted(path.with_suffix(".o").name for path in PACKAGE.glob("*.c"))

    def work() -> str:
        run("make", "-s", "-C", top, f"CC={CC}", f"CFLAGS={' '.join(CFLAGS)}", *objects)
        run("ar", "rcs", top / "libhdr_histogram.a", *(top / name for name in objects))
        return hashlib.sha256((top / "libhdr_histogram.a").read_bytes()).hexdigest()

    yield work
    # The next compilation starts from scratch.
    for entry in top.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


@contextmanager
def mixing(top: Path) -> Iterator[Callable[[], str]]:
    """PostMark: creates, reads, appends to and removes small files."""

    def work() -> str:
        said = run("postmark", text=POSTMARK.format(top=f"/{top.relative_to(WORKSHOP)}"))
        # Every run handles the same files.
        return " ".join(re.findall(r"^\s+(\d+ \w+) \(", said, re.MULTILINE))

    yield work


WORKLOADS = {"compile": compiling, "mix": mixing}

# -- what is on while it is done ------------------------------------------------------


@contextmanager
def ring() -> Iterator[Callable[[], dict[str, int]]]:
    """Events go to a ring that no process reads; calling it returns their number."""
    with Kernevents("bench", buffer_kib=LOG_KIB, percent=100) as events:

        def count() -> dict[str, int]:
            found = 0
            while more := sum(1 for _ in events.read(timeout=0)):
                found += more
            return {"events": found, "lost": events.lost}

        yield count


@contextmanager
def records() -> Iterator[Callable[[], dict[str, int]]]:
    """Each event is a record of its own, as with perf and trace-cmd."""
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
def reader(file: str = "/dev/null") -> Iterator[Callable[[], dict[str, int]]]:
    """evmon-log writes all events to a file; calling it waits until all are written."""
    with subprocess.Popen(
        [ROOT / "build" / "evmon-log", file], stderr=subprocess.PIPE, text=True
    ) as process:
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
def logger() -> Iterator[Callable[[], dict[str, int]]]:
    """evmon-log writes to a file that already exists."""
    with tempfile.NamedTemporaryFile() as log, reader(log.name) as finish:
        yield finish


@contextmanager
def coverage() -> Iterator[Callable[[], dict[str, int]]]:
    """The share of objects that Kefence guards, in the paper's terms."""

    def share() -> dict[str, int]:
        lines = Path("/sys/kernel/debug/kefence/modules").read_text().splitlines()[1:]
        (words,) = [line.split("\t") for line in lines]
        objects, guarded, asked, _, most = map(int, words[1:6])
        return {
            "objects": objects,
            "guarded": guarded,
            "pages at most": most,
            "bytes each": round(asked / objects),
        }

    yield share


# Bytes that KGCC adds to each slot of its own caches and of the module's.
TAG = 16
TAGGED = re.compile(r"(?:kgcc_|ecryptfs_|reiser)\S* +\d+ (\d+)")


@contextmanager
def shadow() -> Iterator[Callable[[], dict[str, int]]]:
    """KGCC's memory for objects: cached lookups, variables, peers, tags, lists of sites."""

    def kept() -> dict[str, int]:
        text = Path("/sys/kernel/debug/kgcc/counters").read_text()
        memory = sum(map(int, re.findall(r"^memory\t\w+\t(\d+)", text, re.MULTILINE)))
        (sites,) = re.findall(r"^module\t\w+\t(\d+) sites", text, re.MULTILINE)
        slots = sum(map(int, TAGGED.findall(Path("/proc/slabinfo").read_text())))
        return {"sites": int(sites), "shadow KiB": (memory + 8 * int(sites) + TAG * slots) // 1024}

    yield kept


@contextmanager
def switched_off() -> Iterator[Callable[[], dict[str, int]]]:
    """KGCC switches sites off after 100 clean executions; counts those still on."""
    debug = Path("/sys/kernel/debug/kgcc")
    (debug / "settings").write_text("* after=100\n")

    def sites() -> dict[str, int]:
        states = [line.split("\t")[5] for line in (debug / "sites").read_text().splitlines()]
        return {"sites": len(states), "on": states.count("on")}

    yield sites


BOTH = ("compile", "mix")


@dataclass(frozen=True)
class Variant:
    """The modules to load first, the tools to build the file system with, and what else is on."""

    modules: list[str]
    built_with: str
    on: Callable[[], AbstractContextManager[Callable[[], dict[str, int]]]]
    # Workloads to run over each file system.
    ecryptfs: tuple[str, ...] = ()
    reiserfs: tuple[str, ...] = ()
    # The workload runs once beforehand so that the tool learns from it.
    rehearsed: bool = False


def nothing() -> AbstractContextManager[Callable[[], dict[str, int]]]:
    return nullcontext(dict)


MONITORS = ["evmon/evmon_spin", "evmon/evmon_mutex", "evmon/evmon_refs"]
VARIANTS = {
    "plain": Variant([], "", nothing, BOTH, BOTH),
    "kefence": Variant(["kefence"], "+kefence", coverage, BOTH, BOTH),
    "evmon_off": Variant(["evmon"], "+evmon", nothing, ("mix",)),
    "evmon": Variant(["evmon"], "+evmon", ring, BOTH, BOTH),
    "records": Variant(["evmon"], "+evmon", records, ("mix",)),
    "monitors": Variant(["evmon", *MONITORS], "+evmon", ring, ("mix",)),
    "reader": Variant(["evmon"], "+evmon", reader, ("mix",)),
    "logger": Variant(["evmon"], "+evmon", logger, ("mix",)),
    "kgcc": Variant(["kgcc"], "+kgcc", shadow, BOTH, BOTH),
    "kgcc_off": Variant(["kgcc"], "+kgcc", switched_off, ("compile",), rehearsed=True),
}


@dataclass(frozen=True)
class Sample:
    """One measurement: a workload, a file system, and a tool or plain."""

    file_system: str
    workload: str
    variant: str

    def __str__(self) -> str:
        return f"{self.file_system} {self.workload} {self.variant}"

    @property
    def modules(self) -> list[str]:
        """The modules to load; the file system comes last."""
        variant = VARIANTS[self.variant]
        return [*variant.modules, self.file_system + variant.built_with]


# The mount points: eCryptfs has a tmpfs below it, ReiserFS lies in a file on one.
MOUNTED = {"ecryptfs": ecryptfs.mounted, "reiserfs": reiserfs.mounted}


def is_there(file_system: str) -> bool:
    """Whether this kernel has it."""
    return path_of(file_system).exists()


def samples(file_system: str, workload: str, wanted: list[str]) -> list[Sample]:
    """The samples of the `wanted` variants, or of all."""
    found = [Sample(file_system, workload, name) for name in VARIANTS if name in wanted]
    return [s for s in found if workload in getattr(VARIANTS[s.variant], file_system)]


# -- rounds ---------------------------------------------------------------------------


def clocks() -> dict[str, float]:
    """Seconds: elapsed, CPU, and system time of ended children."""
    # Gives up the CPU.
    time.sleep(0.001)
    stats = re.findall(r"^cpu\d+(?: \d+){6} (\d+)", SCHEDSTAT.read_text(), re.MULTILINE)
    system = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
    return {"elapsed": time.perf_counter(), "cpu": sum(map(int, stats)) / 1e9, "system": system}


@contextmanager
def prepared(sample: Sample, top: Path) -> Iterator[tuple[Callable, Callable]]:
    """The workload to run in `top`, and a function to call when it is done."""
    variant, workload = VARIANTS[sample.variant], WORKLOADS[sample.workload]
    with (
        MOUNTED[sample.file_system](top / "lower", top / "upper") as upper,
        variant.on() as finish,
    ):
        if variant.rehearsed:
            with workload(upper) as work:
                work()
        with workload(upper) as work:
            # Flush work that modules, rings and caches deferred.
            os.sync()
            time.sleep(SETTLED)
            yield work, finish


def measured(sample: Sample, top: Path) -> dict[str, object]:
    with prepared(sample, top) as (work, finish):
        before = clocks()
        said = work()
        os.sync()
        # Draining the ring counts, reading statistics does not.
        if sample.variant in ("reader", "logger"):
            more, after = finish(), clocks()
        else:
            after, more = clocks(), finish()
        return {name: after[name] - before[name] for name in after} | {"result": said, **more}


def measure(sample: Sample) -> dict[str, object]:
    loaded = [insmod(module) for module in sample.modules]
    try:
        with tempfile.TemporaryDirectory(dir=WORKSHOP) as top:
            return measured(sample, Path(top))
    finally:
        for module in reversed(loaded):
            rmmod(module)


def measure_round(number: int, wanted: list[str]) -> dict[str, dict[str, object]]:
    """Run each sample, in reverse order every other round."""
    found = {}
    for file_system, workload in itertools.product(filter(is_there, MOUNTED), WORKLOADS):
        turns = samples(file_system, workload, wanted)[:: 1 if number % 2 else -1]
        for sample in turns:
            found[str(sample)] = measure(sample)
            print(f"{sample}: {found[str(sample)]}", file=sys.stderr, flush=True)
        results = {str(found[str(sample)].pop("result")) for sample in turns}
        if len(results) != 1:
            raise SystemExit(f"{file_system}, {workload}: other results with a tool: {results}")
    return found


def warm_up() -> None:
    """First runs have extra work: do it now."""
    set_up_workshop()
    # Where the clock skips idle time, the kernel does not wait for modprobe.
    subprocess.run(["modprobe", "-a", "ecb", "cbc", "md5", "aesni_intel", "loop"], check=False)
    for file_system in filter(is_there, MOUNTED):
        measure(Sample(file_system, "mix", "plain"))


def rounds(number: int, wanted: list[str]) -> None:
    warm_up()
    found = [measure_round(n, wanted) for n in range(1, number + 1)]
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    absent = [name for name in MOUNTED if not is_there(name)]
    result = {"kernel": os.uname().release, "accel": accel, "absent": absent, "rounds": found}
    print(json.dumps(result))


# -- counts ---------------------------------------------------------------------------


def mark(name: str) -> Callable[[], None]:
    """A function that executes one of the instructions of vm/profile/mark.h."""
    text = (ROOT / "vm" / "profile" / "mark.h").read_text()
    displacement = int(re.search(rf"^#define MARK_{name}\s+(\S+)", text, re.MULTILINE)[1], 16)
    room = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(b"\x0f\x1f\x84\x00" + struct.pack("<I", displacement) + b"\xc3")
    call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(room)))
    call.room = room
    return call


def count(sample: Sample) -> None:
    begin, end = mark("BEGIN"), mark("END")
    warm_up()
    for module in sample.modules:
        insmod(module)
    with (
        tempfile.TemporaryDirectory(dir=WORKSHOP) as top,
        prepared(sample, Path(top)) as (work, finish),
    ):
        begin()
        work()
        os.sync()
        end()
        finish()


def main() -> int:
    what, *words = sys.argv[1:]
    # A kernel without tracing is measured plain only.
    with contextlib.suppress(FileExistsError, FileNotFoundError):
        INSTANCES.mkdir()
    if what == "count":
        count(Sample(*words))
    else:
        rounds(int(words[0]), words[1:] or list(VARIANTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
