#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The first quarter of an hour, as README and tutorial have it: in bare Debians 12, by an
ordinary user.

Each Debian is a chroot of the smallest set of packages with sudo, on the kernel that runs. The
user types what README says, in a clone of the last commit: on a terminal, where make's one
question is answered, or without one, where root runs the one command that make names. Then they
type the tutorial, which ends with a program of their own, measured in a guest. A third Debian
gets the release (make dist), which must build without Rust and clang.

The time of each step is printed, and compared with its aim on an idle machine of two CPUs. A
step that fails ends its Debian, with the last lines of its output.

Needs root, mmdebstrap (tools/deps deploy) and the network.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from documents import put_files, shell_blocks

ROOT = Path(__file__).resolve().parents[1]
SUITE = "bookworm"
PACKAGES = "ca-certificates,sudo"
USER, UID = "newcomer", 1000
# What this machine fetches packages with: mirrors, proxies, certificates.
SETTINGS = ("etc/apt/apt.conf", "etc/apt/apt.conf.d", "etc/pip.conf", "etc/ssl/certs")
SETTINGS += ("etc/resolv.conf", "usr/local/share/ca-certificates")
PASSED_ON = re.compile(r"(PIP|CARGO|SSL)_\w+|\w+_proxy", re.IGNORECASE)
MOUNTS = {"proc": "proc", "dev/pts": "devpts", "dev/shm": "tmpfs"}
NEEDS_ROOT = re.compile(r"^deps: run this as root, then make again: (.*)$", re.MULTILINE)
QUESTION = b"[y/N]"
LAST_LINES = 30


class Step(NamedTuple):
    name: str
    command: str
    shows: str = ""  # a pattern
    aim: float = 0  # minutes that it may take
    aim_so_far: float = 0  # with the steps before it


FIRST_SCRIPT = Step(
    "first script", "make cli && build/syscript run scripts/hello.lua 20 22", r"^42\s*$"
)
# The clone belongs to an ordinary user, and patched programs load no library of another's: du must
# gain there, too.
DEMO_GAINS = r"^frames, confined .* 0\.\d[\s\S]*^du -s, reading ahead +[\d,]+ +0\.[0-7]"
DEMO = Step("make demo", "make demo", DEMO_GAINS, 4)
TUTORIAL = Step(
    "tutorial", "bash -euo pipefail ../tutorial.sh", r"^The scripts save \d+ % of the", 0, 15
)
CLONE_STEPS = [
    Step("git and make", "sudo apt-get install -y git make"),
    FIRST_SCRIPT,
    DEMO,
    TUTORIAL,
]
# A release contains the sources that a clone must fetch.
RELEASE_STEPS = [
    Step("make", "sudo apt-get install -y make"),
    Step("compiler", "tools/deps build"),
    FIRST_SCRIPT._replace(aim=1),
    Step("no compilers", "! command -v cargo && ! command -v rustc && ! command -v clang-19"),
]


class StepError(Exception):
    """A step failed."""


def bare_debian(root: Path) -> None:
    mirror = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", f"Codename: {SUITE}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    if not mirror:
        raise StepError(f"apt knows no mirror of {SUITE}: add one to its sources")
    options = ["--quiet", "--variant=minbase", f"--include={PACKAGES}"]
    subprocess.run(["mmdebstrap", *options, SUITE, root, mirror[0]], check=True)
    for name in SETTINGS:
        source, target = Path("/", name), root / name
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            # Merge into existing directories: links of the same names are replaced.
            subprocess.run(["cp", "-a", "--remove-destination", "-T", source, target], check=True)
    # Another system's, that its packages here lack.
    for name in ("docker-clean", "20packagekit", "50appstream"):
        (root / "etc/apt/apt.conf.d" / name).unlink(missing_ok=True)
    chroot = ["chroot", str(root)]
    subprocess.run([*chroot, "useradd", "-m", "-u", str(UID), "-s", "/bin/bash", USER], check=True)
    (root / "etc/sudoers.d/newcomer").write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    subprocess.run([*chroot, "apt-get", "-qq", "update"], check=True)


def put_sources(root: Path, release: Path | None) -> None:
    """The release, or a clone of the last commit, in the user's home; and the tutorial."""
    home = root / "home" / USER
    if release:
        (home / "syscript").mkdir()
        unpacked = ["--strip-components=1", "-C", home / "syscript"]
        subprocess.run(["tar", "-xf", release, *unpacked], check=True)
    else:
        command = ["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", home / "syscript"]
        subprocess.run(command, check=True)
    tutorial = ROOT / "docs/tutorial.md"
    (home / "own").mkdir()
    put_files(tutorial, home / "own")
    # The reader goes to a directory of their own after the first block.
    first, *rest = shell_blocks(tutorial)
    (home / "tutorial.sh").write_text("\n".join([first, "cd ../own", *rest]))
    for path in (home, *home.rglob("*")):
        os.lchown(path, UID, UID)


@contextlib.contextmanager
def debian(base: Path, release: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "root"
        subprocess.run(["cp", "-a", base, root], check=True)
        put_sources(root, release)
        for place, kind in MOUNTS.items():
            (root / place).mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", kind, kind, root / place], check=True)
        try:
            yield root
        finally:
            for place in reversed(MOUNTS):
                subprocess.run(["umount", "-l", root / place], check=False)


def argv_of(root: Path, command: str, user: str = USER) -> list[str]:
    passed = [f"{name}={value}" for name, value in os.environ.items() if PASSED_ON.fullmatch(name)]
    home = "/root" if user == "root" else f"/home/{user}"
    environment = [f"HOME={home}", "PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm", *passed]
    return [
        *("chroot", f"--userspec={user}", str(root), "env", "-i", *environment),
        *("bash", "-c", f"cd /home/{USER}/syscript && {command}"),
    ]


def on_terminal(root: Path, command: str) -> tuple[int, str]:
    """Run a command on a terminal of its own; questions are answered with yes."""
    pid, terminal = pty.fork()
    if not pid:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, a shell does not
        argv = argv_of(root, command)
        os.execvp(argv[0], argv)
    text, answered = b"", 0
    with contextlib.suppress(OSError):  # its end
        while True:
            select.select([terminal], [], [])
            text += os.read(terminal, 65536)
            if text.count(QUESTION) > answered:
                answered += 1
                os.write(terminal, b"y\n")
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if answered > 1:
        raise StepError(f"{command}: asked {answered} times, not once")
    return status, text.decode(errors="replace").replace("\r\n", "\n")


def in_log(root: Path, command: str, user: str = USER) -> tuple[int, str]:
    """The same without a terminal, as CI would."""
    done = subprocess.run(
        argv_of(root, command, user),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        check=False,
    )
    return done.returncode, done.stdout


def without_terminal(root: Path, command: str) -> tuple[int, str]:
    status, text = in_log(root, command)
    told = NEEDS_ROOT.findall(text)
    if not status or not told:
        return status, text
    if len(told) > 1:
        raise StepError(f"{command}: told {len(told)} commands for root, not one")
    status, as_root = in_log(root, f"export DEBIAN_FRONTEND=noninteractive; {told[0]}", "root")
    if status:
        return status, as_root
    status, again = in_log(root, command)
    return status, text + again


RUN = {"terminal": on_terminal, "log": without_terminal, "release": without_terminal}


class Walk:
    """The steps of one Debian."""

    def __init__(self, way: str, steps: list[Step], keep: Path | None, timed: bool) -> None:
        self.way, self.steps, self.keep, self.timed = way, steps, keep, timed

    def go(self, base: Path, release: Path | None) -> bool:
        """Whether each step was within its aim."""
        good = True
        with debian(base, release) as root:
            began = time.monotonic()
            for step in self.steps:
                before = time.monotonic()
                self.take(root, step)
                took, so_far = ((time.monotonic() - since) / 60 for since in (before, began))
                missed = [
                    f"aim {aim:g}"
                    for aim, is_at in ((step.aim, took), (step.aim_so_far, so_far))
                    if aim and is_at > aim
                ]
                good = good and not (missed and self.timed)
                print(
                    f"{self.way:9} {step.name:13} {took:5.1f} min, so far {so_far:5.1f}",
                    *missed,
                    flush=True,
                )
        return good

    def take(self, root: Path, step: Step) -> None:
        status, text = RUN[self.way](root, step.command)
        if self.keep:
            (self.keep / f"{self.way}-{step.name.replace(' ', '-')}.log").write_text(text)
        if status or not re.search(step.shows, text, re.MULTILINE):
            last = "\n".join(text.splitlines()[-LAST_LINES:])
            raise StepError(f"{self.way}: {step.name}: status {status}\n{last}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=RUN, action="append", help="only this one")
    parser.add_argument("--until", metavar="STEP", help="the last one")
    parser.add_argument("--release", type=Path, help="what make dist has made")
    parser.add_argument("--base", type=Path, help="a bare Debian, made if it is not there yet")
    parser.add_argument("--keep", type=Path, help="a directory for what the steps print")
    parser.add_argument(
        "--untimed", action="store_true", help="on a busy machine: aims may be missed"
    )
    args = parser.parse_args()
    if os.geteuid():
        print("newcomer: a chroot needs root: sudo make test-newcomer", file=sys.stderr)
        return 1
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    steps = CLONE_STEPS
    if args.until:
        steps = steps[: [step.name for step in steps].index(args.until) + 1]
    good = True
    try:
        with tempfile.TemporaryDirectory() as directory:
            base = args.base or Path(directory) / "base"
            if not base.exists():
                bare_debian(base)
            for way in args.way or RUN:
                release = args.release if way == "release" else None
                if release or way != "release":
                    walk = Walk(
                        way, RELEASE_STEPS if release else steps, args.keep, not args.untimed
                    )
                    good = walk.go(base, release) and good
    except (StepError, subprocess.CalledProcessError) as error:
        print(f"newcomer: {error}", file=sys.stderr)
        return 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
