# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measures a machine's cost model, and stores it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from consolidate import paths
from consolidate.cost import model
from consolidate.cost.model import CostModel
from consolidate.errors import ConsolidateError

ROUNDS = 24
GUEST_TIME = 300


def machine() -> str:
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")]
    return models[0] if models else os.uname().machine


def calibrate(backend: str, guest: str | None, rounds: int = ROUNDS) -> tuple[CostModel, Path]:
    """Measure here, or in a guest, and store the model."""
    program = paths.first(paths.CALIBRATE)
    if program is None:
        raise ConsolidateError("consolidate-calibrate is not built: run `make consolidate`")
    command = [str(program), backend, str(rounds)]
    if guest is not None:
        if not paths.GUEST.exists():
            raise ConsolidateError("guests are started from syscript's source tree only")
        options = ["-k", guest, "-m", "--fair", "--timeout", str(GUEST_TIME)]
        command = [str(paths.GUEST), *options, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConsolidateError(
            f"calibrating failed (status {done.returncode}): {done.stderr.strip()}\n"
            "`syscript doctor` says what is missing here; --guest 6.1 measures in a guest, from"
            " the source tree; --backend user is for scripts that run in the process"
        )
    raw = {"machine": machine(), **json.loads(done.stdout)}
    text = json.dumps(raw, indent=2) + "\n"
    found = model.from_json(text, "what was measured")
    path = model.directory() / f"{found.kernel}-{found.accel}-{found.backend}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return found, path
