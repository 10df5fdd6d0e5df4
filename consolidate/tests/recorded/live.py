# SPDX-License-Identifier: GPL-2.0
"""Runs scripts derived from one recording in the program's place, with real calls, on other files.

The calls of another recording are replayed one by one; then again on the same files, with a script
for each sequence that it covers, and the program's calls from where it stops. Both runs must agree:
each call's result and output memory, the files, and the descriptors.

`live.py ONE OTHER HOME SAVED [OWN]` prints the result as JSON. SAVED has the files as the program
found them, HOME the ones to run on, OWN the files that the program left.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "bindings" / "python"), str(Path(__file__).parent)]
os.environ["SYSCRIPT_LIBRARY"] = str(ROOT / "build" / "libsyscript.so")

import crossed  # noqa: E402
import syscript  # noqa: E402
from machine import (  # noqa: E402
    LISTING,
    ROOM,
    Machine,
    Made,
    NotMade,
    address_of_data,
    in_order,
    libc,
    opens,
    tables,
)
from programs import NOBODY  # noqa: E402

from consolidate.emit import write  # noqa: E402
from consolidate.emit.plan import Param, Record, Result  # noqa: E402
from consolidate.emit.verify import Example, TracedCall, passes, traced_calls  # noqa: E402
from consolidate.emit.write import Written  # noqa: E402
from consolidate.mine import dataflow_infer, encoded_trace  # noqa: E402
from consolidate.mine.candidate import sequence  # noqa: E402
from consolidate.mine.constants import Origin  # noqa: E402
from consolidate.mine.dataflow import LISTERS, Kind  # noqa: E402
from consolidate.mine.match import Instance  # noqa: E402
from consolidate.report import report  # noqa: E402
from consolidate.trace import reader, values  # noqa: E402
from consolidate.trace.call import Call  # noqa: E402
from consolidate.trace.reader import Trace  # noqa: E402

PR_SET_DUMPABLE = 4
# Items per call of a script.
ITEMS = 3
POKE = re.compile(r'util\.poke\((.*), "i8", (-?[\d +]+)\)')
CHANGING = ("/proc/", "/sys/", "/dev/urandom")  # reading these twice gives different results
OLD = 3600  # seconds: a time that was set, and did not just pass


class Live(Example):
    """A script's items in memory, and the program's call that each result belongs to."""

    def __init__(self, script: Written, instances: list[Instance], machine: Machine, tid: int):
        super().__init__(script.plan, instances)
        self.machine, self.process = machine, machine.enter(tid)
        self.records: dict[tuple, int] = {}
        self.items = machine.memory.room(max(8, self.plan.item.size * len(instances)))
        self.common = machine.memory.room(max(8, self.plan.common.size))
        for i in range(len(instances)):
            self.poke(self.record(self.plan.item, f"{self.items + i * self.plan.item.size}", i, {}))
        self.poke(self.record(self.plan.common, str(self.common), 0, {}))

    # -- what the program passes -----------------------------------------------------

    def poke(self, lines: list[str]) -> None:
        for line in lines:
            at, value = POKE.fullmatch(line).groups()
            ctypes.c_int64.from_address(total(at)).value = total(value)

    def record(self, record: Record, at: str, item: int, turns: dict[int, int]) -> list[str]:
        self.records[id(record), item, tuple(sorted(turns.items()))] = total(at)
        return super().record(record, at, item, turns)

    def address(self, expression: str) -> str:
        size = int(re.fullmatch(r"util\.buffer\((\d+)\)", expression)[1])
        return str(self.machine.memory.room(size))

    def new_value(self, param: Param, traced: TracedCall | None, arg: int) -> str:
        if traced is None or arg >= len(traced.args):
            return "0" if param.letter in "fi" else str(self.machine.memory.room())
        value = traced.args[arg]
        if param.letter == "f":
            return str(self.machine.descriptor(self.process, value))
        if param.letter == "i" or param.constant:
            return str(self.machine.number(value))
        if param.fills:
            return str(self.machine.memory.room())
        return str(self.machine.pointer(traced.call.name, arg, traced.args))

    def room(self, node, inside: list[TracedCall]) -> int:
        listing = node.gathers == "stream" and self.plan.steps[node.first].name in LISTERS
        return LISTING if listing else ROOM if node.gathers == "stream" else 4096

    # -- what came of it ----------------------------------------------------------------

    def peek(self, record: Record, of: Param | Result, item: int, turns: dict[int, int]) -> int:
        at = self.records[id(record), item, tuple(sorted(turns.items()))]
        return ctypes.c_int64.from_address(at + 8 * record.place(of)).value

    def holder(self, of: Param | Result) -> Record:
        fields = lambda record: [*record.params, *record.results]  # noqa: E731
        return next(record for record in self.plan.records() if of in fields(record))

    def result(self, traced: TracedCall) -> int | None:
        """A call's result as reported by the script; None if it does not report each."""
        step = self.step_of(traced)
        field_ = self.plan.by_step.get(step)
        if (
            field_ is None
            or step in self.loops
            or any(f in self.loops for f in self.around(traced))
        ):
            return None
        return self.peek(self.plan.item, field_, traced.item, {})

    def around(self, traced: TracedCall) -> Iterator[int]:
        return (first for first in traced.turns if first != traced.number)

    def argument_at(self, traced: TracedCall, arg: int) -> int | None:
        """The address that the script passed to a call, if no other call got one."""
        step = self.step_of(traced)
        if step in self.loops or any(f in self.loops for f in self.around(traced)):
            return None
        source = self.plan.steps[step].args[arg]
        while source.kind is Kind.SHARED:
            step, arg = self.plan.target(source.step), source.arg
            source = self.plan.steps[step].args[arg]
        param = self.plan.by_arg.get((step, arg))
        if param is None or sum(p is param for p in self.plan.by_arg.values()) > 1:
            return None
        record = self.holder(param)
        item = traced.item if record is self.plan.item else 0
        return self.peek(record, param, item, {})


def total(text: str) -> int:
    return sum(map(int, text.split(" + ")))


@dataclass(slots=True)
class Place:
    """A position in the program at which a script is called."""

    script: Written
    instance: Instance
    calls: list[tuple[int, int]]  # thread, index


@dataclass(slots=True)
class Lived:
    """Counts of the scripts' calls, and their outcomes."""

    scripts: int = 0  # that were called
    called: int = 0
    items: int = 0
    whole: int = 0  # items
    stopped: int = 0
    calls: int = 0  # that scripts made
    outcomes: set[str] = field(default_factory=set)  # errno of the calls that they stopped at
    left_out: int = 0  # items with calls that are not made here
    made: int = 0  # calls that were made, of the whole recording
    as_recorded: int = 0  # calls with the same result as the program's own
    kernel: bool = False  # scripts run in the kernel
    sequences: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    not_as_the_program: list[str] = field(default_factory=list)  # what it left


class Living:
    """Replays a recording, with scripts at some places."""

    def __init__(self, trace: Trace, machine: Machine, plain: dict | None, lived: Lived) -> None:
        self.trace, self.plain, self.lived = trace, plain, lived
        self.machine = machine
        self.made: dict[tuple[int, int], Made] = {}
        self.scripts: dict[int, syscript.Script] = {}

    def run(self, places: list[Place]) -> None:
        begins = {place.calls[0]: i for i, place in enumerate(places)}
        for thread, i in in_order(self.trace):
            at = (thread.tid, i)
            if at in begins and at not in self.made:
                self.in_place(places, begins[at])
            if at not in self.made:
                self.made[at] = self.machine.make(thread.tid, thread.calls[i])

    # -- scripts ---------------------------------------------------------------------

    def ready(self, place: Place) -> bool:
        """Whether everything can be replayed here: the call-by-call run skipped nothing of it."""
        return all(self.plain[at].ret is not None for at in place.calls)

    def together(self, places: list[Place], first: int) -> list[Place]:
        """Consecutive iterations, if one call of the script handles several."""
        found = [places[first]]
        for place in places[first + 1 : first + ITEMS]:
            follows = found[-1].instance.end == place.instance.begin
            if not follows or place.script is not found[0].script or not self.ready(place):
                break
            batched = found[0].script.plan.candidate.batched and passed(found[-1])
            if not batched or not same_common(found[0], place):
                break
            found.append(place)
        return found

    def in_place(self, places: list[Place], first: int) -> None:
        if not self.ready(places[first]):
            self.lived.left_out += 1
            return
        for some in (self.together(places, first), [places[first]]):
            try:
                live = Live(some[0].script, [p.instance for p in some], self.machine, tid_of(some))
            except NotMade:
                continue
            self.call(some, live)
            return

    def call(self, some: list[Place], live: Live) -> None:
        script = some[0].script
        key = id(script)
        if key not in self.scripts:
            self.scripts[key] = syscript.Script(script.lua)
            self.lived.sequences.append(sequence(script.plan.candidate))
        common = [live.common] if script.plan.common.params else []
        end = self.scripts[key].call(live.items, len(some), *common)
        self.lived.called += 1
        for item, place in enumerate(some[: end[0] + 1]):
            stopped = end[1:] if item == end[0] else None
            self.lived.items += 1
            self.lived.whole += stopped is None
            self.lived.stopped += stopped is not None
            self.took(live, item, place, stopped)

    def took(self, live: Live, item: int, place: Place, stopped: tuple[int, ...] | None) -> None:
        """Updates the program's state with the script's results for an item."""
        traced = [one for one in live.traced if one.item == item]
        done = traced if stopped is None else self.up_to(live, traced, place, *stopped)
        self.lived.calls += len(done)
        process = self.machine.enter(tid_of([place]))
        unseen = set()
        for one, at in reversed(list(zip(done, place.calls, strict=False))):
            ret = live.result(one)
            plain = self.plain[at]
            data = None
            if ret is not None:
                data = self.data(live, one, ret, unseen)
            self.made[at] = Made(one.call, plain.ret if ret is None else ret, data)
        for one, at in zip(done, place.calls, strict=False):
            self.note(live, process, one, self.made[at], live.result(one) is not None)

    def up_to(self, live: Live, traced, place: Place, step: int, result: int) -> list[TracedCall]:
        """The calls up to the one that a script stopped at."""
        for i, (one, at) in enumerate(zip(traced, place.calls, strict=True)):
            plain = self.plain[at].ret
            if live.step_of(one) + 1 == step:
                same = plain == result or (opens(one.call) and result >= 0 and plain >= 0)
                if same:
                    self.lived.outcomes.add(os_name(result))
                    return traced[: i + 1]
        self.lived.wrong.append(
            f"{sequence(place.script.plan.candidate)}: stopped at step {step}, {result}, where"
            f" the program has {[str(self.plain[at]) for at in place.calls]}"
        )
        return traced

    def data(self, live: Live, one: TracedCall, ret: int, seen: set[int]) -> bytes | None:
        args = [arg for arg in range(len(live.sources(one)))]
        arg = address_of_data(one.call.name, args)
        at = live.argument_at(one, arg) if arg is not None else None
        if at is None or at in seen:
            return None
        seen.add(at)
        return self.machine.written(one.call.name, at, ret)

    def note(self, live: Live, process, one: TracedCall, made: Made, known: bool) -> None:
        """Records descriptors that the script opened and closed."""
        call = one.call
        if opens(call) and call.ret is not None and call.ret >= 0 and made.ret >= 0:
            if known:
                process.files[call.ret] = made.ret
            else:
                process.files.pop(call.ret, None)
        elif call.name == "close" and made.ret == 0:
            process.files.pop(one.args[0].number, None)


def same_common(a: Place, b: Place) -> bool:
    """Whether the arguments shared by a script's items are equal in both."""

    def given(place: Place) -> list[list[str]]:
        traced = list(traced_calls(place.script.plan, place.instance, 0))
        return [
            [values.of_call(m.call.name, m.call.args)[arg].text for m in traced if m.number == step]
            for param in place.script.plan.common.params
            for step, arg in param.steps
        ]

    return given(a) == given(b)


def os_name(result: int) -> str:
    return errno.errorcode.get(-result, "other") if result < 0 else "ok"


def tid_of(some: list[Place]) -> int:
    return some[0].calls[0][0]


def passed(place: Place) -> bool:
    return place.instance.whole or passes(place.script.plan, place.instance)


# -- Files ---------------------------------------------------------------------------


def files(top: Path) -> list[tuple]:
    """All files below a directory, except for recent times and inode numbers."""
    found = []
    now = time.time()
    for path in [top, *sorted(top.rglob("*"))]:
        st = path.lstat()
        text = b""
        if stat.S_ISLNK(st.st_mode):
            text = bytes(path.readlink())
        elif stat.S_ISREG(st.st_mode):
            text = content(path, st.st_mode)
        elif stat.S_ISDIR(st.st_mode) and not os.access(path, os.R_OK | os.X_OK):
            text = b"closed"
        old = st.st_mtime_ns if st.st_mtime < now - OLD else 0
        links = 0 if stat.S_ISDIR(st.st_mode) else st.st_nlink
        size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
        attributes = sorted(os.listxattr(path, follow_symlinks=False))
        of = hashlib.sha256(text).hexdigest()[:16]
        name = str(path.relative_to(top))
        found.append((name, st.st_mode, st.st_uid, st.st_gid, size, links, of, old, attributes))
    return found


def content(path: Path, mode: int) -> bytes:
    """Contents, including unreadable files: this user owns them."""
    if os.access(path, os.R_OK):
        return path.read_bytes()
    path.chmod(0o600)
    text = path.read_bytes()
    path.chmod(stat.S_IMODE(mode))
    return text


def exchange(home: Path, saved: Path) -> None:
    """Puts the original files in place; the used ones move to SAVED."""
    between = home.with_suffix(".between")
    home.rename(between)
    saved.rename(home)
    between.rename(saved)
    os.chdir(home)


# -- Both ----------------------------------------------------------------------------


def places(scripts: list[Written], trace, other: encoded_trace.Tape) -> list[Place]:
    """Positions at which a script can replace calls, in order, without duplicates."""
    whole = encoded_trace.cut(trace)
    where = {
        (whole.thread(at).tid, index): at for at, index in enumerate(whole.indices) if index >= 0
    }
    owners = zip(other.owners, other.indices, strict=True)
    wanted = {where[other.threads[owner].tid, index] for owner, index in owners if index >= 0}
    taken: set[tuple[int, int]] = set()
    found = []
    for script in scripts:
        for one in crossed.instances(script.plan.candidate, other):
            if not crossed.usable(script.plan.candidate, one):
                continue
            one = gone_on(script, moved(one, whole, where), wanted)
            calls = [(whole.thread(at).tid, whole.indices[at]) for at in parts_of(one)]
            if not is_of_itself(one) or taken & set(calls):
                continue
            taken |= set(calls)
            found.append(Place(script, one, calls))
    return sorted(found, key=lambda place: place.instance.begin)


def moved(one: Instance, whole: encoded_trace.Tape, where: dict[tuple[int, int], int]) -> Instance:
    """The same instance on a tape from which no calls were removed for other advice."""

    def at(place: int) -> int:
        return where[one.tape.thread(place).tid, one.tape.indices[place]]

    parts = [
        [moved(what, whole, where) if isinstance(what, Instance) else at(what) for what in part]
        for part in one.parts
    ]
    begin, end = at(one.begin), at(one.end - 1) + 1
    return Instance(begin, end, one.whole, whole, parts, one.left_at, one.foreign)


def gone_on(script: Written, one: Instance, wanted: set[int]) -> Instance:
    """Extended by the program's following calls, if a loop of the script covers them.

    In the script's recording each file took one read, say, and here it takes more.
    @wanted: places of calls that no other advice covers.
    """
    plan = script.plan
    if one.left_at is None or any(
        isinstance(what, Instance) for part in one.parts for what in part
    ):
        return one
    step = next(i for i, step in enumerate(plan.steps) if step.path == (one.left_at,))
    names = [(step.name, step.outcome) for step in plan.steps]
    if step not in plan.alias:
        return one
    parts = [list(part) for part in one.parts[: step - 1]]
    loop, at = [], one.parts[step - 1][0]
    while one.tape.text[at] != encoded_trace.END and kind(one.tape.call(at)) == names[step - 1]:
        loop.append(at)
        at += 1
    parts.append(loop)
    for name in names[step:]:
        while one.tape.text[at] != encoded_trace.END and at not in wanted:
            at += 1
        if one.tape.text[at] == encoded_trace.END or kind(one.tape.call(at)) != name:
            return one
        parts.append([at])
        at += 1
    return Instance(one.begin, at, True, one.tape, parts)


def is_of_itself(one: Instance) -> bool:
    """Whether no call between an iteration's calls uses its descriptors."""
    own = parts_of(one)
    fds = {values.head(one.tape.call(at).args)[0] for at in own} - {None}
    others = set(range(one.begin, one.end)) - set(own)
    return not any(values.head(one.tape.call(at).args)[0] in fds for at in others)


def kind(call: Call) -> tuple[str, str]:
    return call.name, encoded_trace.outcome(call)


def parts_of(one: Instance) -> list[int]:
    found = []
    for part in one.parts:
        for what in part:
            found += parts_of(what) if isinstance(what, Instance) else [what]
    return found


def scripts_of(one: Path) -> list[Written]:
    made, _ = report.make([one], None, 20, encoded_trace.GAP)
    return [write.script(candidate, one.name) for candidate in made.candidates]


def recorded(made: Made) -> bool:
    """Whether a call had the same result as the program's own."""
    call: Call = made.call
    if call.error is not None:
        return os_name(made.ret) == call.error
    return made.ret >= 0 and (opens(call) or made.ret == call.ret or call.name in LISTERS)


def become_ordinary() -> None:
    """Drop root, which may read everything; keep the group that may call scripts in the kernel."""
    if os.geteuid() == 0:
        device = Path("/dev/syscript-luajit")
        os.setgroups([device.stat().st_gid] if device.exists() else [])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        libc.prctl(PR_SET_DUMPABLE, 1)  # makes this user the owner of /proc/self


def live(one: Path, other: Path, home: Path, saved: Path, own: Path | None = None) -> Lived:
    lived = Lived()
    trace, on = reader.read([other]), crossed.tape_of(other)
    scripts, known = scripts_of(one), tables(trace)
    become_ordinary()
    os.chdir(home)
    plain = Living(trace, Machine(known, str(home)), None, lived)
    plain.run([])
    made = {at: one for at, one in plain.made.items() if one.ret is not None}
    lived.made = len(made)
    lived.as_recorded = sum(map(recorded, made.values()))
    before, open_before = files(home), plain.machine.files()
    plain.machine.close()
    exchange(home, saved)
    scripted = Living(trace, Machine(known, str(home)), plain.made, lived)
    scripted.run(places(scripts, trace, on))
    lived.scripts = len(scripted.scripts)
    after, open_after = files(home), scripted.machine.files()
    lived.wrong += differences(plain, scripted)
    lived.wrong += [f"file {a} is {b}" for a, b in zip_longest(before, after) if a != b]
    lived.wrong += [
        f"descriptor {a} is {b}" for a, b in zip_longest(open_before, open_after) if a != b
    ]
    lived.kernel = any(s.backend == "kernel" for s in scripted.scripts.values())
    if own is not None:
        lived.not_as_the_program = [
            f"{a} is {b}" for a, b in zip_longest(files(own), after) if a != b
        ]
    return lived


def differences(plain: Living, scripted: Living) -> Iterator[str]:
    for at, made in plain.made.items():
        other = scripted.made[at]
        if not made.same(other) and not any(path in made.call.args for path in CHANGING):
            yield f"{made}, by scripts {other.ret}" + (
                "" if made.ret != other.ret else ": other data"
            )


def main() -> int:
    if os.environ.get("FROZEN"):  # a planted fault: unchanging values are constants
        dataflow_infer.origin = lambda *_: Origin.CODE
    lived = live(*map(Path, sys.argv[1:]))
    print(json.dumps({name: shown(getattr(lived, name)) for name in lived.__slots__}))
    return 0


def shown(value: object) -> object:
    return sorted(value) if isinstance(value, set) else value


if __name__ == "__main__":
    sys.exit(main())
