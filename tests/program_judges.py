# SPDX-License-Identifier: GPL-2.0
"""Starts attacks of program_attacks.py as a guest's account, and judges the results."""

from __future__ import annotations

import json
import subprocess
import sys

import program_attacks
import programs as p
from runner import HANG, account


def command(attack: str, seconds: float, seed: int) -> list[str]:
    return [*p.OWN, sys.executable, program_attacks.__file__, attack, str(seconds), str(seed)]


def begin(attack: str, seconds: float, seed: int, user: str = "outsider") -> subprocess.Popen:
    return subprocess.Popen(
        command(attack, seconds, seed),
        **account(user), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def end(process: subprocess.Popen, seconds: float = 0) -> dict:
    out, err = process.communicate(timeout=seconds + HANG)
    print(out, err)
    assert not process.returncode, err
    return json.loads(out)


def judge_shared(seen: dict) -> None:
    assert (seen["received"], seen["tapped"]) == ("aa!a", "aaaa")
    assert [seen[f"file{k}"] for k in range(3)] == [[True, 0]] * 3, seen


def judge_neighbour(seen: dict) -> None:
    assert seen["got"] == seen["calls"], seen
    assert (seen["errors"], seen["defaults"], seen["unloaded"]) == (0, 0, 0), seen
    assert seen["sent"] >= seen["got"] > 0.9 * seen["sent"] > 0, seen
