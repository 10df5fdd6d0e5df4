# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The ready scripts that do what a candidate does."""

from __future__ import annotations

import re
from pathlib import Path

from consolidate.choose import Candidate
from consolidate.flow import Kind, Repeat

HERE = Path(__file__).resolve().parent
# In the repository, and where `make install` puts them.
PLACES = (HERE.parent / "scripts", HERE.parents[2] / "share" / "syscript" / "scripts")

STAT = r"(?:stat|lstat|statx|newfstatat)"
OPEN = r"(?:open|openat)"
# Steps of an iteration, `+` behind what is repeated, and the script for it; the
# first that matches counts, so the larger ones stand first.
SEQUENCES = (
    (
        rf"(?:{OPEN} )?(?:(?:fstat|newfstatat|statx|fcntl) )*getdents64\+? (?:\S+ )*?{STAT}\+ .*",
        "readdirplus",
    ),
    (
        rf"{OPEN} (?:(?:fstat|newfstatat) )?(?:read|pread64)\+? (?:(?:read|pread64)\+? )?close ",
        "open_read_close",
    ),
    (
        rf"(?:{OPEN}|creat) (?:(?:fstat|newfstatat) )?(?:write|pwrite64)\+? (?:fsync )?close ",
        "open_write_close",
    ),
    (rf"{OPEN} (?:fstat|newfstatat) (?:close )?", "open_fstat"),
    (rf"{STAT}\+? ", "stat_many"),
    (r"(?:read\+? write\+? |copy_file_range\+? |sendfile\+? )+", "copy_file"),
    (r"epoll_p?wait2? (?:accept4?\+? )+", "wait_accept"),
    (r"epoll_p?wait2? (?:recvfrom\+? |recvmsg\+? |read\+? )+", "wait_recv"),
    (r"(?:accept4?\+? )+", "accept_batch"),
    (r"(?:recvfrom\+? )+", "recv_batch"),
    (r"(?:sendto\+? )+", "send_batch"),
)


def steps(candidate: Candidate) -> str:
    """An iteration in a form that patterns can look at."""
    text = ""
    for step in candidate.flow.steps:
        nested = len(step.path) > 1 or step.repeat is not Repeat.ONCE
        text += step.name + ("+ " if nested else " ")
    return text


def path_of(name: str) -> Path | None:
    return next((p / f"{name}.lua" for p in PLACES if (p / f"{name}.lua").exists()), None)


def script_for(candidate: Candidate) -> str | None:
    """The name of the library's script for a candidate; None if it has none."""
    text = steps(candidate)
    for pattern, name in SEQUENCES:
        if re.fullmatch(pattern, text) and path_of(name) is not None and same_data(candidate):
            return name
    return None


def same_data(candidate: Candidate) -> bool:
    """Whether steps behind an open work on what it opened, as all ready scripts do."""
    found = candidate.flow.steps
    if not found[0].name.startswith(("open", "creat")):
        return True
    return all(
        source.kind is Kind.RESULT
        for step in found[1:]
        for source in step.args[:1]
        if source.letter == "f" and step.name in ("read", "write", "close", "fstat", "getdents64")
    )
