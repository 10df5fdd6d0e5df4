# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The library's ready scripts, and the candidates that they can replace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from consolidate import paths
from consolidate.mine.candidate import Candidate
from consolidate.mine.dataflow import SIZE_ARG, Kind, Repeat, Source, Step

STAT = r"(?:stat|lstat|statx|newfstatat)"
FSTAT = r"(?:fstat|newfstatat)"
OPEN = r"(?:open|openat)"
SEND = r"sendto|sendmsg|writev|write"
READ = rf"{OPEN} (?:{FSTAT} )?(?:read\+? ){{1,2}}close "


@dataclass(frozen=True, slots=True)
class Ready:
    """A script of the library: consolidate's only description of it."""

    name: str
    # The steps of an iteration that it replaces; `+` marks repetition.
    sequence: str = ""
    # The calls that one call of it replaces, so that it is in the cost model.
    replaces: str = ""
    # That call in C, for replays; see replay_library.py.
    call: str = ""
    # The script to use for many files; empty if this one takes many.
    of_many: str = ""
    one_each: bool = False  # it takes a single file or directory


# The first whose sequence matches counts, so longer ones come first.
READY = (
    Ready(
        "readdirplus",
        rf"(?:{OPEN} )?(?:(?:fstat|newfstatat|statx|fcntl) )*getdents64\+? (?:\S+ )*?{STAT}\+ .*",
        rf"{OPEN} (?:{FSTAT} )?getdents64\+? {STAT}\+ (?:getdents64 )?close ",
        "listed({dirfd}, {path})",
        one_each=True,
    ),
    Ready(
        "open_read_close",
        rf"{OPEN} (?:{FSTAT} )?(?:read|pread64)\+? (?:(?:read|pread64)\+? )?close ",
        READ,
        "syscript_open_read_close({dirfd}, (char *){path}, (void *)({data}), {size}, NULL)",
        of_many="read_many",
        one_each=True,
    ),
    Ready(
        "read_many",
        replaces=READ,
        call="syscript_read_many({dirfd}, files, ITEMS, 0)",
    ),
    Ready(
        "open_write_close",
        rf"(?:{OPEN}|creat) (?:{FSTAT} )?(?:write|pwrite64)\+? (?:fsync )?close ",
        rf"(?:{OPEN}|creat) (?:{FSTAT} )?write close ",
        "syscript_write_many({dirfd}, files, ITEMS,"
        " {flags} & (O_CREAT | O_TRUNC | O_APPEND), {mode})",
    ),
    Ready(
        "open_fstat",
        rf"{OPEN} {FSTAT} (?:close )?",
        rf"{OPEN} {FSTAT} (?:close )?",
        "syscript_open_many({dirfd}, files, ITEMS, {flags}, {mode}, STATX_BASIC_STATS)",
    ),
    Ready(
        "stat_many",
        rf"{STAT}\+? ",
        rf"{STAT} ",
        "syscript_stat_many({dirfd}, files, ITEMS, STATX_BASIC_STATS, {flags})",
    ),
    Ready(
        "send_file",
        rf"{OPEN} (?:{FSTAT} )?(?:(?:{SEND}) )?sendfile\+? close ",
        one_each=True,
    ),
    Ready("copy_file", r"(?:read\+? write\+? |copy_file_range\+? |sendfile\+? )+"),
    Ready("wait_accept", r"epoll_p?wait2? (?:accept4?\+? )+"),
    Ready("wait_recv", r"epoll_p?wait2? (?:recvfrom\+? |recvmsg\+? |read\+? )+"),
    Ready("accept_batch", r"(?:accept4?\+? )+"),
    Ready("recv_batch", r"(?:recvfrom\+? )+"),
    Ready("send_batch", r"(?:sendto\+? )+"),
)
BY_NAME = {one.name: one for one in READY}
# Entries of the cost model, see calibrate.c.
MEASURED = tuple(one.name for one in READY if one.replaces)
# Special files: a script saves only mode switches there.
SPECIAL = (b"/proc/", b"/sys/", b"/dev/")


def steps(candidate: Candidate) -> str:
    """An iteration's steps as text, for regular expressions."""
    text = ""
    for step in candidate.flow.steps:
        nested = len(step.path) > 1 or step.repeat is not Repeat.ONCE
        text += step.name + ("+ " if nested else " ")
    return text


def path_of(name: str) -> Path | None:
    return paths.first(tuple(folder / f"{name}.lua" for folder in paths.SCRIPTS))


def script_for(candidate: Candidate) -> str | None:
    """The name of the library's script for a candidate; None if there is none."""
    text = steps(candidate)
    for one in READY:
        fits = one.sequence and re.fullmatch(one.sequence, text)
        if fits and path_of(one.name) is not None and same_data(candidate):
            return one.of_many if candidate.batched and one.of_many else one.name
    return None


def same_data(candidate: Candidate) -> bool:
    """Whether steps after an open work on the opened file, as in all ready scripts."""
    steps_ = candidate.flow.steps
    if not steps_[0].name.startswith(("open", "creat")):
        return True
    names = {"read": 0, "close": 0, "fstat": 0, "getdents64": 0, "sendfile": 1}
    if not any(step.name == "sendfile" for step in steps_):
        names["write"] = 0
    return all(
        step.args[names[step.name]].kind is Kind.RESULT
        for step in steps_[1:]
        if step.name in names and step.args[names[step.name]].letter == "f"
    )


def replacement(candidate: Candidate) -> str | None:
    """That script, if one of its calls can replace all the candidate's."""
    script = script_for(candidate)
    fits = (
        script in MEASURED
        and re.fullmatch(BY_NAME[script].replaces, steps(candidate))
        and stats_what_it_has(candidate)
        and of_files(candidate)
        and (is_one_each(script) or same_way(candidate))
    )
    return script if fits else None


def path_arg(step: Step) -> int:
    """The index of the path argument; if not the first, it follows a directory."""
    return 0 if step.name in ("open", "creat", "stat", "lstat") else 1


def stats_what_it_has(candidate: Candidate) -> bool:
    """Whether newfstatat() after an open concerns the file itself or names in it."""
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
    """Whether the observed paths are regular files and directories."""
    first = candidate.flow.steps[0]
    seen = first.args[path_arg(first)].seen
    return not any(value.string and value.string.startswith(SPECIAL) for value in seen)


def same_way(candidate: Candidate) -> bool:
    """Whether all files of a batch have one directory, flags and mode."""
    return not candidate.batched or all(
        source.steady or not source.varies
        for step in candidate.flow.steps
        for arg, source in enumerate(step.args)
        if source.kind is Kind.PARAM and source.letter in "fi" and SIZE_ARG.get(step.name) != arg
    )


def is_fstat(step: Step) -> bool:
    """Whether it queries a descriptor's attributes."""
    return step.name == "fstat" or (step.name in ("newfstatat", "statx") and is_empty(step.args[1]))


def calls(script: str | None, candidate: Candidate) -> int:
    """How many calls of a script replace all the candidate's calls."""
    return candidate.iterations if is_one_each(script) else candidate.script_calls


def is_one_each(script: str | None) -> bool:
    """Whether a script takes a single file; generated ones (None) take many."""
    return script in BY_NAME and BY_NAME[script].one_each
