# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The shipped cost model, for verdicts on a machine that was not calibrated.

Instructions do not depend on the machine; they were counted in a guest (instructions.json,
`make count-costs`). The times of an instruction and of a mode switch are those of one machine, so
that reports on a trace are the same each time and everywhere: T = c * instructions + p * mode
switches. `consolidate calibrate` measures this machine's costs, and stores them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

from consolidate.cost import model
from consolidate.cost.model import CostModel

COUNTED = Path(__file__).resolve().parent / "instructions.json"
# ns per instruction of code that is executed repeatedly, and per mode switch besides its
# instructions: fitted to lseek() and to newfstatat() of a path.
MACHINE = "a Xeon of 2023 under KVM"
INSTRUCTION, SWITCH = 0.109, 89.0
# Uncertainty from code, caches and kernels: calls and scripts measured natively took 0.7 to 1.7 of
# the model's time, except new files on a disk (more).
UNSURE = (0.7, 1.0, 1.7)
# Mode switches: of one call outside, and of a script call, by backend. In a process that is an
# fstat(2), by which the library checks that the descriptor is still the script's.
OUTSIDE = frozenset(["outer_fast", "outer_slow", "outer_path", "outer_read", "outer_fstat"])
OUTSIDE |= {"outer_fstatat"}
INSIDE = {"inner_fast": 1, "inner_slow": 1, "inner_path": 1, "inner_string": 1, "batch_item": 2}
# Mode switches of the library's scripts, for n files or entries: by plain calls, by the script in
# the kernel, and in the process, where each call is one.
LIBRARY = {
    "read_many": (lambda n: 3 * n, lambda n: 1, lambda n: 3 * n + 1),
    "open_read_close": (lambda n: 3 * n, lambda n: n, lambda n: 4 * n),
    "open_write_close": (lambda n: 3 * n, lambda n: 1, lambda n: 3 * n + 1),
    "open_fstat": (lambda n: 3 * n, lambda n: n + 1, lambda n: 3 * n + 1),
    "stat_many": (lambda n: n, lambda n: 1, lambda n: n + 1),
    "readdirplus": (lambda n: n + 4, lambda n: 1, lambda n: n + 5),
}


def switches(name: str, backend: str, items: dict[str, int]) -> int:
    """Mode switches of an operation in the cost model."""
    if name in OUTSIDE or name == "script_call":
        return 1
    if name in INSIDE:
        return INSIDE[name] if backend == "user" else 0
    script, _, rest = name.partition(".")
    if script not in LIBRARY:
        return 0
    way, _, size = rest.partition(".")
    plain, kernel, user = LIBRARY[script]
    by_script = kernel if backend == "kernel" else user
    return (plain if way == "plain" else by_script)(items[size])


def load(backend: str = "kernel") -> CostModel:
    """The model for a backend, "kernel" or "user"."""
    counted = json.loads(COUNTED.read_text())
    counts, items = counted["instructions"][backend], counted["items"]
    samples = {
        name: [
            unsure * INSTRUCTION * counts[name] + SWITCH * switches(name, backend, items)
            for unsure in UNSURE
        ]
        for name in model.NAMES
    }
    return CostModel(counted["kernel"], MACHINE, model.MODELLED, backend, samples, items)


def main() -> int:
    """Make instructions.json from guests' counts: one JSON for each backend, on stdin."""
    decoder, text, counted = json.JSONDecoder(), sys.stdin.read().strip(), {}
    instructions = {}
    while text:
        counted, end = decoder.raw_decode(text)
        text = text[end:].strip()
        rounds = counted["rounds"]
        middles = {name: median(one[name] for one in rounds) for name in model.NAMES}
        instructions[counted["backend"]] = {name: round(n) for name, n in middles.items()}
    json.dump(
        {"kernel": counted["kernel"], "items": counted["items"], "instructions": instructions},
        sys.stdout,
        indent=1,
    )
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
