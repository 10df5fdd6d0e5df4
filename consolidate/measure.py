# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measures a candidate: both ways in one guest, with the prices of that boot."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from consolidate import predict, prices, replay, write
from consolidate.choose import Candidate
from consolidate.errors import ConsolidateError
from consolidate.flow import Repeat
from consolidate.prices import ROOT, Price, PriceList
from consolidate.report import price_json, sequence

BUILD = ROOT / "build"
# Of this process: several may measure. Guests see it, unlike /tmp.
PLACE = BUILD / "consolidate-replay" / str(os.getpid())
OBJECTS = ("bench/measure.o", "bench/source.o", "libsyscript.a")
ROUNDS = 15
GUEST_TIME = 400


@dataclass(frozen=True, slots=True)
class Measured:
    """ns for one iteration."""

    plain: float
    script: float
    saved: Price
    predicted: Price
    predicted_script: float
    items: int
    calls: float
    prices: PriceList

    def error(self) -> float:
        """The predicted over the measured saving, less 1."""
        return self.predicted.middle / self.saved.middle - 1 if self.saved.middle else float("inf")


def compiled(candidate: Candidate, trace: str) -> tuple[Path, replay.Program]:
    """The replay of a candidate, and what it was made of."""
    script, _, plan = write.script(candidate, trace)
    program = replay.Program(plan, script, ROUNDS)
    text = program()
    missing = [name for name in OBJECTS if not (BUILD / name).exists()]
    if missing:
        raise ConsolidateError(
            f"build/{missing[0]} is not built: measure works in syscript's source tree, after"
            " `make consolidate module`"
        )
    PLACE.mkdir(parents=True, exist_ok=True)
    source = PLACE / f"replay{candidate.number}.c"
    source.write_text(text)
    output = source.with_suffix("")
    objects = [str(BUILD / name) for name in OBJECTS]
    argv = ["cc", "-O2", "-g", f"-I{BUILD}/include", f"-I{ROOT}/bench", "-o", str(output)]
    argv += [str(source), *objects, "-lm", "-lpthread"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConsolidateError(f"the replay does not compile:\n{done.stderr}")
    return output, program


def run(programs: list[Path], backend: str, guest: str | None) -> tuple[PriceList, list[dict]]:
    """Prices first, then each both ways, in one boot."""
    commands = [f"{prices.PROGRAMS[0]} {backend} {prices.ROUNDS}"]
    commands += [f"{program} {backend}" for program in programs]
    command = ["sh", "-ec", "; echo; ".join(commands)]
    if guest is not None:
        options = ["-k", guest, "-m", "--fair", "--timeout", str(GUEST_TIME)]
        command = [str(prices.GUEST), *options, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConsolidateError(
            f"{shlex.join(command[:2])} ... failed (status {done.returncode}):"
            f" {done.stderr.strip()}"
        )
    decoder, found, at = json.JSONDecoder(), [], 0
    for _ in commands:
        one, end = decoder.raw_decode(done.stdout[at:].lstrip())
        at += len(done.stdout[at:]) - len(done.stdout[at:].lstrip()) + end
        found.append(one)
    text = json.dumps({"machine": prices.machine(), **found[0]})
    return prices.from_json(text, "what was measured"), found[1:]


def predicted(candidate: Candidate, program: replay.Program, found: PriceList) -> Price:
    """For one iteration of what is replayed."""
    setting, saved = program.setting, prices.NONE
    names = 0.0
    for number, step in enumerate(candidate.flow.steps):
        often = setting.repeats[number]
        if replay.from_name(step):
            often = setting.entries
            names = max(names, often)
        if (
            number in program.plan.alias
            and program.plan.gathers.get(program.plan.alias[number]) is None
            and step.repeat is not Repeat.ONCE
        ):
            often = 1
        saved += found.joined(step.name).times(often)
    saved -= predict.iteration_cost(candidate.flow, found, program.plan.batched)
    saved -= found.price("entry").times(names)
    return saved - found.price("script_call").times(1 / setting.items)


def measure(
    candidates: list[Candidate], trace: str, backend: str, guest: str | None
) -> list[Measured]:
    if guest is not None and not os.access(prices.GUEST, os.X_OK):
        raise ConsolidateError("guests are started from syscript's source tree only")
    try:
        made = [compiled(candidate, trace) for candidate in candidates]
        found, raw = run([path for path, _ in made], backend, guest)
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
    programs = [program for _, program in made]
    triples = zip(candidates, programs, raw, strict=True)
    return [judged(candidate, program, one, found) for candidate, program, one in triples]


def judged(candidate: Candidate, program: replay.Program, raw: dict, found: PriceList) -> Measured:
    plain = [one["plain"] for one in raw["rounds"]]
    script = [one["script"] for one in raw["rounds"]]
    saved = prices.spread([a - b for a, b in zip(plain, script, strict=True)])
    price = predicted(candidate, program, found)
    return Measured(
        median(plain),
        median(script),
        saved,
        price,
        median(plain) - price.middle,
        raw["items"],
        raw["calls"],
        found,
    )


def as_json(candidate: Candidate, found: Measured) -> dict:
    return {
        "sequence": sequence(candidate),
        "prices": found.prices.title(),
        "items": found.items,
        "calls_per_iteration": found.calls,
        "plain_ns": found.plain,
        "script_ns": found.script,
        "predicted_script_ns": found.predicted_script,
        "saved_ns": price_json(found.saved),
        "predicted_saved_ns": price_json(found.predicted),
        "prediction_error": found.error(),
    }


def show(candidate: Candidate, found: Measured) -> None:
    print(f"{sequence(candidate)}: {found.calls:g} calls an iteration, {found.items} in a batch")
    print(f"{'ns for an iteration':<22}{'measured':>12}{'predicted':>12}")
    print(f"{'plain calls':<22}{found.plain:>12.0f}")
    print(f"{'script':<22}{found.script:>12.0f}{found.predicted_script:>12.0f}")
    saved, predicted_ = found.saved, found.predicted
    print(f"{'saved':<22}{saved.middle:>12.0f}{predicted_.middle:>12.0f}")
    print(f"  measured range {saved.low:.0f}..{saved.high:.0f}", end="")
    print(f", predicted range {predicted_.low:.0f}..{predicted_.high:.0f}")
    print(found.prices.title())
    if found.prices.accel == "tcg":
        print(prices.EMULATED)
