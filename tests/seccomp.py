# SPDX-License-Identifier: GPL-2.0
"""Seccomp filters by libseccomp, and the profiles of container runtimes and systemd.

usage: seccomp.py PROFILE COMMAND...     runs a command under one of them
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import functools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KILL_PROCESS = 0x80000000
KILL_THREAD = 0x00000000
TRAP = 0x00030000
TRACE = 0x7FF00000
LOG = 0x7FFC0000
ALLOW = 0x7FFF0000
ACTIONS = {
    "SCMP_ACT_ALLOW": ALLOW,
    "SCMP_ACT_LOG": LOG,
    "SCMP_ACT_KILL": KILL_THREAD,
    "SCMP_ACT_KILL_PROCESS": KILL_PROCESS,
}
OPERATIONS = ["NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"]  # from 1 on

# Default profiles: Podman's, from Debian's golang-github-containers-common; and Docker's, which
# tools/deps fetches.
PODMAN_PROFILE = Path("/usr/share/containers/seccomp.json")
DOCKER_PROFILE = Path(__file__).resolve().parents[1] / "build/deps/docker-seccomp.json"
CONTAINER_PROFILE = PODMAN_PROFILE if PODMAN_PROFILE.exists() else DOCKER_PROFILE
MACHINE = "arm64" if platform.machine() == "aarch64" else "amd64"  # Debian's name


def error(number: int) -> int:
    """An action that fails a call with an errno."""
    return 0x00050000 | number


@dataclass(frozen=True)
class Condition:
    """argument `index` OPERATION value, or for MASKED_EQ (argument & value) == second."""

    index: int
    operation: str
    value: int
    second: int = 0


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp."""

    _fields_ = [
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    ]


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("seccomp") or "libseccomp.so.2")


def number(name: str) -> int:
    """A system call's number, or a negative one if this machine or libseccomp lacks the call."""
    return _library().seccomp_syscall_resolve_name(name.encode())


class Filter:
    """A filter under construction; load() applies it to this process for good."""

    def __init__(self, default: int) -> None:
        self.so = _library()
        self.so.seccomp_init.restype = ctypes.c_void_p
        self.so.seccomp_init.argtypes = [ctypes.c_uint32]
        self.so.seccomp_rule_add_array.argtypes = [
            *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint),
            ctypes.POINTER(Comparison),
        ]
        self.so.seccomp_load.argtypes = [ctypes.c_void_p]
        self.default = default
        self.context = self.so.seccomp_init(default)
        assert self.context

    def rule(self, action: int, name: str, *conditions: Condition) -> bool:
        """False if libseccomp does not know the call."""
        nr = number(name)
        if nr < 0 or action == self.default:
            return False
        array = (Comparison * max(len(conditions), 1))(
            *(
                Comparison(c.index, OPERATIONS.index(c.operation) + 1, c.value, c.second)
                for c in conditions
            )
        )
        done = self.so.seccomp_rule_add_array(self.context, action, nr, len(conditions), array)
        assert done == 0, (name, done)
        return True

    def exported(self) -> bytes:
        """As a classic BPF program, the form that sandboxes accept."""
        reading, writing = os.pipe()
        assert self.so.seccomp_export_bpf(ctypes.c_void_p(self.context), writing) == 0
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            return pipe.read()

    def load(self) -> None:
        done = self.so.seccomp_load(self.context)
        assert done == 0, done


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def load(program: bytes) -> None:
    """Apply an exported filter to this process: faster than building it again."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    given = Program(len(program) // 8, program)
    for args in ((38, 1, 0, 0, 0), (22, 2, ctypes.byref(given), 0, 0)):  # PR_SET_SECCOMP
        if prctl(*args):
            raise OSError(ctypes.get_errno(), "prctl")


def _applies(rule: dict) -> bool:
    """Whether a rule applies to a container of this machine without capabilities."""
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    if includes.get("caps"):
        return False
    if includes.get("arches") and MACHINE not in includes["arches"]:
        return False
    return MACHINE not in (excludes.get("arches") or [])


def _conditions(rule: dict) -> Iterator[Condition]:
    for arg in rule.get("args") or []:
        operation = arg["op"].removeprefix("SCMP_CMP_")
        yield Condition(arg["index"], operation, arg["value"], arg.get("valueTwo", 0))


def container(path: Path = CONTAINER_PROFILE) -> Filter:
    """The default profile of a container runtime."""
    profile = json.loads(path.read_text())
    found = Filter(error(profile.get("defaultErrnoRet", 1)))
    for rule in filter(_applies, profile["syscalls"]):
        action = ACTIONS.get(rule["action"], error(rule.get("errnoRet", 1)))
        for name in rule["names"]:
            found.rule(action, name, *_conditions(rule))
    return found


@functools.cache
def _systemd_sets() -> dict[str, list[str]]:
    """systemd's call sets: @NAME with its calls and other sets."""
    shown = subprocess.run(
        ["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True
    )
    sets: dict[str, list[str]] = {}
    for line in shown.stdout.splitlines():
        word = line.split("#")[0].strip()
        if word and not line.startswith(" "):
            members = sets.setdefault(word, [])
        elif word:
            members.append(word)
    return sets


def _calls_of(name: str) -> Iterator[str]:
    for member in _systemd_sets()[name]:
        if member.startswith("@"):
            yield from _calls_of(member)
        else:
            yield member


def of_services() -> set[str]:
    """The calls that SystemCallFilter=@system-service allows."""
    return {*_calls_of("@system-service"), *_calls_of("@default")}


def system_service(default: int) -> Filter:
    """systemd's SystemCallFilter=@system-service with SystemCallErrorNumber=, or without."""
    found = Filter(default)
    for name in of_services():
        found.rule(ALLOW, name)
    return found


PROFILES = {
    "container": container,
    "docker": lambda: container(DOCKER_PROFILE),
    "system-service": lambda: system_service(error(errno.EPERM)),
}


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in PROFILES:
        sys.exit(f"usage: seccomp.py {'|'.join(PROFILES)} COMMAND...")
    PROFILES[sys.argv[1]]().load()
    os.execvp(sys.argv[2], sys.argv[2:])
