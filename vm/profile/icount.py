#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count the instructions that a command takes in a guest, function by function.

  icount.py run [OPTION...] -- COMMAND...   count, print a table, write JSON
  icount.py show FILE                       print the table of a count again
  icount.py diff BEFORE AFTER               functions that increased, and that decreased

Counts everything executed between the marks of mark.h, in the kernel and outside, by any task. A
command without marks is counted with --whole. Counts are exact, and the same in every boot.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COUNTER = ROOT / "build" / "vm" / "counter.so"
WHOLE = ROOT / "build" / "vm" / "whole"
MODULE = "syscript"

KERNEL_HALF = 1 << 63
USER = "[user space]"
NOWHERE = "[no symbol]"
# Symbols that stand for something other than a function.
NAMES = {"syscript_mcode": "[trace]"}
# Rows below this share of a table's sum are merged into one.
SHARE_SHOWN = 0.001


class ProfileError(Exception):
    """Counting failed."""


class Symbols(NamedTuple):
    """/proc/kallsyms, sorted by address."""

    addresses: list[int]
    names: list[str]

    @classmethod
    def read(cls, path: Path) -> Symbols:
        """Of several names for an address, the first global one counts."""
        found: dict[int, tuple[bool, str]] = {}
        for line in path.read_text().splitlines():
            address, kind, name, *module = line.split()
            # $x and $d mark code and data on arm64.
            if kind.upper() not in "TW" or name.startswith("$"):
                continue
            name = NAMES.get(name, name)
            entry = (kind.islower(), " ".join([name, *module]) if name[0] != "[" else name)
            known = found.get(int(address, 16))
            if not known or entry[0] < known[0]:
                found[int(address, 16)] = entry
        if not any(found):
            raise ProfileError(f"{path} has no addresses")
        addresses = sorted(found)
        return cls(addresses, [found[address][1] for address in addresses])

    def name_of(self, address: int) -> str:
        if address < KERNEL_HALF:
            return USER
        at = bisect.bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 else NOWHERE


def functions(counts: Path, symbols: Symbols) -> dict[str, int]:
    """The instructions of each function."""
    result: collections.Counter[str] = collections.Counter()
    for line in counts.read_text().splitlines():
        address, count = line.split()
        result[symbols.name_of(int(address, 16))] += int(count)
    return dict(result.most_common())


def calls(counts: Path, symbols: Symbols) -> dict[str, int]:
    """How often each function was entered: the count of its first instruction."""
    starts = dict(zip(symbols.addresses, symbols.names, strict=True))
    lines = (line.split() for line in counts.read_text().splitlines())
    found = ((starts.get(int(address, 16)), int(count)) for address, count in lines)
    return {name: count for name, count in found if name}


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Count in a guest."""
    command = [*([str(WHOLE)] if args.whole else []), *args.command]
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as directory:
        guest = [str(ROOT / "vm" / "guest"), "-k", args.kernel, "-m", *["-u"] * (not args.root)]
        guest += ["--profile", directory, "--", *command]
        status = subprocess.run(guest, cwd=ROOT, check=False).returncode
        if status:
            raise ProfileError(f"{command[0]} failed in the guest, status {status}")
        found = functions(Path(directory) / "counts", Symbols.read(Path(directory) / "kallsyms"))
    if not found:
        raise ProfileError(f"{command[0]} sets no marks: count all of it with --whole")
    return {"command": args.command, "kernel": args.kernel, "per": args.per, "functions": found}


# -- Tables ------------------------------------------------------------------------


def per_step(result: dict[str, Any]) -> dict[str, float]:
    return {name: count / result["per"] for name, count in result["functions"].items()}


def show(result: dict[str, Any]) -> None:
    found = per_step(result)
    total = sum(found.values())
    unit = "instructions" if result["per"] == 1 else f"instructions, of {result['per']} steps each"
    print(f"{' '.join(result['command'])}, kernel {result['kernel']}\n\n{unit}")
    rest = 0.0
    for name, count in sorted(found.items(), key=lambda item: -item[1]):
        if count < SHARE_SHOWN * total:
            rest += count
        else:
            print(f"{count:14.2f}  {name}")
    print(f"{rest:14.2f}  others\n{total:14.2f}  in all")


def show_diff(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = per_step(before), per_step(after)
    names = sorted(old.keys() | new.keys(), key=lambda n: new.get(n, 0) - old.get(n, 0))
    print(f"before: {' '.join(before['command'])}\nafter:  {' '.join(after['command'])}\n")
    print(f"{'before':>14}{'after':>14}{'more':>14}")
    rest = [0.0, 0.0]
    total = sum(old.values()), sum(new.values())
    for name in names:
        pair = old.get(name, 0.0), new.get(name, 0.0)
        if abs(pair[1] - pair[0]) < SHARE_SHOWN * total[0]:
            rest = [rest[0] + pair[0], rest[1] + pair[1]]
        else:
            print(row(*pair, name))
    print(row(*rest, "others"))
    print(row(*total, "in all"))
    # As long as both ways need these functions, neither can take less.
    both = sum(min(count, new.get(name, 0.0)) for name, count in old.items())
    print(f"in functions that both call: {both:.2f}, {both / total[0]:.2f} of before")


def row(before: float, after: float, name: str) -> str:
    return f"{before:14.2f}{after:14.2f}{after - before:+14.2f}  {name}"


# -- Command line --------------------------------------------------------------------


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    counting = commands.add_parser("run")
    counting.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    counting.add_argument("-o", dest="output", type=Path, help="JSON to write")
    counting.add_argument("--per", type=int, default=1, help="steps that the command takes")
    counting.add_argument("--root", action="store_true", help="run the command as root")
    counting.add_argument("--whole", action="store_true", help="the command sets no marks")
    counting.add_argument("command", nargs="+")
    commands.add_parser("show").add_argument("file", type=Path)
    diff = commands.add_parser("diff")
    diff.add_argument("before", type=Path)
    diff.add_argument("after", type=Path)
    return parser.parse_args()


def main() -> int:
    args = parse()
    try:
        if args.what == "diff":
            show_diff(*(json.loads(path.read_text()) for path in (args.before, args.after)))
            return 0
        result = run(args) if args.what == "run" else json.loads(args.file.read_text())
    except (ProfileError, OSError, ValueError) as error:
        print(f"profile: {error}", file=sys.stderr)
        return 1
    if args.what == "run" and args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(result, indent=2) + "\n")
    show(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
