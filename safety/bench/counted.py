#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count one of bench.py's samples, function by function, as vm/profile does.

counted.py [-k KERNEL] -o FILE FILE_SYSTEM WORKLOAD VARIANT

What differs from plain: vm/profile/icount.py diff PLAIN FILE
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "vm" / "profile")]

import icount  # noqa: E402
import results  # noqa: E402

COMMAND = ["build/venv/bin/python3", "safety/bench/inside.py", "count"]


def profile(kernel: str, *sample: str) -> dict[str, Any]:
    """The profile in icount.py's format."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as directory:
        options = ["-k", kernel, "--timeout", "3600", "--profile", directory]
        results.run_in_guest(options, [*COMMAND, *sample], module=False)
        symbols = icount.Symbols.read(Path(directory) / "kallsyms")
        found = icount.functions(Path(directory) / "counts", symbols)
    return {"command": list(sample), "kernel": kernel, "per": 1, "functions": found}


def user_instructions(kernel: str, *sample: str) -> int:
    return profile(kernel, *sample)["functions"][icount.USER]


def main() -> int:
    options = results.parser(__doc__)
    options.add_argument("sample", nargs=3, metavar="NAME")
    args = options.parse_args()
    try:
        result = profile(args.kernel, *args.sample)
    except (results.MeasureError, icount.ProfileError) as error:
        print(f"counted: {error}", file=sys.stderr)
        return 1
    icount.show(result)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
