# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The parts of bench/everyone.py, run in the guest by root, who switches to the user.

For each of its keys, a part returns a figure per round: thousands of instructions, or a ratio.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path

import frames
import ordinary_user
import results
import walks
from ordinary_user import AS_USER, USER

Samples = dict[str, list[float]]

PROGRAMS = ("du", "find", "ls_l", "chmod")
# Trees of this many files in directories of this many: just fewer than the patch's threshold, and
# just more.
SMALL = {
    f"{command[0]}_{files}_by_{each}": (command, files, each)
    for command, trees in (
        (["du", "-s"], ((5, 5), (600, 600), (1000, 1000), (3000, 20), (7000, 20))),
        (["ls", "-lR"], ((5, 5), (600, 600), (1600, 20))),
    )
    for files, each in trees
}
# The guest sees this machine's files through a network file system, whose server replies sooner or
# later: opening a program and its libraries there takes more instructions at times, in a short
# process many percent of all. So programs run with copies of them as their root.
ALONE = Path("/tmp/alone")
PLACE = Path("/dev/shm/everyone")
TREES = Path("/dev/shm/trees")
COPIED = ("walks/plain", "walks/ahead", "libsyscript.so.0", "syscript", "bench/scanner")
# Of the kernel, and files that ls reads where they are.
SEEN = ("/dev", "/dev/shm", "/proc", "/sys", "/run")
READ = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")
SCRIPT = "scripts/recv_batch.lua"
CONTROL_GROUPS = Path("/sys/fs/cgroup")
MEMORY = CONTROL_GROUPS / "command" / "memory.current"
STEPS = 20


# -- Whole processes -----------------------------------------------------------------------


def copy_programs() -> None:
    PLACE.mkdir()
    for name in COPIED:
        source, target = results.ROOT / "build" / name, PLACE / Path(name).name
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy(source, target)
    shutil.copy(results.ROOT / "scripts/hello.lua", PLACE)
    for name in {*filter(os.path.exists, READ), *libraries()}:
        target = ALONE / name[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)
    for name in SEEN:
        target = ALONE / name[1:]
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", name, target], check=True)


def libraries() -> set[str]:
    """Of the programs, and what loads them."""
    programs = [path for path in PLACE.rglob("*") if path.is_file()]
    done = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    return set(re.findall(r"(/\S+) \(0x", done.stdout))


def run_alone(command: list[str], where: Path) -> float:
    """The command's cost, in thousands of instructions. The caller's root and user change."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(PLACE), "LC_ALL": "C"}
    os.chroot(ALONE)
    os.chdir(where)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    begin = walks.cpu_time()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return (walks.cpu_time() - begin) * 1e6


def whole(command: list[str], where: Path = TREES) -> float:
    """A process from exec() to exit(), in thousands of instructions."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(write, json.dumps(run_alone(command, where)).encode())
        except (OSError, subprocess.SubprocessError):
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        cost = result.read()
    os.waitpid(pid, 0)
    if not cost:
        raise subprocess.SubprocessError(f"{command[0]} failed")
    return json.loads(cost)


def compared(ways: list[list[str]], rounds: int) -> list[float]:
    """Ratio of the second command to the first; the first round, with cold caches, is excluded."""
    rows = [[whole(way) for way in ways] for _ in range(rounds + 1)][1:]
    return [row[1] / row[0] for row in rows]


def patched(command: list[str], rounds: int) -> list[float]:
    ways = [[str(PLACE / way / command[0]), *command[1:]] for way in walks.WAYS]
    return compared(ways, rounds)


def make_tree(name: str, files: int, each: int) -> None:
    """Owned by the user, as chmod requires."""
    for number in range(files // each):
        walks.files(TREES / name / str(number), each)
    subprocess.run(["chown", "-R", str(USER), TREES / name], check=True)


def make_flat() -> None:
    if not (TREES / "flat").exists():
        (TREES / "begin").touch()
        make_tree("flat", 20000, 1000)


def hello(rounds: int) -> Samples:
    command = [str(PLACE / "syscript"), "run", "hello.lua", "20", "22"]
    return {"hello": [whole(command, PLACE) for _ in range(rounds + 1)][1:]}


def programs(rounds: int) -> Samples:
    make_flat()
    return {name: patched(walks.CASES[name].command, rounds) for name in PROGRAMS}


def small(rounds: int) -> Samples:
    """Short processes, for which noise matters more."""
    found = {}
    for name, (command, files, each) in SMALL.items():
        make_tree(name, files, each)
        found[f"small_{name}"] = patched([*command, name], 5 * rounds)
        shutil.rmtree(TREES / name)
    return found


SCANS = [[str(PLACE / "scanner"), way] for way in ("plain", "script")]


def scanner(rounds: int) -> Samples:
    make_flat()
    return {"scanner": compared([[*scan, "flat"] for scan in SCANS], rounds)}


# -- Processes that go on ------------------------------------------------------------------


def calls(rounds: int) -> Samples:
    (CONTROL_GROUPS / "cgroup.subtree_control").write_text("+memory")
    command = [*AS_USER, "build/bench/everyone", str(rounds), SCRIPT, str(MEMORY)]
    done = subprocess.run(command, cwd=results.ROOT, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return {
        "register": [ns / 1000 for ns in found["register"]],
        "register_first": [ns / 1000 for ns in found["register_first"]],
        "script_kib": [found["bytes"] / 1024],
        "queue_empty": [row["queue"] / row["call"] for row in found["queue_empty"]],
        "queue_orc": [row["queue"] / row["plain"] for row in found["queue_orc"]],
        "queue_sleeps": [found["queue_sleeps"] / 1e6],
    }


def served_rounds(rounds: int, steps: int, wires: dict[str, list[str]]) -> list[dict[str, float]]:
    """What requests cost in each round, by frames in these ways on these wires, and by rivals."""
    ordinary_user.make_tun()
    names = [f"{wire} {way}" for wire, ways in wires.items() for way in ("mmsg", *ways)]
    names.append("device nothing")
    return ordinary_user.in_namespaces("build/bench/frames", rounds, steps, ",".join(names))


def served(rounds: int, wires: dict[str, list[str]]) -> Samples:
    """Ratios of frames, by these ways on these wires, to recvmmsg(2) and sendmmsg(2)."""
    rows = served_rounds(rounds, STEPS, wires)
    return {
        f"{way}_{wire}": [
            frames.cost(row, wire, way) / frames.cost(row, wire, "mmsg") for row in rows
        ]
        for wire, ways in wires.items()
        for way in ways
    }


def servers(rounds: int) -> Samples:
    both = ["frames", "taken"]
    return served(rounds, {"memcached": ["frames"], "device": both, "veth": both})


def nsd(rounds: int) -> Samples:
    ordinary_user.make_tun()
    rows = ordinary_user.in_namespaces("build/bench/nsd", rounds, STEPS)
    return {"nsd": [row["frames"] / row["plain"] for row in rows]}


PARTS: dict[str, Callable[[int], Samples]] = {
    part.__name__: part for part in (hello, calls, programs, small, scanner, servers, nsd)
}


def measure(names: list[str], rounds: int) -> Samples:
    found: Samples = {}
    with ordinary_user.confined_alone():
        copy_programs()
        TREES.mkdir()
        for name in names:
            found |= PARTS[name](rounds)
    return found
