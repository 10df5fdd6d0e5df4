#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count what a web and a mail server execute as a whole, and what of it a compound could save.

nginx and Dovecot run in a guest, from Debian's packages (bench/daemons). Counted are all processes
and the kernel, with both ends of the connection; of the client only what its own system calls take
to enter and leave the kernel is subtracted. The bound is that of one compound for all calls, which
costs nothing to enter: what a program does between its calls forbids it, and shows how little
there is to gain.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import results
from sqlite import GATE

sys.path.insert(0, str(results.ROOT / "vm" / "profile"))

import icount

COUNT = 500
ENTRY = "entry_SYSCALL_64"
DISK = ("__x64_sys_fsync", "__x64_sys_fdatasync")
# Names of bench/daemons/run.sh.
WAYS = {
    "nginx": "nginx, 4 KiB",
    "nginx-cached": "its files cached, log buffered",
    "dovecot": "Dovecot, 4 KiB by LMTP",
}


class Count(NamedTuple):
    """Of a request."""

    all: float
    user: float
    gate: float
    calls: float
    disk: float

    def at_best(self) -> tuple[float, float]:
        """What remains with one compound for all calls: of the instructions, of modelled time."""
        saved = self.calls - 1
        gate = self.gate * saved / self.calls
        time = results.modelled_ns(self.all, self.calls)
        return 1 - gate / self.all, 1 - results.modelled_ns(gate, saved) / time


def count_of(functions: dict[str, int], calls: dict[str, int], own: int, times: int) -> Count:
    """own: the client's system calls, in all."""
    entered = calls[ENTRY]
    gate = sum(n for name, n in functions.items() if name in GATE)
    return Count(
        all=sum(functions.values()) / times,
        user=functions[icount.USER] / times,
        gate=gate * (entered - own) / entered / times,
        calls=(entered - own) / times,
        disk=sum(calls.get(name, 0) for name in DISK) / times,
    )


def count(kernel: str, way: str) -> Count:
    with tempfile.TemporaryDirectory(dir=results.ROOT / "build") as directory:
        command = ["bench/daemons/run.sh", way, str(COUNT)]
        own = results.run_in_guest(["-k", kernel, "--profile", directory], command, module=False)
        symbols = icount.Symbols.read(Path(directory) / "kallsyms")
        counts = Path(directory) / "counts"
        functions, calls = icount.functions(counts, symbols), icount.calls(counts, symbols)
    return count_of(functions, calls, int(own), COUNT)


def show(result: dict[str, Any], _: int) -> None:
    header = ["a request", "instructions", "user's", "calls", "fsync"]
    header += ["enter, leave", "at best", "modelled"]
    rows = []
    for way, found in result["ways"].items():
        seen = Count(**found)
        rows.append(
            [WAYS[way], f"{seen.all:,.0f}", f"{seen.user:,.0f}", f"{seen.calls:.1f}"]
            + [f"{seen.disk:.0f}", f"{seen.gate:,.0f}"]
            + [f"{ratio:.2f}" for ratio in seen.at_best()]
        )
    results.show(header, rows)


def main() -> int:
    args = results.parser(__doc__).parse_args()
    try:
        ways = {way: count(args.kernel, way)._asdict() for way in WAYS}
    except (results.MeasureError, icount.ProfileError) as error:
        print(f"daemons: {error}", file=sys.stderr)
        return 1
    result = {"kernel": args.kernel, "ways": ways}
    show(result, 0)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
