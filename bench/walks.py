#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure Debian's programs, plain and patched (apps/): those that walk many files, and NSD.

The whole program, from exec() to exit(), on files in a tmpfs, including loading the library and
registering its scripts. The part that the patch changes, getting files' attributes, is also
measured by itself (bench/stat_files), compared with two threads and io_uring.

For NSD, the cost of a query is measured: bench/queries.py.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import ninja_build
import queries
import results

WALKS = results.BUILD / "walks"
LOOKS = results.BUILD / "bench" / "stat_files"
WAYS = ("plain", "ahead")
LOOK_WAYS = ("plain", "threads", "uring", "script")


class Case(NamedTuple):
    """A command, the PARTS that it does, and what to remove before it runs.

    alone: the patch saves nothing else
    """

    command: list[str]
    part: str = ""
    where: str = "."
    made: str = "nothing"
    alone: bool = True


CASES = {
    "du": Case(["du", "-s", "flat"], "tree"),
    "find": Case(["find", "flat", "-newer", "begin", "-size", "+3"], "tree"),
    "chmod": Case(["chmod", "-R", "u+w", "flat"], "tree"),
    "ls_l": Case(["ls", "-lR", "flat"], "tree", alone=False),
    "du_nested": Case(["du", "-s", "nested"], "nested"),
    "find_nested": Case(["find", "nested", "-newer", "begin", "-size", "+3"], "nested"),
    "rsync": Case(["rsync", "-ain", "flat/", "empty/"], "tree"),
    "rsync_copy": Case(["rsync", "-ai", "some/", "copy/"], "some", made="copy"),
    "ninja": Case(["ninja"], "build", where="build"),
    "few_files": Case(["du", "-s", "few"]),
    "few_files_ls": Case(["ls", "-l", "few"]),
    "few_files_rsync": Case(["rsync", "-ain", "few/", "empty/"]),
}
# A process of two million instructions, of which noise may be three percent, is measured this much
# more often.
SHORT_TIMES = 10
# The work of bench/stat_files for each part.
PARTS = {
    "tree": "20,000 files",
    "nested": "20,000 files in 800 directories",
    "some": "4,000 files",
    "build": "30,000 files by path",
}
# The confined engine finds Lua by SYSCRIPT_LUA_IMAGE where nothing is installed.
PASSED = ("PATH", "SYSCRIPT_LUA_IMAGE")
# Alternatives for a program: two processors, or many calls at once.
RIVALS = ("threads", "uring")
# The input of bench/stat_files: by name its kind, its lines, and their directory.
looks: dict[str, tuple[str, list[str], str]] = {}


def files(place: Path, count: int) -> None:
    place.mkdir(parents=True)
    directory = os.open(place, os.O_PATH)
    for number in range(count):
        # Bare calls: an emulated CPU makes tens of thousands.
        fd = os.open(f"file{number}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory)
        os.write(fd, b"x" * (number % 50))
        os.close(fd)
    os.close(directory)


def make_trees() -> None:
    """20,000 files with contents in 20 directories, and in 800; 4,000, a build, and five."""
    Path("begin").touch()
    for number in range(20):
        files(Path(f"flat/{number}"), 1000)
    for number in range(400):
        files(Path(f"nested/{number}/below"), 25)
        for name in range(25):
            Path(f"nested/{number}/file{name}").write_bytes(b"x" * name)
    for number in range(4):
        files(Path(f"some/{number}"), 1000)
    files(Path("few"), 5)
    Path("empty").mkdir()
    paths = ninja_build.make_build(Path("build"), sources=8000, headers=14000, each=20)
    looks["tree"] = ("tree", [f"flat/{number}" for number in range(20)], ".")
    nested = [f"nested/{number}{below}" for number in range(400) for below in ("", "/below")]
    looks["nested"] = ("tree", nested, ".")
    looks["some"] = ("tree", [f"some/{number}" for number in range(4)], ".")
    looks["build"] = ("paths", paths, "build")


def cpu_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(way: str, case: Case) -> dict[str, float]:
    return run_program(WALKS / way / case.command[0], case)


def account(user: str | None) -> dict[str, Any]:
    """The options of subprocess.run() for this user."""
    if not user:
        return {}
    found = pwd.getpwnam(user)
    groups = os.getgrouplist(user, found.pw_gid)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": groups}


@functools.cache
def library() -> tempfile.TemporaryDirectory[str]:
    """A copy of the library that belongs to root.

    Patched programs load none of another user's, and the tree may be anyone's.
    """
    place = tempfile.TemporaryDirectory(prefix="library-")
    Path(place.name).chmod(0o755)
    copy = shutil.copy(results.BUILD / "libsyscript.so.0", place.name)
    Path(copy).chmod(0o644)
    return place


def run_program(program: Path, case: Case, user: str | None = None) -> dict[str, float]:
    """The cost of a process and its children, in us or in thousands of instructions."""
    environment = {"LD_LIBRARY_PATH": library().name, "LC_ALL": "C"}
    environment |= {name: os.environ[name] for name in PASSED if name in os.environ}
    shutil.rmtree(case.made, ignore_errors=True)
    begin, began = cpu_time(), time.monotonic()
    done = subprocess.run(
        case.command,
        executable=program,
        cwd=case.where,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        **account(user),
    )
    elapsed = time.monotonic() - began
    seen.setdefault(tuple(case.command), done.stdout)
    if seen[tuple(case.command)] != done.stdout:
        raise SystemExit(f"{' '.join(case.command)}: {program} has another output")
    return {"cpu": (cpu_time() - begin) * 1e6, "elapsed": elapsed * 1e6}


seen: dict[tuple[str, ...], bytes] = {}


def look(way: str, part: str) -> dict[str, float]:
    """Like run_program(), for bench/stat_files, without its start and end."""
    kind, lines, where = looks[part]
    done = subprocess.run(
        [LOOKS, way, kind],
        cwd=where,
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    if found["files"] != seen_files.setdefault(part, found["files"]):
        raise SystemExit(f"looks {way}: saw {found['files']} files of {part}")
    return {key: found[key] / 1000 for key in ("cpu", "elapsed")}


seen_files: dict[str, int] = {}


def here(rounds: int) -> dict[str, Any]:
    """In the guest."""
    accel = "tcg" if "QEMU TCG" in Path("/proc/cpuinfo").read_text() else "kvm"
    found: dict[str, Any] = {"kernel": platform.release(), "accel": accel}
    found["nsd"] = queries.rounds_here(rounds)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        os.chdir(directory)
        make_trees()
        for name, case in CASES.items():
            times = rounds if case.part else SHORT_TIMES * rounds
            rows = [{way: run(way, case) for way in WAYS} for _ in range(times + 1)]
            found[name] = rows[1:]
        for part in PARTS:
            rows = [{way: look(way, part) for way in LOOK_WAYS} for _ in range(rounds + 1)]
            found[part] = rows[1:]
        os.chdir("/")
    return found


def medians(rows: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    return {
        way: results.summary([row[way]["cpu"] for row in rows])
        | {"elapsed": median(row[way]["elapsed"] for row in rows)}
        for way in rows[0]
    }


def instead(whole: dict[str, Any], part: dict[str, Any], way: str) -> dict[str, float]:
    """The program with its part done so: ratios of CPU and elapsed time to the plain one."""
    return {
        name: 1 + (part[way][key] - part["plain"][key]) / whole["plain"][key]
        for name, key in (("ratio", "median"), ("elapsed_ratio", "elapsed"))
    }


def summed_up(rows: list[dict[str, Any]], case: Case, parts: dict[str, Any]) -> dict[str, Any]:
    """A program's @parts: the cost of its share of the work, by bench/stat_files.

    of_part: the share of it that is left after the patch's saving.
    threads, uring: computed from both; no program was changed for it.
    """
    found = medians(rows)
    found["ratio"] = results.summary([row["ahead"]["cpu"] / row["plain"]["cpu"] for row in rows])
    found["elapsed_ratio"] = median(
        row["ahead"]["elapsed"] / row["plain"]["elapsed"] for row in rows
    )
    if case.part:
        part = parts[case.part]
        plain = part["plain"]["median"]
        saved = found["plain"]["median"] - found["ahead"]["median"]
        found["part"] = plain / found["plain"]["median"]
        if case.alone:
            found["of_part"] = 1 - saved / plain
        found |= {way: instead(found, part, way) for way in RIVALS}
    return found


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--memory", "2G", "--timeout", "1800"]
    options.append("--icount" if icount else "--fair")
    raw = results.in_guest(options, ["python3", "bench/walks.py", "--here", str(rounds)])
    parts = {name: medians(raw.pop(name)) for name in PARTS}
    cases = {name: summed_up(raw.pop(name), case, parts) for name, case in CASES.items()}
    cases["nsd"] = queries.summed_up(raw.pop("nsd"))
    return {**raw, "parts": parts, "cases": cases}


def show_parts(parts: dict[str, Any], unit: str, timed: bool) -> None:
    """The cost of getting attributes alone, and that of the rivals.

    A guest that counts instructions has one CPU, and its clock jumps while it is idle.
    """
    rows = []
    for name, what in PARTS.items():
        for key in ("median", "elapsed") if timed else ("median",):
            values = [parts[name][way][key] for way in LOOK_WAYS]
            rows.append(
                [f"{what}, {'CPU' if key == 'median' else 'elapsed'}", f"{values[0]:,.0f}"]
                + [f"{value / values[0]:.2f}" for value in values[1:]]
            )
    print()
    results.show([f"looking alone, {unit}", "plain", "2 threads", "io_uring", "script"], rows)


def shown_rival(found: dict[str, float] | None, timed: bool) -> str:
    if found is None:
        return ""
    elapsed = f", {found['elapsed_ratio']:.2f} elapsed" if timed else ""
    return f"{found['ratio']:.2f}{elapsed}"


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"programs that look at many files, {rounds} rounds", result)
    rows = []
    timed = result["clock"] == "time"
    unit = "us" if timed else "1,000 instructions"
    for name, case in CASES.items():
        found = result["cases"][name]
        rows.append(
            [name, *(f"{found[way]['median']:,.0f}" for way in WAYS)]
            + [f"{found['ratio']['median']:.3f}"]
            + [f"{found['elapsed_ratio']:.3f}" if timed else ""]
            + [f"{found[key]:.2f}" if key in found else "" for key in ("part", "of_part")]
            + [shown_rival(found.get(way), timed) for way in RIVALS]
            + [" ".join(case.command)]
        )
    results.show(
        [unit, *WAYS, "ratio", "elapsed", "part", "of that", "2 threads", "io_uring", "command"],
        rows,
    )
    show_parts(result["parts"], unit, timed)
    queries.show(result["cases"]["nsd"], timed)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--here"]:
        print(json.dumps(here(int(argv[1]))))
        return 0
    measurement = results.Measurement("programs", 5, 2, measure, show)
    return measurement.main(__doc__, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
