# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds calls that each program makes once when it starts: not worth a script.

The loader, shared libraries, locales, an interpreter's modules, and initialisation by the C library
and interpreters before main() are excluded, each with its kind.
"""

from __future__ import annotations

import re

from consolidate import calltable
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.reader import Thread

LOADER = "start-up: the dynamic loader"
SETTING_UP = "start-up: the C library and the interpreter set themselves up"
PLACES = (
    (re.compile(r"\.so(?:\.[\d.]+)*$|/ld\.so\.(?:cache|preload)$"), "start-up: shared libraries"),
    (re.compile(r"/locale/|/locale\.alias$|/gconv|/charset\.alias$"), "start-up: locales"),
    (re.compile(r"/nscd/|/etc/nsswitch\.conf$"), "start-up: name services"),
)
# Only for an interpreter: to other programs these are ordinary files.
INTERPRETERS = re.compile(r"^(?:python|pypy|perl|ruby|node|php)[\d.]*$")
MODULES = (
    re.compile(
        r"/lib/python[\d.]*(?:/|$|\w*\.zip$)|/(?:site|dist)-packages(?:/|$)|\.pyc?$|/pyvenv\.cfg$"
        r"|/__pycache__|/perl5?/|\.pmc?$|/node_modules/|/ruby/"
    ),
    "start-up: modules of the interpreter",
)
LOADER_CACHE = '"/etc/ld.so.cache"'
# The loader opens its cache within this many calls of a new image.
LOADER_STARTS = 16
# A program initialises itself within this many calls; paths that belong to that.
STARTS = 400
SETS_UP = calltable.words(
    """
    arch_prctl set_tid_address set_robust_list rseq prlimit64 getrandom rt_sigaction
    rt_sigprocmask sigaltstack mprotect sched_getaffinity sysinfo prctl getuid geteuid getgid
    getegid getpid gettid getppid getpgrp uname mremap
    """
)


def end_of_loader(calls: list[Call], execve: int) -> int:
    """The dynamic loader's last call: it unmaps the cache."""
    opened = None
    for i in range(execve + 1, min(execve + 1 + LOADER_STARTS, len(calls))):
        if calls[i].name.startswith("open") and LOADER_CACHE in calls[i].args:
            opened = calls[i].ret
        elif calls[i].name == "mmap" and opened is not None and opened >= 0:
            mapped = f"{calls[i].ret:#x}"
            for j in range(i + 1, len(calls)):
                if calls[j].name == "munmap" and mapped in calls[j].args:
                    return j
                if calls[j].name == "execve":
                    break
            return execve
    return execve


class Starts:
    """Examines the calls of one thread."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.places = PLACES
        if INTERPRETERS.match(thread.command):
            self.places += (MODULES,)
        self.aside: dict[int, str] = {}
        self.files: dict[int, str] = {}  # descriptors of start-up files

    def __call__(self) -> dict[int, str]:
        begun = loader = -STARTS
        for i, call in enumerate(self.thread.calls):
            if call.name == "execve" and call.ret == 0:
                begun, loader = i, end_of_loader(self.thread.calls, i)
                self.files.clear()
            why = self.why(call)
            if i <= loader:
                why = LOADER
            elif why is None and i - begun < STARTS and call.name in SETS_UP:
                why = SETTING_UP
            if why is not None:
                self.aside[i] = why
        return self.aside

    def why(self, call: Call) -> str | None:
        """The kind of start-up work of a call, by its path or its descriptor."""
        why = self.named(call)
        fd = values.head(call.args)[0] if self.files else None
        if why is None and self.files:
            why = self.files.get(values.mapped(call.args) if call.name == "mmap" else fd)
        if call.name in calltable.OPENERS and call.error is None:
            self.files.pop(call.ret, None)
            if why is not None:
                self.files[call.ret] = why
        if call.name == "close":
            self.files.pop(fd, None)
        return why

    def named(self, call: Call) -> str | None:
        """The kind of start-up work of a call's path."""
        if '"' not in call.args:
            return None
        path = call.args if call.name == "connect" else values.first_raw(call.args)
        if "/" not in path:
            return None
        return next((why for pattern, why in self.places if pattern.search(path)), None)


def starts(thread: Thread) -> dict[int, str]:
    """The calls to exclude, by index, with their kind."""
    return Starts(thread)()
