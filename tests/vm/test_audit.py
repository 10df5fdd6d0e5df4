# SPDX-License-Identifier: GPL-2.0
"""Audit records each call of a script that matches a rule, as outside scripts."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import auditing
import pytest
import seccomp
from auditing import Auditing, Event, Rule
from conftest import script_descriptors
from library import AUTO, BUILD, Library
from test_filters import CALLS, NUMBERS, Inside, Outside, in_child

STORM = BUILD / "tests/vm/test_watcher_storm"
AT_FDCWD = -100
# What os.dup2() calls.
DUP2 = "dup2" if "dup2" in NUMBERS else "dup3"
O_WRONLY, O_CREAT = os.O_WRONLY, os.O_CREAT
# The fields of a record that must be the same inside and outside.
SAME = {
    "SYSCALL": ("arch", "syscall", "success", "exit", "items", "uid", "comm", "key"),
    "PATH": ("item", "name", "inode", "mode", "nametype"),
    "SOCKADDR": ("saddr",),
    "CWD": ("cwd",),
}


@pytest.fixture
def audit() -> Iterator[Auditing]:
    made = Auditing()
    yield made
    made.stop()


def rule(*names: str, **more: int | str) -> Rule:
    kinds = {"key": auditing.KEY, "exit": auditing.EXIT_CODE, "a0": auditing.ARG0}
    fields = [(auditing.ARCH, auditing.MACHINE)]
    fields += [(kinds[name], value) for name, value in more.items()]
    return Rule([NUMBERS[name] for name in names], fields)


def seen(event: Event) -> list[object]:
    """The parts of an event that are compared."""
    number = int(event.call["syscall"])
    name = next(name for name, n in NUMBERS.items() if n == number)
    args = [event.call[f"a{i}"] for i in range(min(CALLS.get(name, 4), 4))]
    records = [
        (kind, [fields.get(key) for key in SAME[kind]])
        for kind, fields in event.records
        if kind in SAME
    ]
    return [name, args, records]


def watched(audit: Auditing, work: Callable[[], object]) -> tuple[object, list[Event]]:
    """The result of some work in an audited process, and its records."""
    status, said = in_child(lambda: [os.getpid(), work()])
    assert status == 0, said
    pid, result = said
    return result, audit.events(pid)


class Things:
    """Addresses and descriptors that calls need."""

    def __init__(self, place: Path) -> None:
        self.there, self.lost = place / "there", place / "lost"
        self.there.write_text("text")
        self.kept: list[object] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        port = self.socket.getsockname()[1]
        self.address = self.memory(
            socket.AF_INET.to_bytes(2, "little")
            + port.to_bytes(2, "big")
            + b"\x7f\0\0\1"
            + bytes(8)
        )

    def memory(self, data: bytes | Path) -> int:
        self.kept.append(ctypes.create_string_buffer(bytes(data)))
        return ctypes.addressof(self.kept[-1])

    def calls(self) -> list[tuple[str, list[int]]]:
        there, lost = self.memory(self.there), self.memory(self.lost)
        return [
            ("dup", [-1]),
            ("openat", [AT_FDCWD, lost, os.O_RDONLY, 0]),
            ("newfstatat", [AT_FDCWD, there, self.memory(bytes(256)), 0]),
            ("getppid", []),
            ("unlinkat", [AT_FDCWD, lost, 0]),
            ("mkdirat", [AT_FDCWD, there, 0o700]),
            ("sendto", [self.socket.fileno(), there, 4, 0, self.address, 16]),
            ("lseek", [-1, 3, 2]),
        ]


# Without lseek(2), which calls scripts.
RECORDED = ["dup", "openat", "newfstatat", "unlinkat", "mkdirat", "sendto"]


def test_records_are_those_of_calls_outside(audit: Auditing, tmp_path: Path) -> None:
    audit.add(rule(*RECORDED, key="syscript"))
    things = Things(tmp_path)
    calls = things.calls()

    def work() -> object:
        inside, outside = Inside([name for name, _ in calls]), Outside()
        os.dup2(1, 77)
        first = [outside(name, *args) for name, args in calls]
        os.dup2(1, 78)
        second = inside.many(calls)
        os.dup2(1, 79)
        return [first, second]

    audit.add(rule(DUP2, key="syscript"))
    (outside, inside), events = watched(audit, work)
    assert inside == outside
    marks = [i for i, e in enumerate(events) if e.call["syscall"] == str(NUMBERS[DUP2])]
    assert len(marks) == 3, "os.dup2 marks where each begins and ends"
    plain = [seen(e) for e in events[marks[0] + 1 : marks[1]]]
    ours = [seen(e) for e in events[marks[1] + 1 : marks[2]]]
    assert [name for name, *_ in plain] == [n for n, _ in calls if n in RECORDED]
    assert ours == plain
    assert any(kind == "PATH" for _, _, records in ours for kind, _ in records)
    assert any(kind == "SOCKADDR" for _, _, records in ours for kind, _ in records)


def test_arguments_that_a_call_does_not_take_are_0(audit: Auditing) -> None:
    audit.add(rule("dup", exit=-errno.EBADF, key="syscript"))
    _, events = watched(audit, lambda: Inside(["dup"]).many([("dup", [-1])]))
    assert [[e.call[f"a{i}"] for i in range(4)] for e in events] == [["ffffffffffffffff", *"000"]]


def test_call_of_the_script_has_a_record_of_its_own(audit: Auditing, tmp_path: Path) -> None:
    """It comes after the records of the calls, and has none of their data."""
    audit.add(rule("ioctl", "lseek", key="syscript"))
    audit.add(rule("openat", exit=-errno.ENOENT, key="syscript"))
    things = Things(tmp_path)
    call = ("openat", [AT_FDCWD, things.memory(things.lost), 0, 0])

    def work() -> object:
        inside = Inside(["openat"])
        inside.many([call, call])
        # The confined engine's Lua has a descriptor besides the library's.
        return [*script_descriptors()]

    fds, events = watched(audit, work)
    *before, one, two, last = events
    assert [one.call["exit"], two.call["exit"]] == [str(-errno.ENOENT)] * 2
    assert last.call["syscall"] in (str(NUMBERS["ioctl"]), str(NUMBERS["lseek"]))
    assert int(last.call["a0"], 16) in fds and last.call["success"] == "yes"
    assert last.call["items"] == "0" and not last.of("PATH")


def test_watches_on_files(audit: Auditing, tmp_path: Path) -> None:
    """auditctl -w FILE -k syscript"""
    things = Things(tmp_path)
    watch = Rule(fields=[(auditing.WATCH, str(things.there)), (auditing.KEY, "syscript")])
    audit.add(watch)
    call = ("openat", [AT_FDCWD, things.memory(things.there), O_WRONLY, 0])
    other = ("openat", [AT_FDCWD, things.memory(things.lost), O_WRONLY | O_CREAT, 0o600])
    _, events = watched(audit, lambda: Inside(["openat"]).many([call, other]))
    opened = [e for e in events if int(e.call["a2"], 16) == O_WRONLY]
    assert len(opened) == 1
    assert opened[0].call["key"] == '"syscript"'
    assert f'"{things.there}"' in [fields["name"] for fields in opened[0].of("PATH")]


BATCHES = {
    "stat_files": (b"function run(f) return fs.stat_files(const.AT_FDCWD, f, 1) end", "statx"),
    "read_files": (b"function run(f) return fs.read_files(const.AT_FDCWD, f, 1) end", "openat"),
    "read_file": (
        b"local peek = util.peek function run(f) return (fs.read_file("
        b"const.AT_FDCWD, peek(f, 'i8'), peek(f + 8, 'i8'), 1)) end",
        "openat",
    ),
    "open_files": (b"function run(f) return fs.open_files(const.AT_FDCWD, f, 1, 0) end", "openat"),
}


@pytest.mark.parametrize("batch", BATCHES)
def test_batches_of_files(batch: str, audit: Auditing, tmp_path: Path) -> None:
    source, name = BATCHES[batch]
    audit.add(rule(name, key="syscript"))
    things = Things(tmp_path)
    path, data = things.memory(things.there), things.memory(bytes(512))
    file = (ctypes.c_uint64 * 4)(path, data, 4, 0)

    def work() -> object:
        library = Library()
        fd, text = library.register(source)
        assert fd >= 0, text
        done = library.call(fd, ctypes.addressof(file))
        return [done, library.error(fd)]

    (done, _), events = watched(audit, work)
    assert done == [1, 1]
    named = [e for e in events if int(e.call["a1"], 16) == path]
    assert [int(e.call["syscall"]) for e in named] == [NUMBERS[name]]
    assert f'"{things.there}"' in [fields["name"] for fields in named[0].of("PATH")]


def test_batch_of_a_directory(audit: Auditing, tmp_path: Path) -> None:
    """If calls are audited, only the program looks up extended attributes."""
    for name in "abc":
        (tmp_path / name).touch()
    data = ctypes.create_string_buffer(4096)
    mtime, xattrs = 0x40, 0x70000000

    def work() -> object:
        library = Library()
        fd, text = library.register(
            b"function run(d, to, mask) return fs.readdirplus(d, to, 4096, mask) end"
        )
        assert fd >= 0, text
        directory = os.open(tmp_path, os.O_RDONLY)
        done = library.call(fd, directory, ctypes.addressof(data), mtime + xattrs)
        # struct syscript_dirent.stat.mask of the first entry.
        return [*done[:2], struct.unpack_from("<I", data.raw, 16)[0]]

    # In a child process, which leaves no script behind.
    _, (_, _, mask) = in_child(work)
    assert mask & xattrs == xattrs
    audit.add(rule("statx", "getdents64", key="syscript"))
    done, events = watched(audit, work)
    assert done[0] > 0 and done[1] > 0
    assert done[2] & mtime and not done[2] & xattrs
    calls = [int(e.call["syscall"]) for e in events]
    assert calls[-4:] == [NUMBERS["getdents64"]] + [NUMBERS["statx"]] * 3
    assert {int(e.call["a3"], 16) for e in events[-3:]} == {mtime}
    names = {fields["name"] for e in events[-3:] for fields in e.of("PATH")}
    assert names >= {'"a"', '"b"', '"c"'}


def test_batch_of_connections(audit: Auditing) -> None:
    """Each connection is one accept4(2); the last call finds none."""
    audit.add(rule("accept4", key="syscript"))
    fds = (ctypes.c_int * 3)()

    def work() -> object:
        library = Library()
        fd, text = library.register(b"function run(fd, fds) return net.accept(fd, fds, 3) end")
        assert fd >= 0, text
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            kept = [socket.create_connection(listener.getsockname()) for _ in range(2)]
            done = library.call(fd, listener.fileno(), ctypes.addressof(fds))
        return [done, library.error(fd), len(kept)]

    (done, *_), events = watched(audit, work)
    assert done == [1, 2]
    assert [e.call["syscall"] for e in events] == [str(NUMBERS["accept4"])] * 3
    assert [e.call["success"] for e in events] == ["yes", "yes", "no"]


SEND = b"""local m function run(to, hdrs, fd)
  m = m or net.messages(hdrs, 1)
  return net.send(fd, hdrs, 1)
end"""


def test_batch_of_messages(audit: Auditing, tmp_path: Path) -> None:
    audit.add(rule("sendmmsg", key="syscript"))
    things = Things(tmp_path)
    vector = (ctypes.c_uint64 * 2)(things.memory(b"text"), 4)
    header = (ctypes.c_uint64 * 8)(things.address, 16, ctypes.addressof(vector), 1)

    def work() -> object:
        library = Library()
        fd, text = library.register(SEND)
        assert fd >= 0, text
        done = library.call(fd, 0, ctypes.addressof(header), things.socket.fileno())
        return [done, library.error(fd)]

    (done, _), events = watched(audit, work)
    assert done == [1, 1]
    assert [e.call["syscall"] for e in events] == [str(NUMBERS["sendmmsg"])]
    assert [fields["saddr"][:4] for fields in events[0].of("SOCKADDR")] == ["0200"]


def test_task_that_new_rules_exclude(audit: Auditing) -> None:
    """Its plain calls are recorded as before; scripts run in the process."""
    audit.add(rule("dup", key="syscript"))

    never = Rule(list=auditing.TASK, action=auditing.NEVER)

    def work() -> object:
        # This task has a context; a new one, which a script would need, would have none.
        audit.ask(auditing.ADD_RULE, never.packed())
        library = Library()
        fd, text = library.register(b"function run() return syscall.dup(-2) end", backend=AUTO)
        assert fd >= 0, text
        done = library.call(fd)
        audit.ask(auditing.DEL_RULE, never.packed())
        Outside()("dup", -3)
        return done

    done, events = watched(audit, work)
    assert done == [1, -errno.EBADF]
    failed = [int(e.call["a0"], 16) & 0xF for e in events if e.call["exit"] == "-9"]
    assert failed == [0xE, 0xD]


def test_filters_of_an_audited_task(audit: Auditing) -> None:
    """Calls refused by a filter are not recorded; a killed task leaves no partial record."""
    audit.add(rule("dup", "getpgid", key="syscript"))

    def work() -> object:
        inside = Inside(["dup", "getpgid"])
        chosen = seccomp.Filter(seccomp.ALLOW)
        chosen.rule(seccomp.error(errno.EXDEV), "dup")
        chosen.load()
        return inside.many([("dup", [-1]), ("getpgid", [0])])[0]

    refused, events = watched(audit, work)
    assert refused == -errno.EXDEV
    assert [e.call["syscall"] for e in events] == [str(NUMBERS["getpgid"])]

    def death() -> object:
        inside = Inside(["dup"])
        chosen = seccomp.Filter(seccomp.ALLOW)
        chosen.rule(seccomp.KILL_PROCESS, "dup")
        chosen.load()
        return inside.many([("dup", [-1])])

    status, _ = in_child(death)
    assert os.WTERMSIG(status) == signal.SIGSYS


# Makes a call every 2 ms for half a minute, or until it is told to end.
LONG = b"""function run(told, made)
  for i = 1, 15000 do
    syscall.dup(-1)
    util.poke(made, "i8", i)
    if util.peek(told, "i8") ~= 0 then return i end
    syscall.poll(0, 0, 2)
  end
end"""


def test_rules_that_come_in_the_middle_of_a_run(audit: Auditing) -> None:
    """A run that began before cannot avoid new rules."""
    shared = mmap.mmap(-1, 4096)
    told = ctypes.c_int64.from_buffer(shared)
    made = ctypes.c_int64.from_buffer(shared, 8)
    pid = ctypes.c_int64.from_buffer(shared, 16)

    def work() -> object:
        library = Library()
        fd, text = library.register(LONG)
        assert fd >= 0, text
        pid.value = os.getpid()
        return library.call(fd, ctypes.addressof(told), ctypes.addressof(made))

    def wait_for(calls: int) -> None:
        deadline = time.monotonic() + 60
        while made.value < calls and time.monotonic() < deadline:
            time.sleep(0.01)

    def rules() -> None:
        wait_for(10)
        audit.add(rule("dup", "lseek", "ioctl", key="syscript"))
        wait_for(made.value + 20)
        told.value = 1

    thread = threading.Thread(target=rules)
    thread.start()
    status, said = in_child(work)
    thread.join()
    assert status == 0 and said[0] == 1, said
    calls = [e.call["syscall"] for e in audit.events(pid.value)]
    assert calls.count(str(NUMBERS["dup"])) > 10
    # The call of the script itself is recorded as well, at its end.
    assert calls[-1] in (str(NUMBERS["ioctl"]), str(NUMBERS["lseek"]))


def test_off_again(audit: Auditing) -> None:
    """An existing context stays unchanged after auditing was switched off."""
    audit.add(rule("dup", key="syscript"))

    def work() -> object:
        inside = Inside(["dup"])
        audit.enable(0)
        found = inside.many([("dup", [-1])])
        audit.enable(1)
        return found

    result, events = watched(audit, work)
    assert result == [-errno.EBADF]
    assert [e for e in events if e.call["syscall"] == str(NUMBERS["dup"])] == []


def test_storm_under_rules(audit: Auditing) -> None:
    """Contexts survive any activity of threads, filters and signals; no rule matches."""
    audit.add(rule("getppid", "getpgid", "dup", exit=-77))
    done = subprocess.run([STORM, "3"], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 77), done.stdout
