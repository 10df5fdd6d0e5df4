# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The ready scripts that do what a candidate does."""

from __future__ import annotations

import re
from pathlib import Path

from consolidate.choose import Candidate
from consolidate.flow import SIZE_ARG, Kind, Repeat, Source, Step

HERE = Path(__file__).resolve().parent
# In the repository, and where `make install` puts them.
PLACES = (HERE.parent / "scripts", HERE.parents[2] / "share" / "syscript" / "scripts")

STAT = r"(?:stat|lstat|statx|newfstatat)"
FSTAT = r"(?:fstat|newfstatat)"
OPEN = r"(?:open|openat)"
# Steps of an iteration, `+` behind what is repeated, and the script for it; the
# first that matches counts, so the larger ones stand first.
SEQUENCES = (
    (
        rf"(?:{OPEN} )?(?:(?:fstat|newfstatat|statx|fcntl) )*getdents64\+? (?:\S+ )*?{STAT}\+ .*",
        "readdirplus",
    ),
    (
        rf"{OPEN} (?:{FSTAT} )?(?:read|pread64)\+? (?:(?:read|pread64)\+? )?close ",
        "open_read_close",
    ),
    (
        rf"(?:{OPEN}|creat) (?:{FSTAT} )?(?:write|pwrite64)\+? (?:fsync )?close ",
        "open_write_close",
    ),
    (rf"{OPEN} {FSTAT} (?:close )?", "open_fstat"),
    (rf"{STAT}\+? ", "stat_many"),
    (r"(?:read\+? write\+? |copy_file_range\+? |sendfile\+? )+", "copy_file"),
    (r"epoll_p?wait2? (?:accept4?\+? )+", "wait_accept"),
    (r"epoll_p?wait2? (?:recvfrom\+? |recvmsg\+? |read\+? )+", "wait_recv"),
    (r"(?:accept4?\+? )+", "accept_batch"),
    (r"(?:recvfrom\+? )+", "recv_batch"),
    (r"(?:sendto\+? )+", "send_batch"),
)
# Those of which one function of the library does all, so that it can be priced.
READ = rf"{OPEN} (?:{FSTAT} )?(?:read\+? ){{1,2}}close "
REPLACED = {
    "readdirplus": rf"{OPEN} (?:{FSTAT} )?getdents64\+? {STAT}\+ (?:getdents64 )?close ",
    "open_read_close": READ,
    "read_many": READ,
    "open_write_close": rf"(?:{OPEN}|creat) (?:{FSTAT} )?write close ",
    "open_fstat": rf"{OPEN} {FSTAT} (?:close )?",
    "stat_many": rf"{STAT} ",
}
# In the place of a script that takes one file, where there are many.
OF_MANY = {"open_read_close": "read_many"}
ONE_EACH = frozenset(["open_read_close", "readdirplus"])
# Files that are not read as files are: a script saves only mode switches there.
SPECIAL = (b"/proc/", b"/sys/", b"/dev/")


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
            return OF_MANY.get(name, name) if candidate.batched() else name
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


def replacement(candidate: Candidate) -> str | None:
    """That script, if one of its calls can stand in the place of all the candidate's."""
    script = script_for(candidate)
    fits = (
        script in REPLACED
        and re.fullmatch(REPLACED[script], steps(candidate))
        and stats_what_it_has(candidate)
        and of_files(candidate)
        and (script in ONE_EACH or same_way(candidate))
    )
    return script if fits else None


def path_arg(step: Step) -> int:
    """Which argument is the path; one that is not the first begins at a directory."""
    return 0 if step.name in ("open", "creat", "stat", "lstat") else 1


def stats_what_it_has(candidate: Candidate) -> bool:
    """Whether newfstatat() behind an open is of the file itself or of names in it."""
    first, *others = candidate.flow.steps
    if not first.name.startswith("open"):
        return True
    return all(
        step.args[1].kind is Kind.NAME or is_empty(step.args[1])
        for step in others
        if step.name in ("newfstatat", "statx")
    )


def is_empty(source: Source) -> bool:
    return source.kind is Kind.CONST and source.value.string == b""


def of_files(candidate: Candidate) -> bool:
    """Whether the paths that were seen are those of files and directories proper."""
    first = candidate.flow.steps[0]
    seen = first.args[path_arg(first)].seen
    return not any(value.string and value.string.startswith(SPECIAL) for value in seen)


def same_way(candidate: Candidate) -> bool:
    """Whether one directory, flags and mode are for all files of a batch."""
    return not candidate.batched() or all(
        source.steady
        for step in candidate.flow.steps
        for arg, source in enumerate(step.args)
        if source.kind is Kind.PARAM and source.letter in "fi" and SIZE_ARG.get(step.name) != arg
    )


def is_fstat(step: Step) -> bool:
    """Whether it asks for the attributes of a descriptor."""
    return step.name == "fstat" or (step.name in ("newfstatat", "statx") and is_empty(step.args[1]))


def calls(script: str | None, candidate: Candidate) -> int:
    """How often a script is called in the place of all the candidate's calls."""
    return candidate.iterations if script in ONE_EACH else candidate.script_calls()
