#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Load memcached for hours, in a guest, with all kinds of faults.

GETs, SETs, malformed packets, clients that vanish, and a memcached that is killed and restarted. No
reply may be wrong, and nothing may stay in the kernel. In the end the module is unloaded, and
memcached must still serve.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "memcached")]

import footprint  # noqa: E402
from server import SAYS_USER, SCRIPTED, UDPLOAD, Server, ServerError  # noqa: E402

# Mostly scripts; the other modes share some of memcached's code.
MODES = ("syscript",) * 5 + ("syscript_interp",) * 2 + ("mmsg", "io_uring", "off")
SIZES = (16, 64, 100, 512, 1024, 1024, 3000)
KEYS = 500
CYCLE = 20.0
# s by which a load may overrun, and until a killed memcached is noticed.
GRACE = 120
KILL_AFTER = (1.0, 5.0)
FEWEST = 20


class SoakError(Exception):
    """A failure of the soak test."""


@dataclass
class Counts:
    gets: int = 0
    sets: int = 0
    lost: int = 0
    misses: int = 0
    kills: int = 0
    cycles: int = 0

    def add(self, load: dict) -> None:
        self.gets += load["get"]["answered"]
        self.sets += load["set"]["answered"]
        self.lost += load["lost"]
        self.misses += load["misses"]


@dataclass
class Cycle:
    """A memcached in some mode under some load, with or without kills."""

    mode: str
    kills: bool
    size: int
    outstanding: int
    batch: int
    threads: int
    seconds: float
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def any(cls, counts: Counts, seconds: float) -> Cycle:
        return cls(
            # The first cycle, and every other one, uses compiled scripts.
            mode=random.choice(MODES) if counts.cycles % 2 else "syscript",
            kills=counts.cycles % 3 != 1,
            size=random.choice(SIZES),
            outstanding=random.choice((1, 16, 64, 128)),
            batch=random.choice((1, 2, 16, 16, 64)),
            threads=random.choice((1, 1, 2, 4)),
            seconds=seconds,
            counts=counts,
        )

    def __str__(self) -> str:
        return (
            f"{self.mode}, batches of {self.batch}, {self.threads} workers, "
            f"{self.size} bytes, {self.outstanding} out{', kills' if self.kills else ''}"
        )

    def server(self, port: int = 0) -> Server:
        return Server(self.mode, port, options=("-t", str(self.threads)), batch=self.batch)

    def run(self) -> None:
        server = self.server()
        try:
            with vandals(server.port), loader(self, server.port) as load:
                while self.kills and load.poll() is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        load.wait(random.uniform(*KILL_AFTER))
                    if load.poll() is None:
                        server.kill()
                        self.counts.kills += 1
                        server = self.server(server.port)
                result, _ = load.communicate(timeout=self.seconds + GRACE)
            check_load(server, load.returncode, result, self.counts)
            # A server started at the very end may not have served a client.
            check_server(server, 0 if self.kills else FEWEST)
        finally:
            server.stop()


@contextlib.contextmanager
def vandals(port: int) -> Iterator[None]:
    child = subprocess.Popen([sys.executable, ROOT / "tests" / "soak" / "vandals.py", str(port)])
    try:
        yield
        if child.poll() is not None:
            raise SoakError(f"the vandals have ended, status {child.returncode}")
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def loader(cycle: Cycle, port: int) -> Iterator[subprocess.Popen[str]]:
    command = [str(UDPLOAD), "--quiet", "--keys", str(KEYS), "--timeout", "0.5"]
    command += ["--seconds", str(cycle.seconds), "--outstanding", str(cycle.outstanding)]
    command += ["--value-size", str(cycle.size), "--ratio", "4:1"]
    command += ["--survive"] if cycle.kills else []
    child = subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def check_load(server: Server, status: int, text: str, counts: Counts) -> None:
    if ended := server.process.poll():
        raise SoakError(f"memcached has ended, status {ended}: {server.said()}")
    if status:
        raise SoakError(f"the load failed, status {status}: {text}")
    result = json.loads(text)
    counts.add(result)
    odd = {name: result[name] for name in ("wrong", "duplicate", "stray") if result[name]}
    if odd:
        raise SoakError(f"replies that should not have come: {odd}")
    if result["get"]["answered"] < FEWEST or result["set"]["answered"] < FEWEST / 20:
        raise SoakError(f"hardly anything was answered: {result}")


def check_server(server: Server, fewest: int) -> None:
    if complaints := server.complaints():
        raise SoakError(f"memcached complains: {complaints}")
    said = server.batching()
    if server.mode == "off":
        return
    if said["udp_batch"] != server.mode or int(said["udp_batch_received"]) < fewest:
        raise SoakError(f"memcached did not serve with {server.mode}: {said}")
    if server.mode in SCRIPTED and said["udp_batch_backend"] != "kernel":
        raise SoakError(f"its scripts did not run in the kernel: {said}")


def tell(began: float, text: str) -> None:
    print(f"soak: {time.monotonic() - began:.0f} s: {text}", file=sys.stderr, flush=True)


def soak(seconds: float) -> Counts:
    """Runs cycles until the time is over; the first one fills the kernel's caches."""
    began, total, before = time.monotonic(), Counts(), None
    while (left := began + seconds - time.monotonic()) > 0 or total.cycles < 2:
        cycle = Cycle.any(total, max(3.0, min(CYCLE, left / 2)))
        tell(began, f"cycle {total.cycles}: {cycle}")
        cycle.run()
        total.cycles += 1
        leaked = before.leaked() if before else {}
        if leaked:
            raise SoakError(f"not given back after {cycle}: {leaked}")
        before = before or settled()
        tell(began, f"{total.gets} GETs, {total.sets} SETs, {total.kills} kills, none wrong")
    return total


def settled() -> footprint.Footprint:
    """The footprint after the first cycle's last connections are gone."""
    time.sleep(2)
    if left := footprint.scripts():
        raise SoakError(f"scripts are left of a memcached that has ended: {left}")
    return footprint.Footprint.now()


def without_module() -> None:
    """The same memcached without the module: it serves, and reports that once."""
    built = ROOT / "build" / f"kernel-{os.uname().release}"
    modules = ["syscript", "syscript_luajit"]
    subprocess.run(["rmmod", *reversed(modules)], check=True)
    try:
        cycle = Cycle("syscript", False, 64, 16, 16, 2, 2.0)
        server = cycle.server()
        try:
            with loader(cycle, server.port) as load:
                result, _ = load.communicate(timeout=GRACE)
            check_load(server, load.returncode, result, Counts())
            said, backend = server.complaints(), server.batching()["udp_batch_backend"]
        finally:
            server.stop()
        if backend != "user" or len(said) != 1 or not said[0].startswith(SAYS_USER):
            raise SoakError(f"without the module it served in the {backend} backend, said {said!r}")
    finally:
        for module in modules:
            subprocess.run(["insmod", str(built / f"{module}.ko")], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = parser.parse_args()
    random.seed(args.seed)
    print(f"soak: {args.seconds:g} s, seed {args.seed}", file=sys.stderr, flush=True)
    try:
        total = soak(args.seconds)
        without_module()
    except (SoakError, ServerError, subprocess.SubprocessError, OSError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1
    print(f"soak: {total}: no reply wrong, nothing left in the kernel")
    return 0


if __name__ == "__main__":
    sys.exit(main())
