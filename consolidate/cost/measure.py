# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measures a candidate: both variants in one guest, with the cost model of that boot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from consolidate import paths
from consolidate.cost import calibrate, library, model, predict, replay
from consolidate.cost.model import Cost, CostModel
from consolidate.cost.replay import Program
from consolidate.cost.replay_library import LibraryProgram
from consolidate.emit import write
from consolidate.errors import ConsolidateError, not_installed
from consolidate.mine.candidate import Candidate, sequence

# Sources and library that a replay is compiled with.
PARTS = paths.ROOT / "measure"
SOURCES = ("measure.c", "source.c")
LIBRARY = "libsyscript.a"
GUEST_TIME = 1800
ROUNDS, ICOUNT_ROUNDS = 45, 5
# With fewer, only results are checked, not times.
FEW_ROUNDS = 10
# The cost that replays measure, too: the shortest call that does any work.
YARDSTICK = "outer_slow"
HINT_LIBRARY = (
    "It needs the library and its headers, as `make consolidate` builds them in the source tree"
    " and `make install` installs them."
)
HINT_HERE = (
    "\n`syscript doctor` says what is missing here; without --here it measures in a guest;"
    " --backend user is for scripts that run in the process"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where to measure, and how often."""

    backend: str
    guest: str | None  # a kernel, or here
    icount: bool = False  # count instructions: the same in every boot
    rounds: int = ROUNDS

    @property
    def calibration_rounds(self) -> int:
        return max(2, self.rounds // 2)

    def argv(self, command: list[str]) -> list[str]:
        if self.guest is None:
            return command
        clock = "--icount" if self.icount else "--fair"
        options = ["-k", self.guest, "-m", clock, "--timeout", str(GUEST_TIME)]
        return [str(paths.GUEST), *options, "--", *command]


@dataclass(frozen=True, slots=True)
class Measured:
    """ns per iteration."""

    candidate: Candidate
    name: str | None  # of the library's script; None: the generated one
    plain: float
    script: float
    saved: Cost
    predicted: Cost
    predicted_script: float
    items: int
    calls: float
    costs: CostModel

    def predicts(self) -> str:
        """Whether scripts save time, as far as the prediction can tell."""
        if self.predicted.low > 0:
            return "gain"
        return "loss" if self.predicted.high < 0 else "unknown"

    def error(self) -> float:
        """The ratio of predicted to measured saving, minus 1."""
        return self.predicted.middle / self.saved.middle - 1 if self.saved.middle else float("inf")


def program_of(candidate: Candidate, trace: str, rounds: int, written: bool) -> Program:
    """The replay by the library's script if there is one, else by the generated one."""
    name = None if written else library.replacement(candidate)
    if name is not None:
        return LibraryProgram(write.planned(candidate), name, rounds)
    made = write.script(candidate, trace)
    return Program(made.plan, made.lua, rounds)


@contextmanager
def directory() -> Iterator[Path]:
    """A directory for this process's replays; guests see the tree, but not /tmp."""
    parent = paths.BUILD if os.access(paths.BUILD, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="consolidate-replay-", dir=parent) as made:
        yield Path(made)


def compiled(program: Program, replays: Path) -> Path:
    """The compiled replay."""
    source = replays / f"replay{program.plan.candidate.number}.c"
    source.write_text(program())
    output = source.with_suffix("")
    if shutil.which("cc") is None:
        raise not_installed("cc, which compiles the replay,", "gcc libc6-dev")
    argv = ["cc", "-O2", "-g", "-D_GNU_SOURCE", f"-I{PARTS}"]
    argv += [f"-I{path}" for path in (paths.first(paths.INCLUDE),) if path]
    argv += ["-o", str(output), str(source), *(str(PARTS / name) for name in SOURCES)]
    argv += [f"-L{path}" for path in (paths.first(paths.LIBRARIES),) if path]
    argv += [f"-l:{LIBRARY}", "-lm", "-lpthread"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConsolidateError(f"the replay does not compile:\n{done.stderr}{HINT_LIBRARY}")
    return output


def run(programs: list[Path], place: Place) -> list[tuple[CostModel, dict]]:
    """Each replay in both variants, all in one boot, with the cost models measured there."""
    calibration = f"{paths.first(paths.CALIBRATE)} {place.backend} {place.calibration_rounds}"
    replays = [f"{program} {place.backend}" for program in programs]
    if place.icount or place.rounds < FEW_ROUNDS:
        once, *raw = outputs([calibration, *replays], place)
        return [(costs_of(one, once), one) for one in raw]
    # Before and after each replay.
    turns = [calibration]
    for command in replays:
        turns += [command, calibration]
    found = outputs(turns, place)
    return [
        (costs_of(found[i], found[i - 1], found[i + 1]), found[i]) for i in range(1, len(found), 2)
    ]


def outputs(commands: list[str], place: Place) -> list[dict]:
    """The JSON output of each command."""
    command = place.argv(["sh", "-ec", "; echo; ".join(commands)])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "" if place.guest else HINT_HERE
        raise ConsolidateError(
            f"measuring failed (status {done.returncode}): {done.stderr.strip()}{hint}"
        )
    decoder, found, left = json.JSONDecoder(), [], done.stdout.lstrip()
    while left:
        one, end = decoder.raw_decode(left)
        found.append(one)
        left = left[end:].lstrip()
    return found


def at_one_speed(rounds: list[dict], replay: dict) -> list[dict]:
    """Corrects times to the machine's most frequent speed during the replay.

    The speed of a cloud machine may vary by a factor of two from one second to the next.
    """
    speed = median(one[YARDSTICK] for one in replay["rounds"])
    return [{name: ns * speed / one[YARDSTICK] for name, ns in one.items()} for one in rounds]


def costs_of(replay: dict, *lists: dict) -> CostModel:
    """One cost model from the rounds of all."""
    rounds = at_one_speed([one for found in lists for one in found["rounds"]], replay)
    text = json.dumps({**lists[0], "machine": calibrate.machine(), "rounds": rounds})
    return model.from_json(text, "what was measured")


def predicted(program: Program, found: CostModel) -> Cost:
    """The predicted saving per iteration of the replay."""
    if isinstance(program, LibraryProgram):
        return predicted_of_library(program, found)
    candidate, setting, saved = program.plan.candidate, program.setting, model.NONE
    names = 0.0
    for number, step in enumerate(candidate.flow.steps):
        often = setting.repeats[number]
        if replay.from_name(step):
            often = setting.entries
            names = max(names, often)
        saved += found.joined(step.name).times(often)
    saved -= predict.iteration_cost(candidate.flow, found, candidate.batched)
    saved -= found.cost("entry").times(names)
    return saved - found.cost("script_call").times(1 / setting.items)


def predicted_of_library(program: LibraryProgram, found: CostModel) -> Cost:
    setting, flow = program.setting, program.plan.candidate.flow
    counts = [
        setting.entries if replay.from_name(step) else setting.repeats[number]
        for number, step in enumerate(flow.steps)
    ]
    calls = 1 if library.is_one_each(program.name) else 1 / setting.items
    return predict.of_library(program.name, flow, counts, 1, calls, found)


def measure(
    candidates: list[Candidate], trace: str, place: Place, written: bool = False
) -> list[Measured]:
    """With `written`, the generated scripts, even if the library has its own."""
    if place.guest is not None and not os.access(paths.GUEST, os.X_OK):
        raise ConsolidateError(
            "guests are started from syscript's source tree only: --here measures on this machine"
        )
    programs = [program_of(one, trace, place.rounds, written) for one in candidates]
    with directory() as replays:
        done = run([compiled(program, replays) for program in programs], place)
    return [judged(program, *one) for program, one in zip(programs, done, strict=True)]


def judged(program: Program, found: CostModel, raw: dict) -> Measured:
    rounds = at_one_speed(raw["rounds"], raw)
    plain = [one["plain"] for one in rounds]
    script = [one["script"] for one in rounds]
    saved = model.spread([a - b for a, b in zip(plain, script, strict=True)])
    prediction = predicted(program, found)
    return Measured(
        program.plan.candidate,
        program.name if isinstance(program, LibraryProgram) else None,
        median(plain),
        median(script),
        saved,
        prediction,
        median(plain) - prediction.middle,
        raw["items"],
        raw["calls"],
        found,
    )


def as_json(found: Measured) -> dict:
    return {
        "sequence": sequence(found.candidate),
        "library": found.name,
        "cost_model": found.costs.title(),
        "items": found.items,
        "calls_per_iteration": found.calls,
        "plain_ns": found.plain,
        "script_ns": found.script,
        "predicted_script_ns": found.predicted_script,
        "saved_ns": asdict(found.saved),
        "predicted_saved_ns": asdict(found.predicted),
        "predicts": found.predicts(),
        "prediction_error": found.error(),
    }


def show(found: Measured) -> None:
    what = f"{found.calls:g} calls an iteration, {found.items} in a batch"
    print(f"{sequence(found.candidate)}: {what}")
    print(f"{'ns for an iteration':<22}{'measured':>12}{'predicted':>12}")
    print(f"{'plain calls':<22}{found.plain:>12.0f}")
    name = f"{found.name}.lua" if found.name else "script"
    print(f"{name:<22}{found.script:>12.0f}{found.predicted_script:>12.0f}")
    saved, predicted_ = found.saved, found.predicted
    print(f"{'saved':<22}{saved.middle:>12.0f}{predicted_.middle:>12.0f}")
    print(f"  measured range {saved.low:.0f}..{saved.high:.0f}", end="")
    print(f", predicted range {predicted_.low:.0f}..{predicted_.high:.0f}")
    if found.predicts() == "unknown":
        print("The prediction cannot tell whether the script saves or costs: it may be either.")
    print(found.costs.title())
    if found.costs.accel == "tcg":
        print(model.EMULATED)
