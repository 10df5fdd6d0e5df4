# SPDX-License-Identifier: GPL-2.0
"""A model checker for the protocol of engine/luajit/kernel/clock.h: all interleavings of its steps.

The model has two CPUs, of which one goes offline and comes back, two tasks that move between them,
and two runs, which tasks call, hand to each other and destroy. Each access to shared state is a
step; a tick interrupts its CPU between any two steps, while other CPUs continue. A clock stops at
the first opportunity, not after several periods: a property that holds then holds after any number
of periods.

explore() visits every reachable state, and finds a shortest path to one in which script code runs
unwatched: on the engine's stack, where no tick will find it. States that differ only in the names
of tasks or runs count as one, so the names may be exchanged in the middle of a path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

CPUS = RUNS = 2
TASKS = 2


@dataclass(frozen=True)
class Protocol:
    """The rules of today's protocol; tests remove one at a time."""

    # Ticks stop a clock only if nothing may be on its way to script code.
    spares_entries: bool = True
    # A CPU that comes back finds its clock off, and ticks of other CPUs do nothing to it.
    resets: bool = True
    # The run announces that it enters before it asks, not after.
    says_first: bool = True
    # Gates ask again when their call returns.
    gates_ask: bool = True
    # When a run moves, changes hands or is destroyed, the clock where it was forgets it.
    forgets: bool = True
    # Ticks stop clocks on idle CPUs, which may not be preempted.
    knows_idle: bool = True


TODAY = Protocol()
# The old protocol: a run not on the engine's stack counted as gone.
OLD = Protocol(spares_entries=False, resets=False)


class Clock(NamedTuple):
    run: int | None = None
    task: int | None = None
    stack: int | None = None
    armed: bool = False
    # The CPU whose queue it is in, or FIRING.
    timer: int | None = None


FIRING = -1


class Task(NamedTuple):
    at: str = "user"
    run: int | None = None
    cpu: int | None = None
    # Preemption is off.
    said: bool = False
    # Has been off its CPU since a gate left script code.
    slept: bool = False


class Run(NamedTuple):
    task: int | None = None
    cpu: int | None = None
    busy: bool = False


class State(NamedTuple):
    clocks: tuple[Clock, ...] = (Clock(),) * CPUS
    tasks: tuple[Task, ...] = (Task(),) * TASKS
    runs: tuple[Run, ...] = (Run(),) * RUNS
    # The tick under way on each CPU: whose clock, and its next step.
    ticks: tuple[tuple[int, str] | None, ...] = (None,) * CPUS
    # CPU 1: online, dead (timers moved), reset.
    hotplug: str = "online"


# On the engine's stack, or in a gate that announced its return. A run that leaves and returns
# unannounced counts as gone, wherever it is.
ON_STACK = {"script", "gate asks"}

Next = tuple[str, State]


def put(items: tuple, index: int, **fields: object) -> tuple:
    return (*items[:index], items[index]._replace(**fields), *items[index + 1 :])


def forgotten(clocks: tuple[Clock, ...], run: int, cpu: int | None) -> tuple[Clock, ...]:
    if cpu is None or clocks[cpu].run != run:
        return clocks
    return put(clocks, cpu, run=None)


def current(state: State, cpu: int) -> int | None:
    for number, task in enumerate(state.tasks):
        if task.cpu == cpu:
            return number
    return None


def is_online(state: State, cpu: int) -> bool:
    return cpu == 0 or state.hotplug == "online"


# -- Tasks -------------------------------------------------------------------------

# The steps of clock_watch(), in order. Writes while ->run is NULL are invisible to others, so they
# are one step.
WATCH = ["forget", "null", "run", "armed"]


def watch(protocol: Protocol, state: State, number: int) -> State:
    """The steps of clock_watch(), one at a time."""
    clocks, runs, task = state.clocks, state.runs, state.tasks[number]
    cpu, run = task.cpu, task.run
    assert cpu is not None and run is not None
    if task.at == WATCH[-1]:
        then = "window" if protocol.says_first else "say"
        runs = put(runs, run, cpu=cpu)
    else:
        then = WATCH[WATCH.index(task.at) + 1]
    if task.at == "forget":
        last = state.runs[run].cpu
        if protocol.forgets and last != cpu:
            clocks = forgotten(clocks, run, last)
    elif task.at == "null":
        clocks = put(clocks, cpu, run=None, task=number, stack=run)
    elif task.at == "run":
        clocks = put(clocks, cpu, run=run)
    elif not clocks[cpu].armed:
        # Starts the timer, wherever it was queued before.
        clocks = put(clocks, cpu, armed=True, timer=cpu)
    return state._replace(clocks=clocks, runs=runs, tasks=put(state.tasks, number, at=then))


def begins(protocol: Protocol, state: State, number: int) -> Iterator[Next]:
    """Calls an idle run, or the other task's, or destroys one."""
    first = "say" if protocol.says_first else "ask"
    for new, run in enumerate(state.runs):
        if run.busy:
            continue
        clocks = state.clocks
        if protocol.forgets and run.task != number:
            clocks = forgotten(clocks, new, run.cpu)
        taken = put(state.runs, new, task=number, busy=True)
        tasks = put(state.tasks, number, at=first, run=new)
        yield f"calls run {new}", state._replace(clocks=clocks, runs=taken, tasks=tasks)
        if run.task is not None:
            if protocol.forgets:
                clocks = forgotten(state.clocks, new, run.cpu)
            freed = (*state.runs[:new], Run(), *state.runs[new + 1 :])
            yield f"destroys run {new}", state._replace(clocks=clocks, runs=freed)


def asks(protocol: Protocol, state: State, number: int) -> str:
    """Where it goes on."""
    task = state.tasks[number]
    assert task.cpu is not None
    sees = state.clocks[task.cpu].run == task.run
    if task.at == "gate asks":
        return "script" if not task.slept and (sees or not protocol.gates_ask) else "home"
    if not sees:
        return "forget"
    return "window" if protocol.says_first else "say"


def steps_of_task(protocol: Protocol, state: State, number: int) -> Iterator[Next]:
    task = state.tasks[number]

    def goes(to: str, **fields: object) -> State:
        return state._replace(tasks=put(state.tasks, number, at=to, **fields))

    if task.at == "user":
        yield from begins(protocol, state, number)
    elif task.at == "say":
        yield "says", goes("ask" if protocol.says_first else "window", said=True)
    elif task.at in ("ask", "gate asks"):
        yield "asks", goes(asks(protocol, state, number))
    elif task.at in WATCH:
        yield f"watches: {task.at}", watch(protocol, state, number)
    elif task.at == "window":
        yield "enters", goes("script")
    elif task.at == "script":
        assert task.run is not None
        yield "leaves", goes("home")
        yield "leaves by a gate", goes("gate", said=False, slept=False)
        freed = put(state.runs, task.run, busy=False)
        yield "ends", goes("user", said=False, run=None)._replace(runs=freed)
    elif task.at == "home":
        yield "is out", goes("say" if protocol.says_first else "ask", said=False)
    elif task.at == "gate":
        yield "says", goes("gate asks", said=True)


def schedules(state: State, number: int) -> Iterator[Next]:
    task = state.tasks[number]
    if task.cpu is None:
        for cpu in range(CPUS):
            if is_online(state, cpu) and current(state, cpu) is None:
                moved = put(state.tasks, number, cpu=cpu)
                yield f"comes to CPU {cpu}", state._replace(tasks=moved)
    elif not task.said:
        off = put(state.tasks, number, cpu=None, slept=True)
        yield "is preempted", state._replace(tasks=off)


# -- Ticks and CPUs ------------------------------------------------------------------


def is_found(state: State, cpu: int) -> bool:
    """interrupted() of engine/luajit/kernel/clock.c."""
    clock, number = state.clocks[cpu], current(state, cpu)
    if number is None or clock.task != number or clock.run is None:
        return False
    task = state.tasks[number]
    return task.said and task.at in ON_STACK and clock.stack == task.run


def may_enter(protocol: Protocol, state: State, cpu: int) -> bool:
    """run_may_enter() of core/kernel/run_priv.h."""
    number = current(state, cpu)
    if number is None:
        return not protocol.knows_idle
    return state.tasks[number].said


def end_tick(state: State, cpu: int, timer: int | None) -> State:
    tick = state.ticks[cpu]
    assert tick
    ticks = (*state.ticks[:cpu], None, *state.ticks[cpu + 1 :])
    return state._replace(clocks=put(state.clocks, tick[0], timer=timer), ticks=ticks)


def step_of_tick(protocol: Protocol, state: State, cpu: int) -> Next:
    tick = state.ticks[cpu]
    assert tick
    whose, at = tick

    def goes(to: str, **fields: object) -> State:
        ticks = (*state.ticks[:cpu], (whose, to), *state.ticks[cpu + 1 :])
        return state._replace(clocks=put(state.clocks, whose, **fields), ticks=ticks)

    if at == "looks":
        if whose != cpu:
            if protocol.resets:
                return "is another CPU's", end_tick(state, cpu, None)
            return "is another CPU's", goes("off")
        if is_found(state, cpu):
            return "finds it", end_tick(state, cpu, cpu)
        if protocol.spares_entries and may_enter(protocol, state, cpu):
            return "goes on", end_tick(state, cpu, cpu)
        return "goes off", goes("off")
    if at == "off":
        return "armed = false", goes("null", armed=False)
    off = put(state.clocks, whose, run=None)
    # If another context has started it meanwhile, it stays queued.
    timer = state.clocks[whose].timer
    return "run = NULL", end_tick(
        state._replace(clocks=off), cpu, None if timer == FIRING else timer
    )


def ticks(state: State, cpu: int) -> Iterator[Next]:
    for whose, clock in enumerate(state.clocks):
        if clock.timer == cpu and is_online(state, cpu):
            begun = (*state.ticks[:cpu], (whose, "looks"), *state.ticks[cpu + 1 :])
            yield (
                f"tick of clock {whose}",
                state._replace(clocks=put(state.clocks, whose, timer=FIRING), ticks=begun),
            )


def hotplugs(protocol: Protocol, state: State) -> Iterator[Next]:
    clock = state.clocks[1]
    if state.hotplug == "online":
        if current(state, 1) is None and state.ticks[1] is None:
            timer = 0 if clock.timer == 1 else clock.timer
            moved = put(state.clocks, 1, timer=timer)
            yield "CPU 1 goes offline", state._replace(clocks=moved, hotplug="dead")
    elif state.hotplug == "dead" and protocol.resets:
        # hrtimer_cancel() waits for a tick that has begun.
        if clock.timer != FIRING:
            off = put(state.clocks, 1, run=None, armed=False, timer=None)
            yield "clock 1 is reset", state._replace(clocks=off, hotplug="reset")
    else:
        yield "CPU 1 comes back", state._replace(hotplug="online")


def steps(protocol: Protocol, state: State) -> Iterator[Next]:
    for number, task in enumerate(state.tasks):
        # A tick interrupts the current task of its CPU.
        if task.cpu is not None and state.ticks[task.cpu]:
            continue
        for what, then in schedules(state, number):
            yield f"task {number} {what}", then
        if task.cpu is not None:
            for what, then in steps_of_task(protocol, state, number):
                yield f"task {number} {what}", then
    for cpu in range(CPUS):
        if state.ticks[cpu]:
            what, then = step_of_tick(protocol, state, cpu)
            yield f"CPU {cpu}: tick {what}", then
        else:
            for what, then in ticks(state, cpu):
                yield f"CPU {cpu}: {what}", then
    yield from hotplugs(protocol, state)


# -- States that are the same ---------------------------------------------------------


def exchanged(state: State, tasks: bool, runs: bool) -> State:
    """The state with the names of the two tasks, or runs, exchanged."""

    def task_of(number: int | None) -> int | None:
        return number if number is None or not tasks else 1 - number

    def run_of(number: int | None) -> int | None:
        return number if number is None or not runs else 1 - number

    clocks = tuple(
        Clock(run_of(c.run), task_of(c.task), run_of(c.stack), c.armed, c.timer)
        for c in state.clocks
    )
    new_tasks = [task._replace(run=run_of(task.run)) for task in state.tasks]
    new_runs = [run._replace(task=task_of(run.task)) for run in state.runs]
    return state._replace(
        clocks=clocks,
        tasks=tuple(reversed(new_tasks)) if tasks else tuple(new_tasks),
        runs=tuple(reversed(new_runs)) if runs else tuple(new_runs),
    )


def key(state: State) -> tuple:
    """A sort key for states with any contents."""
    return tuple(
        tuple((field is not None, field) for field in item)
        for item in (*state.clocks, *state.tasks, *state.runs)
    )


def normal(state: State) -> State:
    """A representative of all states that are equivalent."""
    clocks = tuple(
        clock
        if clock.run is not None or any(t.cpu == cpu and t.at in WATCH for t in state.tasks)
        else clock._replace(task=None, stack=None)
        for cpu, clock in enumerate(state.clocks)
    )
    tasks = tuple(
        task if task.at.startswith("gate") else task._replace(slept=False) for task in state.tasks
    )
    state = state._replace(clocks=clocks, tasks=tasks)
    same = [state]
    same += [exchanged(state, *which) for which in ((True, False), (False, True), (True, True))]
    return min(same, key=key)


# -- What has to hold ----------------------------------------------------------------


def is_unwatched(state: State) -> bool:
    """Is a run in script code that no tick will find?"""
    for task in state.tasks:
        if task.at != "script" or task.cpu is None:
            continue
        clock = state.clocks[task.cpu]
        queued = clock.timer == task.cpu or state.ticks[task.cpu] == (task.cpu, "looks")
        if not queued or not is_found(state, task.cpu):
            return True
    return False


def never_goes_off(protocol: Protocol, state: State) -> bool:
    """Whether a clock ticks for ever although no task is on a CPU."""
    if any(task.cpu is not None for task in state.tasks) or any(state.ticks):
        return False
    for cpu in range(CPUS):
        if state.clocks[cpu].timer == cpu and is_online(state, cpu):
            (_, then) = next(ticks(state, cpu))
            while then.ticks[cpu]:
                _, then = step_of_tick(protocol, then, cpu)
            if then.clocks[cpu].timer is not None:
                return True
    return False


def is_wrong(protocol: Protocol, state: State) -> str:
    if is_unwatched(state):
        return "script code is not watched"
    return "a clock never goes off" if never_goes_off(protocol, state) else ""


class Found(NamedTuple):
    states: int
    # The fault and the steps to it; "" if there is none.
    wrong: str
    way: list[str]


def way_to(state: State, parents: dict[State, tuple[str, State] | None]) -> list[str]:
    way = []
    while (parent := parents[state]) is not None:
        way.append(parent[0])
        state = parent[1]
    return way[::-1]


def explore(protocol: Protocol, most: int | None = None) -> Found:
    """All reachable states, or those nearest to the beginning."""
    begin = State()
    parents: dict[State, tuple[str, State] | None] = {begin: None}
    queue = deque([begin])
    while queue and (most is None or len(parents) < most):
        state = queue.popleft()
        wrong = is_wrong(protocol, state)
        if wrong:
            return Found(len(parents), wrong, way_to(state, parents))
        for what, then in steps(protocol, state):
            then = normal(then)
            if then not in parents:
                parents[then] = (what, state)
                queue.append(then)
    return Found(len(parents), "", [])
