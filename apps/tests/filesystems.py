#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""du, find, ls, chmod and rsync that read ahead, on many file systems.

In a guest, as root: on each one a tree with all that is odd, which each command has to show
byte for byte as the plain program does; the same by syscript_readdirplus() and fstatat(2);
batches of paths, many of which are errors, against the plain calls; and a tree of many files,
on which both programs are measured: instructions, where the guest counts them (--icount).
Those of a server in the guest count, those of the host's for 9p and virtiofs do not.

usage: filesystems.py [-o FILE] [NAME...]

NAME: of tests/file_systems.py; without, all.  FILE: JSON; rows of other file systems stay, if the
kernel is the same.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import resource
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

import file_systems  # noqa: E402
from file_systems import MADE, MISSING, OWN, READ_ONLY, ROOT, TRIED  # noqa: E402
from walks import AHEAD, WALKS  # noqa: E402

PATHS = HERE / "batches.py"
CREATING = ROOT / "build" / "tests" / "unit" / "test_lib_files"
DIRCHECK = ROOT / "build" / "tests" / "vm" / "dircheck"
USER = 1000
# The library is loaded for directories that are large enough.
DIRECTORIES, FILES = 2, 1000
# Servers of FUSE let the kernel keep attributes for a second: no run begins with those of the run
# before, which it may lose on its way.
AGING = ("fuse", "virtiofs")
# The host serves these; while it does, the guest's clock leaps, and what the patched programs read
# ahead would be too old for them at once.
LEAPING = ("9p", "virtiofs")
STILL = ROOT / "build" / "tests" / "apps" / "still.so"
LIBC = ctypes.CDLL(None, use_errno=True)
MS_REMOUNT = 32
# What others change meanwhile, in the kernel's own file systems, is the same at last.
TRIES = 6
# Why a file system gains little, or loses.
CHECKED = "not read ahead: names are checked each time"
SERVER = "asks a server for each file; only ls reads ahead"
FEW = "not read ahead: few files"
WHY = {
    "ext2-typeless": "entries have no types",
    "vfat": CHECKED,
    "fuse-ext4": SERVER,
    "fuse-ntfs": SERVER,
    "nfs": CHECKED,
    "9p": CHECKED,
    "virtiofs": SERVER,
    "squashfs": "batches reread directories",
    "proc": CHECKED,
    "sys": FEW,
    "cgroup2": FEW,
    "tracefs": FEW,
    "securityfs": FEW,
    "9p-root": CHECKED,
}
PRINTF = "%p %s %b %m %n %i %U %G %T@ %C@ %y %l\\n"

READING = [
    ("du", "-a", "."),
    ("du", "-axb", "."),
    ("du", "--inodes", "-S", "."),
    ("du", "-aL", "--time", "."),
    ("find", ".", "-size", "-9", "-printf", PRINTF),
    ("find", ".", "-newer", "begin", "-ls"),
    ("find", "-L", ".", "-size", "+0"),
    ("find", ".", "-depth", "-links", "+1", "-print0"),
    ("ls", "-laRis", "."),
    ("ls", "-lLR", "--time-style=full-iso", "."),
    ("ls", "-URlZ", "."),
    ("rsync", "-r", "--list-only", "-X", "-A", "./"),
    ("rsync", "-ainHD", "--no-motd", "./", "empty/"),
]
CHANGING = [
    ("chmod", "-Rv", "u-w", "."),
    ("chmod", "-Rv", "u+w", "."),
    ("chmod", "-Rc", "a+r,g-x", "."),
    ("chmod", "-Rc", "g+x", "."),
]
MEASURED = {
    "du": ["du", "-s", "many"],
    "find": ["find", "many", "-newer", "begin", "-size", "+3"],
    "ls": ["ls", "-lR", "many"],
    "chmod": ["chmod", "-R", "u+w", "many"],
    "rsync": ["rsync", "-ain", "many/", "empty/"],
}


# -- Trees -------------------------------------------------------------------------------------

NAMES = [
    b"a b", b" ", b"-rf", b"--", b"*", b"\\", b"'\"", b"line\nfeed", b"tab\t", b"\x01\x7f",
    b"\xff\xfe", "größe 変数".encode(), b"...", b"..x", b".hidden", b"x" * 255, b"y" * 254,
    "é".encode() * 127, b"NUL", b"con.txt", b"trailing.", b"CASE", b"case",
]  # fmt: skip


@contextmanager
def where_possible() -> Iterator[None]:
    """What a file system has not, or has no name for, is left out."""
    with suppress(OSError, ValueError):
        yield


def make_odd(top: Path) -> None:
    (top / "begin").touch()
    (top / "empty").mkdir()
    names = top / "names"
    names.mkdir()
    for n, name in enumerate(NAMES):
        with where_possible():
            Path(os.fsdecode(bytes(names) + b"/" + name)).write_bytes(b"x" * (n * 777))
    kinds = top / "kinds"
    kinds.mkdir()
    make_kinds(kinds)
    below = top / "deep"
    below.mkdir()
    for level in range(30):
        (below / f"file {level}").write_text("text")
        below = below / f"level {level}"
        below.mkdir()
    # Of several blocks, with holes where others were.
    large = top / "large"
    large.mkdir()
    for n in range(700):
        (large / f"{n:04}-{'x' * (n % 90)}").touch()
    for n in range(0, 700, 3):
        (large / f"{n:04}-{'x' * (n % 90)}").unlink()
    (large / "sub").mkdir()
    (large / "sub" / "file").write_bytes(b"x" * 5000)


def make_kinds(at: Path) -> None:
    file = at / "file"
    file.write_bytes(b"x" * 100)
    for name, to in {
        "link": "file",
        "dangling": "nowhere",
        "loop": "loop",
        "up": "..",
        "long": "n" * 1000,
    }.items():
        with where_possible():
            (at / name).symlink_to(to)
    with where_possible():
        (at / "second name").hardlink_to(file)
    with where_possible():
        (at.parent / "third name").hardlink_to(file)
    with where_possible():
        os.mkfifo(at / "fifo")
    for name, kind, device in (
        ("null", stat.S_IFCHR, (1, 3)),
        ("disk", stat.S_IFBLK, (300, 70000)),
    ):
        with where_possible():
            os.mknod(at / name, kind | 0o640, os.makedev(*device))
    with where_possible(), socket.socket(socket.AF_UNIX) as sock, chdir(at):
        sock.bind("socket")
    make_sparse(at / "sparse")
    for mode in (0, 0o111, 0o444, 0o4755, 0o2755, 0o7777):
        with where_possible():
            (at / f"mode {mode:o}").write_text("x")
            (at / f"mode {mode:o}").chmod(mode)
    for name, seconds in {"old": -(10**9), "first": 0, "late": 2**32 + 5, "odd": 1}.items():
        with where_possible():
            (at / name).touch()
            os.utime(at / name, ns=(seconds * 10**9 + 123456789,) * 2)
    for name, owner in {"another's": 1234, "large id": 3_000_000_000}.items():
        with where_possible():
            (at / name).touch()
            os.chown(at / name, owner, owner)
    with where_possible():
        (at / "attributes").touch()
        os.setxattr(at / "attributes", "user.name", b"value" * 100)
    with where_possible():
        (at / "list").touch()
        subprocess.run(["setfacl", "-m", "u:7:rw", at / "list"], capture_output=True, check=False)
    for name, mode in {"closed": 0, "no search": 0o644, "no read": 0o311, "sticky": 0o1777}.items():
        with where_possible():
            (at / name).mkdir()
            (at / name / "inside").write_text("x")
            (at / name).chmod(mode)


def make_sparse(path: Path) -> None:
    """Not where it would fill the file system."""
    path.touch()
    try:
        os.truncate(path, 3 << 30)
    except OSError:
        path.unlink()


def make_many(top: Path) -> None:
    for number in range(DIRECTORIES):
        place = top / "many" / f"{number}"
        place.mkdir(parents=True)
        for n in range(FILES):
            (place / f"file{n}").write_bytes(b"x" * (n % 50))


def make(top: Path) -> None:
    for name in ("odd", "empty"):
        (top / name).mkdir()
    (top / "begin").touch()
    make_odd(top / "odd")
    make_many(top)


# -- The same ----------------------------------------------------------------------------------

faults: list[str] = []


def fault(text: str) -> None:
    faults.append(text)
    print(text, file=sys.stderr, flush=True)


def as_others_see(way: str, command: tuple[str, ...], top: Path, user: int) -> tuple:
    """Status, output and errors."""
    name, *args = command
    done = subprocess.run(
        [name, *args],
        executable=WALKS / way / name,
        cwd=top,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C"} | (AHEAD if way == "ahead" else {}),
        capture_output=True,
        user=user,
        group=user,
        extra_groups=[],
    )
    return done.returncode, done.stdout, done.stderr


def first_difference(plain: tuple, ahead: tuple) -> str:
    if plain[0] != ahead[0]:
        return f"status {plain[0]}, {ahead[0]}: {ahead[2][-300:]!r}"
    for one, other in zip(plain[1:], ahead[1:], strict=True):
        lines, others = one.splitlines(), other.splitlines()
        for a, b in zip([*lines, b"(end)"], [*others, b"(end)"], strict=False):
            if a != b:
                return f"{a[:200]!r}, {b[:200]!r}"
    return "nothing"


def compare(name: str, command: tuple[str, ...], top: Path, user: int) -> None:
    """By turns, until one says what the one before it said: at once, where nothing changes."""
    seen = {}
    for n in range(TRIES if name in OWN else 2):
        way = ("plain", "ahead")[n % 2]
        found = as_others_see(way, command, top, user)
        if found in seen.values() and seen.get(way) != found:
            return
        seen[way] = found
    what = first_difference(seen["plain"], seen["ahead"])
    fault(f"{name}: as {user}: {' '.join(command)}: {what}")


def compare_changes(name: str, top: Path) -> None:
    """What both have changed, from the same state on."""
    found = {}
    for way in ("plain", "plain", "ahead"):
        found[way] = [as_others_see(way, command, top, 0) for command in CHANGING]
    for command, plain, ahead in zip(CHANGING, found["plain"], found["ahead"], strict=True):
        if plain != ahead:
            what = first_difference(plain, ahead)
            fault(f"{name}: {' '.join(command)}: {what}")


def check_batches(name: str, top: Path, changes: bool) -> None:
    """Entry by entry, by the library."""
    where = [top, *(path for path in sorted(top.iterdir()) if path.is_dir() and path.name != "fd")]
    for path in where[:10]:
        done = subprocess.run(
            [DIRCHECK, "changing" if changes else "stable", path],
            env={"SYSCRIPT_BACKEND": "kernel", **os.environ},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            fault(f"{name}: {path}: {done.stderr.strip()[-300:]}")


def check_paths(name: str, top: Path, writable: bool) -> None:
    """Batches' results and errors, which programs compare with those of plain calls."""
    how = "changing" if name in OWN else "writable" if writable else "read-only"
    commands = [([PATHS, top, how], 0)]
    if name != "tracefs":  # which only root may enter
        commands.append(([PATHS, top, how], USER))
    if writable and name != "vfat":  # which has no links and modes
        commands.append(([CREATING, top], 0))
    for command, user in commands:
        done = subprocess.run(
            command,
            env={**os.environ, "SYSCRIPT_BACKEND": "kernel"},
            capture_output=True,
            text=True,
            user=user,
            group=user,
            extra_groups=[],
        )
        if done.returncode:
            fault(f"{name}: as {user}: batches of paths: {done.stderr.strip()[-300:]}")


def check(name: str, top: Path, writable: bool) -> None:
    os.sync()  # which may allocate blocks
    for command in READING:
        compare(name, command, top, 0)
    for command in READING[:: len(READING) // 4]:
        compare(name, command, top, USER)
    if writable:
        compare_changes(name, top)
    check_paths(name, top, writable)
    check_batches(name, top, changes=name in OWN)


# -- What they cost ----------------------------------------------------------------------------


def used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def all_time() -> float:
    """In s: of all tasks, those that have ended and threads of the kernel among them."""
    lines = Path("/proc/schedstat").read_text().splitlines()
    return sum(int(line.split()[7]) for line in lines if line.startswith("cpu")) / 1e9


def cpu_time(served: bool) -> float:
    """In s: of commands that have ended, and of what serves their files."""
    if served:
        return all_time() - used(resource.RUSAGE_SELF)
    return used(resource.RUSAGE_CHILDREN)


def forget(path: Path) -> None:
    """Names and attributes of files that nobody has open; its server then does, too."""
    mount = next(place for place in (path, *path.parents) if place.is_mount())
    if LIBC.mount(None, os.fsencode(mount), None, MS_REMOUNT, None):
        raise OSError(ctypes.get_errno(), f"remount {mount}")
    time.sleep(1)


def cost(name: str, way: str, command: list[str], top: Path) -> float:
    """In us, or thousands of instructions: the least of all times but the first.

    Now and then the kernel does other work meanwhile; and it does more or less to wait for the
    host, whose replies take their time.
    """
    served = name.startswith(("fuse", "nfs"))
    env = os.environ | {"LC_ALL": "C", "LD_LIBRARY_PATH": str(ROOT / "build")}
    if name in LEAPING:
        env["LD_PRELOAD"] = str(STILL)
    took = []
    for _ in range(8 if name in LEAPING else 3):
        if name.startswith(AGING):
            forget(top)
        began = cpu_time(served)
        subprocess.run(
            command,
            executable=WALKS / way / command[0],
            cwd=top,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        took.append((cpu_time(served) - began) * 1e6)
    return min(took[1:])


NAMED = [*MADE, *READ_ONLY, *OWN]
rows: dict[str, dict[str, tuple[float, float]]] = {}


def measure(name: str, top: Path, commands: dict[str, list[str]], files: int) -> None:
    row = rows[name] = {}
    for command, words in commands.items():
        plain, ahead = (cost(name, way, words, top) for way in ("plain", "ahead"))
        row[command] = plain / files, ahead / plain
    print(*columns(name, row), WHY.get(name, ""), sep="  ", flush=True)


def columns(name: str, row: dict[str, tuple[float, float]]) -> list[str]:
    shown = (f"{row[c][0]:8.2f} {row[c][1]:5.2f}" if c in row else f"{'':14}" for c in MEASURED)
    return [f"{name:14}", *shown]


def measure_made(name: str, top: Path, writable: bool) -> None:
    commands = {n: c for n, c in MEASURED.items() if writable or n != "chmod"}
    measure(name, top, commands, DIRECTORIES * FILES)


def measure_own(name: str, top: Path) -> None:
    files = len(as_others_see("plain", ("find", "."), top, 0)[1].splitlines())
    commands = {"du": ["du", "-s", "."], "find": ["find", ".", "-size", "+3"]}
    measure(name, top, commands | {"ls": ["ls", "-lR", "."]}, files)


# -- All of them -------------------------------------------------------------------------------


def do_made(name: str, place: Path) -> None:
    with MADE[name](place) as top:
        make(top)
        check(name, top / "odd", writable=True)
        measure_made(name, top, writable=True)


def do_overlay(name: str, place: Path) -> None:
    """Entries of both layers, of one only, deleted ones."""
    with file_systems.overlay(place, make) as top:
        for path in sorted((top / "odd" / "large").iterdir())[::3]:
            path.unlink() if path.is_file() else None
        for path in sorted((top / "odd" / "large").iterdir())[::4]:
            path.write_text("changed") if path.is_file() else None
        (top / "odd" / "kinds" / "new").mkdir()
        check(name, top / "odd", writable=True)
        measure_made(name, top, writable=True)


def do_read_only(name: str, place: Path) -> None:
    with file_systems.tmpfs(place.with_suffix(".tree")) as tree:
        make(tree)
        if name == "erofs":  # mkfs.erofs 1.5 cannot open the one, and writes the other's holes
            (tree / "odd" / "names" / ("x" * 255)).unlink()
            (tree / "odd" / "kinds" / "sparse").unlink()
        with READ_ONLY[name](place, tree) as top:
            check(name, top / "odd", writable=False)
            measure_made(name, top, writable=False)


def do_own(name: str, _: Path) -> None:
    with file_systems.own(name) as top:
        check(name, top, writable=False)
        measure_own(name, top)


def how(name: str) -> Callable[[str, Path], None]:
    if name == "overlay":
        return do_overlay
    if name in MADE:
        return do_made
    return do_read_only if name in READ_ONLY else do_own


def is_there(module: str) -> bool:
    return subprocess.run(["modprobe", "-n", module], capture_output=True).returncode == 0


def check_missing() -> None:
    """Reports the file systems that are not tested, and fails if the kernel has one now."""
    for name, (module, reason) in MISSING.items():
        print(f"{name:14}  not here: {reason}")
        if module and is_there(module):
            fault(f"{name}: the kernel has it")
        if not module and not platform.release().startswith(f"{TRIED}."):
            fault(f"{name}: tried on Linux {TRIED} only")


def write_result(path: Path) -> None:
    before = json.loads(path.read_text()) if path.exists() else {}
    known = before["rows"] if before.get("kernel") == platform.release() else {}
    found = {n: (known | rows)[n] for n in NAMED if n in known or n in rows}
    why = {name: f"not compared: {reason}" for name, (_, reason) in MISSING.items()} | WHY
    result = {"kernel": platform.release(), "rows": found | {n: {} for n in MISSING}, "why": why}
    path.write_text(json.dumps(result, indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", dest="output", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    names = args.names or NAMED
    print("of each file by the plain program, and the patched one's part of that")
    print("  ".join([f"{'':14}", *(f"{command:>14}" for command in MEASURED)]))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        Path(directory).chmod(0o755)
        for number, name in enumerate(names):
            try:
                how(name)(name, Path(directory, f"{number}"))
            except (OSError, subprocess.SubprocessError) as error:
                fault(f"{name}: {error}")
            if args.output:
                write_result(args.output)
    check_missing()
    print(f"{len(names)} file systems, {len(faults)} differences")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
