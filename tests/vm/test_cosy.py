# SPDX-License-Identifier: GPL-2.0
"""Programs with compounds behave the same in the kernel as in a process, for any user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "tests" / "cosy"
PROGRAMS = ("files", "grows", "memory", "messages", "shapes", "strings", "threads", "ways_out")
BATCHES = ROOT / "tests" / "cosy" / "guest" / "batches.txt"
KERNEL = {"COSY_ENGINE": "kernel"}
NATIVE = {"COSY_ENGINE": "native"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, as_outsider) -> None:
    # On a busy machine a datagram may arrive late, in either run.
    for _ in range(3 if name == "messages" else 1):
        native = as_outsider([BUILD / "programs" / name], env=NATIVE)
        kernel = as_outsider([BUILD / "programs" / name], env=KERNEL)
        if kernel.stdout == native.stdout:
            break
    assert (kernel.returncode, kernel.stdout, kernel.stderr) == (0, native.stdout, "")


def test_runs_in_the_kernel(as_outsider) -> None:
    """By default the program uses the kernel's engine: its scripts are listed."""
    done = as_outsider([BUILD / "guest" / "listed"])
    assert done.stdout == "engine 1, calls 3\n", done.stderr


def test_pins_what_is_used(as_outsider) -> None:
    """The whole arena is charged once, in place of the part pinned before."""
    done = as_outsider([BUILD / "guest" / "pinned"], env=KERNEL)
    assert done.stdout == "0 128 1024\n", done.stderr


def test_falls_back(as_outsider) -> None:
    """A watched program, or one without lockable memory left, continues natively."""
    for how in ("watched", "unlocked"):
        done = as_outsider([BUILD / "guest" / "fallback", how])
        assert (done.returncode, done.stdout) == (0, "42 42\n"), done.stderr


def test_faults_have_a_line(as_outsider) -> None:
    done = as_outsider([BUILD / "guest" / "fault"], env=KERNEL)
    assert done.returncode == -6
    assert re.fullmatch(r".*fault\.c:\d+: compound: the stack is full\n", done.stderr)


def test_batches_of_any_numbers(as_outsider) -> None:
    """Arguments out of range, that wrap, or name nothing, give the same errors as in a process."""
    done = as_outsider([BUILD / "guest" / "batches"], env=KERNEL)
    assert (done.returncode, done.stdout) == (0, BATCHES.read_text())


# Descriptors are closed in tests/unit/test_cosy.py only: here a compound that loses its own
# continues natively, which this program does not support.
@pytest.mark.parametrize("how", ["rewrite", "unmap"])
def test_batches_while_others_write(how: str, as_outsider) -> None:
    """Another thread rewrites a batch's arguments, or unmaps them."""
    done = as_outsider([BUILD / "guest" / "batches", how, "3000"], env=KERNEL)
    assert (done.returncode, done.stdout) == (0, "some were done\n")


FRAMES = BATCHES.with_name("frames.txt")


def frames(as_outsider, *words: str):
    """In the user's own namespace, with a device."""
    lines = (
        "ip link add name one type veth peer name two",
        "ip link set one up",
        "ip link set two up",
        'exec "$@"',
    )
    command = ["unshare", "-Urn", "sh", "-ec", "\n".join(lines), "sh", BUILD / "guest" / "frames"]
    return as_outsider([*command, *words], env=KERNEL)


def test_frames_of_any_numbers(as_outsider) -> None:
    done = frames(as_outsider, "numbers", "one")
    assert (done.returncode, done.stdout) == (0, FRAMES.read_text()), done.stderr


def test_frames_while_others_write(as_outsider) -> None:
    """Another thread rewrites the frames to send, and the addresses of their bytes."""
    done = frames(as_outsider, "rewrite", "one", "200")
    assert (done.returncode, done.stdout) == (0, "open 1\nover\n"), done.stderr


@pytest.fixture
def short_limit() -> Iterator[None]:
    """100 ms: segments request 10 s and get the maximum."""
    parameter = Path("/sys/module/syscript/parameters/max_time_limit")
    before = parameter.read_text()
    parameter.write_text("100000000")
    yield
    parameter.write_text(before)


@pytest.mark.parametrize("what", ["compute", "call"])
def test_ends_have_a_line(what: str, as_outsider, short_limit) -> None:
    """The line at which time ran out: in the script's own code or in a system call."""
    lines = (ROOT / "tests" / "cosy" / "guest" / "endless.c").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if f"HERE: {what}" in line)
    done = as_outsider([BUILD / "guest" / "endless", what], env=KERNEL)
    assert done.returncode == -6
    # The line of the loop's head is right, too.
    told = re.fullmatch(r".*endless\.c:(\d+): compound: over the time limit\n", done.stderr)
    assert told and int(told[1]) in (number - 1, number), done.stderr
