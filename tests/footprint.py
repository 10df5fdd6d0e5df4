# SPDX-License-Identifier: GPL-2.0
"""What a guest's kernel holds for scripts and for the processes that use them."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from library import Info, Library
from runner import SLOWDOWN

REFCNT = Path("/sys/module/syscript/refcnt")
KINDS = ("SUnreclaim", "KernelStack", "PageTables", "VmallocUsed", "Percpu")
SETTLE = 60 * SLOWDOWN
# KiB of slab, stacks and vmalloc that may seem to be left after a storm: the kernel's own caches
# grow with any load. Each storm allocates many times as much. The debug kernel's detectors keep
# freed memory and records of it.
NOISE = 2048 * min(SLOWDOWN, 4)


def scripts() -> list[Info]:
    return list(Library().scripts())


def sockets() -> dict[str, int]:
    """Number of sockets, in total and of each kind that a server uses."""
    found = {}
    for line in Path("/proc/net/sockstat").read_text().splitlines():
        kind, count = line.split(":")
        words = count.split()
        if kind in ("sockets", "TCP", "UDP"):
            found[kind] = int(words[1])
    return found


def memory() -> dict[str, int]:
    """In KiB, by kind."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    info = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {kind: info[kind] for kind in KINDS}


def drop_caches() -> None:
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3")


@dataclass
class Footprint:
    """A snapshot taken while there are no scripts."""

    references: str
    memory: dict[str, int]
    sockets: dict[str, int]

    @classmethod
    def now(cls) -> Footprint:
        drop_caches()
        return cls(REFCNT.read_text(), memory(), sockets())

    def grown(self) -> dict[str, object]:
        """The growth since the snapshot, beyond noise; empty if everything was freed."""
        now = self.now()
        found: dict[str, object] = {
            kind: now.memory[kind] - self.memory[kind]
            for kind in KINDS
            if now.memory[kind] - self.memory[kind] > NOISE
        }
        more = {k: n - self.sockets[k] for k, n in now.sockets.items() if n > self.sockets[k]}
        found |= {f"{kind} sockets": count for kind, count in more.items()}
        if now.references != self.references:
            found["references"] = f"{self.references.strip()} -> {now.references.strip()}"
        if left := scripts():
            found["scripts"] = left
        return found

    def leaked(self) -> dict[str, object]:
        """The growth once the kernel has had time to settle."""
        deadline = time.monotonic() + SETTLE
        while found := self.grown():
            if time.monotonic() > deadline:
                return found
            time.sleep(0.5)
        return {}
