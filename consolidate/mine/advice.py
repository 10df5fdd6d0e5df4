# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Detects where something other than a script would help more.

Line-by-line writes need a buffer, not fewer mode switches per line; a loop of read() and write()
needs a copying system call; repeated queries need a cache. Most of these calls are excluded before
sequences are searched.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from consolidate import calltable
from consolidate.mine import dependences
from consolidate.mine.dataflow import LISTERS, entries
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.reader import Thread, Trace

# Average bytes below which writes or reads count as small, and the size they could have.
SMALL_WRITE, SMALL_READ = 1024, 32768
BUFFER, READ_BUFFER = 65536, 131072
# The least number of calls in a series.
WRITES, READS, COPIES, ASKED = 16, 16, 4, 50
# Directories in a walk, at least, even if no attributes are queried.
WALK = 16
# Seconds that a call waits for a device, and the share of time from which that matters.
DEVICE_TIME = 0.0003
DEVICE_SHARE = 0.1
# Queries alike, by one program, that have a line of advice each; more of them share one.
ALIKE = 2
# Saved calls that are worth a line of advice, and their share of all calls.
LEAST = 20
SHARE = 0.005

OPENS = calltable.words("open openat")
WRITERS = calltable.words("write writev")
DEVICE = calltable.words(
    "read pread64 readv preadv write pwrite64 writev pwritev fsync fdatasync sync_file_range"
)
SYNCS = calltable.words("fsync fdatasync sync_file_range syncfs sync msync")
IDENTITIES = calltable.words("getpid gettid getppid getuid geteuid getgid getegid getpgrp getcwd")
ASKERS = calltable.QUERIES | IDENTITIES | {"uname", "sysinfo", "sched_getaffinity", "getrlimit"}
# Calls on a file that is opened only to be read.
ON_READ = calltable.words("read pread64 readv fstat newfstatat statx lseek mmap fadvise64 ioctl")
FOR_READING = re.compile(r"\bO_RDONLY\b(?!.*\b(?:O_CREAT|O_DIRECTORY|O_PATH)\b)")
MADE_WHEN_READ = ("/proc/", "/sys/")
# Descriptors that are neither a file nor a terminal.
OTHER_KINDS = re.compile(r"^(?:pipe|socket|TCP|UDP|UNIX|NETLINK|anon_inode|memfd)\b|^\w+:\[")


@dataclass(slots=True)
class Advice:
    """An alternative to a script, its place, and the calls that would remain."""

    kind: str
    text: str
    where: str
    calls: int
    would_be: int
    example: Call

    @property
    def saved(self) -> int:
        return self.calls - self.would_be


@dataclass(slots=True)
class Series:
    """Related calls on one descriptor."""

    indices: list[int] = field(default_factory=list)
    bytes: int = 0

    def add(self, index: int, size: int) -> None:
        self.indices.append(index)
        self.bytes += size


@dataclass(slots=True)
class Found:
    """Calls of one kind in one program, for one piece of advice."""

    count: int = 0
    bytes: int = 0
    would_be: int = 0
    times: int = 0
    example: Call | None = None

    def add(self, calls: list[Call], size: int, would_be: int) -> None:
        self.times += 1
        self.count += len(calls)
        self.bytes += size
        self.would_be += would_be
        self.example = self.example or calls[len(calls) // 2]


def parts(size: int, of: int = BUFFER) -> int:
    return -(-size // of)


def is_plain(path: str | None) -> bool:
    """Whether a descriptor may be a file or a terminal, as far as the trace shows."""
    return path is None or not OTHER_KINDS.match(path)


def named(fd: int, path: str | None) -> str:
    return (path or "").partition("<")[0] or f"descriptor {fd}"


def is_told(call: Call) -> bool:
    """Whether the trace contains paths; not all perf and audit traces do."""
    return call.name not in calltable.QUERIES or '"' in call.args


class Adviser:
    """Examines all threads; calls covered by advice are excluded."""

    def __init__(self, trace: Trace, aside: dict[int, dict[int, str]]) -> None:
        self.trace = trace
        self.aside = aside
        self.found: dict[tuple[str, str, str], Found] = defaultdict(Found)
        # The current thread's calls: see left().
        self.calls: list[tuple[int, Call, int | None, str | None]] = []

    def __call__(self) -> list[Advice]:
        for thread in self.trace.threads.values():
            aside = self.aside.setdefault(thread.tid, {})
            self.calls = [
                (i, call, *values.head(call.args))
                for i, call in enumerate(thread.calls)
                if i not in aside
            ]
            made = {call.name for _, call, _, _ in self.calls}
            for names, look in (
                (OPENS, self.read_again),
                (WRITERS, self.copies),
                (WRITERS, self.small_writes),
                (dependences.READERS, self.small_reads),
                (ASKERS, self.asked_again),
                (LISTERS, self.listings),
                (DEVICE, self.device),
            ):
                if not made.isdisjoint(names):
                    look(thread)
        return sorted(joined(self.advices()), key=lambda one: -one.saved)

    def advices(self) -> Iterator[Advice]:
        least = max(LEAST, SHARE * self.trace.calls)
        for (kind, where, what), found in self.found.items():
            saved = found.count - found.would_be
            if saved >= least or kind == "device" and found.count:
                text = TEXTS[kind](what, found)
                yield Advice(kind, text, where, found.count, found.would_be, found.example)

    def left(self, thread: Thread) -> list[tuple[int, Call, int | None, str | None]]:
        """The calls not yet excluded: each with its index, descriptor, and path."""
        aside = self.aside[thread.tid]
        if len(self.calls) + len(aside) > len(thread.calls):
            self.calls = [one for one in self.calls if one[0] not in aside]
        return self.calls

    def note(self, thread: Thread, kind: str, what: str, series: Series, would_be: int) -> None:
        calls = [thread.calls[i] for i in series.indices]
        where = thread.command or str(thread.tid)
        self.found[kind, where, what].add(calls, series.bytes, would_be)

    def take(self, thread: Thread, kind: str, what: str, series: Series, would_be: int) -> None:
        """Record the advice, and exclude the calls."""
        self.note(thread, kind, what, series, would_be)
        self.aside[thread.tid].update(dict.fromkeys(series.indices, ASIDE[kind]))

    # -- copies --------------------------------------------------------------------

    def copies(self, thread: Thread) -> None:
        """Alternating read() and write() of the same bytes."""
        series, pair, before = Series(), None, None
        for i, call, _, _ in self.left(thread):
            if call.name == "write" and before is not None and is_copy(before[1], call):
                both = (kind_of(before[1]), kind_of(call))
                if both != pair:
                    self.copied(thread, series, pair)
                    series, pair = Series(), both
                series.add(before[0], 0)
                series.add(i, call.ret)
            elif call.name != "read":
                self.copied(thread, series, pair)
                series, pair = Series(), None
            before = (i, call)
        self.copied(thread, series, pair)

    def copied(self, thread: Thread, series: Series, pair: tuple[str, str] | None) -> None:
        if len(series.indices) >= 2 * COPIES:
            self.take(thread, "copy", " to ".join(pair), series, parts(series.bytes, 1 << 30))

    # -- buffers -------------------------------------------------------------------

    def small_writes(self, thread: Thread) -> None:
        open_series: dict[int, tuple[str, Series]] = {}
        for i, call, fd, path in self.left(thread):
            if call.name in WRITERS and call.ret and is_plain(path):
                what, series = open_series.setdefault(fd, (named(fd, path), Series()))
                series.add(i, call.ret)
            elif fd in open_series and calltable.kinds(call.name)[:1] == "f":
                self.written(thread, *open_series.pop(fd))
        for what, series in open_series.values():
            self.written(thread, what, series)

    def written(self, thread: Thread, what: str, series: Series) -> None:
        count = len(series.indices)
        if count >= WRITES and series.bytes < SMALL_WRITE * count:
            self.take(thread, "write", what, series, parts(series.bytes))

    def small_reads(self, thread: Thread) -> None:
        """Consecutive reads of one file, each filling its buffer."""
        series, last = Series(), None
        for i, call, fd, path in self.left(thread):
            if is_full_read(call) and is_plain(path):
                if last != (fd, call.ret):
                    self.read(thread, series)
                    series = Series()
                last = (fd, call.ret)
                series.add(i, call.ret)
            elif last is not None and fd == last[0]:
                self.read(thread, series)
                series, last = Series(), None
        self.read(thread, series)

    def read(self, thread: Thread, series: Series) -> None:
        if len(series.indices) < READS:
            return
        # The first read is needed for any file.
        rest = Series(series.indices[1:], series.bytes)
        size = str(series.bytes // len(series.indices))
        self.take(thread, "read", size, rest, parts(series.bytes, READ_BUFFER) - 1)

    # -- the same again --------------------------------------------------------------

    def asked_again(self, thread: Thread) -> None:
        asked: dict[tuple[str, str], tuple[tuple, Series]] = {}
        often = self.asked_often(thread)
        for i, call, _, _ in self.left(thread) if often else ():
            if (call.name, first_string(call.args)) not in often:
                continue
            key = call.name, question(call)
            answer = call.ret, call.error, call.args
            if key not in asked or asked[key][0] != answer:
                self.asked(thread, key[0], asked.get(key))
                asked[key] = (answer, Series())
            asked[key][1].add(i, 0)
        for (name, _), one in asked.items():
            self.asked(thread, name, one)

    def asked_often(self, thread: Thread) -> set[tuple[str, str]]:
        """Calls, with their first string, that got the same answer often; few of all."""
        same = Counter(
            [
                (call.name, call.args)
                for _, call, _, _ in self.left(thread)
                if call.name in ASKERS and is_told(call)
            ]
        )
        return {(n, first_string(args)) for (n, args), count in same.items() if count >= ASKED}

    def asked(self, thread: Thread, name: str, one: tuple[tuple, Series] | None) -> None:
        if one is not None and len(one[1].indices) >= ASKED:
            first = thread.calls[one[1].indices[0]]
            what = f"{name}({question(first)})"
            if name in IDENTITIES:
                self.take(thread, "again", what, one[1], 1)
            else:
                # Other processes may change a file, so the order among other calls may matter.
                self.note(thread, "again", what, one[1], 1)

    def read_again(self, thread: Thread) -> None:
        """Files that are repeatedly opened, read and closed."""
        reads: dict[str, list[Series]] = defaultdict(list)
        opened: dict[int, tuple[str, Series]] = {}
        for i, call, fd, _ in self.left(thread):
            if call.name in OPENS and call.error is None:
                opened.pop(call.ret, None)
                # Without paths in the trace, no two files are known to be the same.
                if FOR_READING.search(call.args) and (path := path_of(call)):
                    opened[call.ret] = path, Series([i])
                continue
            fd = values.mapped(call.args) if call.name == "mmap" else fd
            if fd not in opened:
                continue
            path, series = opened[fd]
            series.add(i, call.ret if call.name in dependences.READERS and call.ret else 0)
            if call.name == "close":
                reads[path].append(series)
            if call.name not in ON_READ:
                del opened[fd]
        for path, several in reads.items():
            # The first time remains.
            for series in several[1:] if len(several) >= ASKED else ():
                self.take(thread, "reopened", path, series, 0)

    # -- no sequences, but worth a word ----------------------------------------------

    def listings(self, thread: Thread) -> None:
        """Directories whose entries' attributes are queried one by one."""
        # Of all directories: a walk comes back to the rest of one after those below it.
        names: set[bytes] = set()
        found, directories, example = 0, 0, None
        for _, call, _, _ in self.left(thread):
            if call.name in LISTERS and call.ret and call.error is None:
                names |= entries(call)
                directories += 1
                example = example or call
            elif call.name in calltable.QUERIES and names and base_name(call) in names:
                found, example = found + 1, call if not found else example
        where = thread.command or str(thread.tid)
        if directories >= 3 and found >= directories:
            self.found["list", where, ""].add([example] * (found + 2 * directories), 0, directories)
        elif directories >= WALK:
            # Open, list twice, and close each.
            self.found["walk", where, ""].add([example] * 4 * directories, 0, 1)

    def device(self, thread: Thread) -> None:
        """Calls that mostly wait for a device, which fewer mode switches cannot speed up."""
        took: dict[str, list[float]] = defaultdict(list)
        example: dict[str, Call] = {}
        for _, call, _, path in self.left(thread):
            if call.name in DEVICE and call.took and is_plain(path):
                took[call.name].append(call.took)
                example.setdefault(call.name, call)
        span = self.trace.span() or 0.0
        for name, times in took.items():
            if median(times) >= DEVICE_TIME and sum(times) >= DEVICE_SHARE * span > 0:
                where = thread.command or str(thread.tid)
                what = f"{name} {sum(times):.3g} {median(times) * 1e3:.3g}"
                found = self.found["device", where, what]
                found.add([example[name]] * len(times), 0, len(times))


def is_full_read(call: Call) -> bool:
    """Whether a small read filled its buffer."""
    if call.name != "read" or not call.ret or call.ret > SMALL_READ:
        return False
    return call.args.endswith(f", {call.ret}")


def is_copy(read: Call, write: Call) -> bool:
    """Whether a write passes on the data just read."""
    if read.name != "read" or not read.ret or read.ret != write.ret:
        return False
    got, sent = (values.of_call(call.name, call.args) for call in (read, write))
    if len(got) < 3 or len(sent) < 3:
        return False
    if got[1].string is None or sent[1].string is None:
        return got[1].is_address and got[1].number == sent[1].number
    shorter = min(len(got[1].string), len(sent[1].string))
    return got[1].string[:shorter] == sent[1].string[:shorter]


def kind_of(call: Call) -> str:
    """The object behind a call's descriptor: a file, unless the trace shows otherwise."""
    _, path = values.head(call.args)
    if is_plain(path):
        return "file"
    return "pipe" if path.startswith("pipe") else "socket"


def path_of(call: Call) -> str:
    """The path that a call opened, as far as the trace shows it."""
    shown = re.match(r"\d+<([^<>]+)>", call.result)
    return shown[1] if shown else values.first_text(call.args).decode("utf-8", "replace")


def base_name(call: Call) -> bytes:
    """The last component of a call's path."""
    return values.first_text(call.args).rpartition(b"/")[2]


def first_string(args: str) -> str:
    """As in the trace, with quotes."""
    begin = args.find('"')
    return args[begin : args.find('"', begin + 1)] if begin >= 0 else ""


def question(call: Call) -> str:
    """The arguments of a query, without its output buffers."""
    args = values.of_call(call.name, call.args)
    return ", ".join(value.text for value in args if not value.is_struct and not value.is_address)


AGAIN = " again and again"


def joined(advices: Iterable[Advice]) -> Iterator[Advice]:
    """The advice, with one line for many repeated queries of a kind in one program."""
    alike: dict[tuple[str, str, str], list[Advice]] = defaultdict(list)
    for one in advices:
        if one.kind == "again":
            alike[one.where, one.example.name, one.text.partition(AGAIN)[2]].append(one)
        else:
            yield one
    for group in alike.values():
        if len(group) <= ALIKE:
            yield from group
            continue
        most = max(group, key=lambda one: one.saved)
        most.text = most.text.replace(AGAIN, f" and {len(group) - 1} others like it{AGAIN}")
        most.calls = sum(one.calls for one in group)
        most.would_be = sum(one.would_be for one in group)
        yield most


def copy_text(what: str, found: Found) -> str:
    pipe, files = "pipe" in what, what == "file to file"
    call = "splice(2)" if pipe else "copy_file_range(2)" if files else "sendfile(2)"
    return f"copies {found.bytes} bytes from {what} through its own memory: {call}"


def again_text(what: str, found: Found) -> str:
    name = what.partition("(")[0]
    hint = ", if nothing else changes it" if name not in IDENTITIES else ""
    hint = "; with TZ set, libc does not ask" if "/etc/localtime" in what else hint
    return f"asks {what}{AGAIN}: keep the answer{hint}"


def reopened_text(what: str, found: Found) -> str:
    how = "map it; look again if others may replace it"
    if what.startswith(MADE_WHEN_READ):
        how = "read it again from its beginning: pread(2)"
    return f"opens and reads {what} {found.times + 1} times: keep it open, or {how}"


def device_text(what: str, found: Found) -> str:
    name, total, each = what.split()
    how = "fewer, for several changes at once" if name in SYNCS else "io_uring, several at once"
    return f"{name}: {total} s, {each} ms each, are the device's: {how}; a script saves none of it"


TEXTS = {
    "copy": copy_text,
    "write": lambda what, found: (
        f"writes {found.bytes // found.count} bytes at a time to {what}: a buffer, setvbuf(3)"
    ),
    "read": lambda what, found: f"reads {what} bytes at a time: a larger buffer",
    "again": again_text,
    "reopened": reopened_text,
    "list": lambda what, found: (
        "lists directories and asks for attributes name by name: walk.lua does a whole tree in"
        " one call, readdirplus.lua a directory; du and find that do so take 0.5 to 0.75 of the"
        " instructions (apps/docs/programs.md)"
    ),
    "walk": lambda what, found: (
        "walks through directories: walk.lua does a whole tree in one call; a script for each"
        " directory costs about what it saves (apps/docs/programs.md has a find that reads ahead)"
    ),
    "device": device_text,
}
ASIDE = {
    kind: f"{what} (see 'without a script')"
    for kind, what in {
        "copy": "copied through the program's memory",
        "write": "small writes",
        "read": "small reads",
        "again": "asked again",
        "reopened": "opened and read again",
    }.items()
}


def advise(trace: Trace, aside: dict[int, dict[int, str]]) -> list[Advice]:
    """Alternatives to scripts; the calls concerned are added to those excluded."""
    return Adviser(trace, aside)()
