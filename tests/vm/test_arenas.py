# SPDX-License-Identifier: GPL-2.0
"""Arenas in the module's memory: only pages that are used, and only the program's own."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import subproc_server
from confined.kernel import lib
from runner import SLOWDOWN

TESTS = Path(__file__).resolve().parents[1]
PARAMETERS = Path("/sys/module/syscript/parameters")
PAGE = 4096
PRELUDE = f"""
import ctypes, errno, json, mmap, os, resource, signal, sys, threading, time
sys.path.insert(0, {str(TESTS)!r})
from confined import insn as i
from confined.kernel import Arena, Mapped, libc, lib
result = {{}}
PAGE, SIZE = 4096, 1 << 20
# r1: what; r2: an address; r3: a value.  USE's structure is at the arena's beginning.
STORE = i.store(2, 0, 3) + i.movi(0, 0) + i.EXIT
LOAD = i.load(0, 2) + i.EXIT
ASK = i.arena(2, 0) + i.movi(1, i.BATCH_USE) + i.outside(i.CALL_BATCH) + i.EXIT
def way(n, code):
    return i.jump_ifi("ne", 1, n, len(code) // 8) + code
DO = [way(1, STORE) + way(2, LOAD) + way(3, ASK) + i.EXIT]
# Frames of 4 KiB, as deep as r1 says: a word in each, which is summed on the way back.
DEEP = [
    i.call(1) + i.EXIT,
    (
        i.mov(6, 1) + i.movi(0, 0) + i.store(10, -8, 6) + i.jump_ifi("eq", 6, 0, 4)
        + i.alui("add", 1, -1) + i.call(-6) + i.load(1, 10, -8)
        + i.alu("add", 0, 1) + i.EXIT, PAGE,
    ),
]
def image(functions=DO, size=SIZE, stack=0x4000):
    shift = size.bit_length() - 1
    return i.Image(
        functions, shift=shift, stack_end=size - PAGE, stack_size=stack, native=0x8000
    ).pack()
def added(functions, arena, **more):
    fd, text = lib.register(image(functions, arena.size, **more), engine=1, **arena.shared())
    assert fd >= 0, text
    return fd
def held(fd):
    return next(s for s in lib.scripts() if s.pid == os.getpid()).own()["pinned"] // PAGE
def store(fd, arena, offset, value):
    return lib.call(fd, 1, arena.address + offset, value)
def load(fd, arena, offset):
    return lib.call(fd, 2, arena.address + offset)[1]
def word(arena, offset):
    return int.from_bytes(arena.read(offset, 8), "little")
def ask(fd, arena, offset, n):
    arena.write(0, (arena.address + offset).to_bytes(8, "little") + n.to_bytes(8, "little"))
    return lib.call(fd, 3)[1]
"""


def as_user(body: str) -> dict:
    return subproc_server.run(PRELUDE + body, "outsider")


@contextmanager
def parameter(name: str, value: int) -> Iterator[None]:
    before = (PARAMETERS / name).read_text()
    (PARAMETERS / name).write_text(str(value))
    try:
        yield
    finally:
        (PARAMETERS / name).write_text(before)


def test_pages_come_as_they_are_used() -> None:
    """No page is locked either: RLIMIT_MEMLOCK is 0."""
    result = as_user(
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))\n"
        "with Mapped(SIZE) as arena:\n"
        "    fd = added(DO, arena)\n"
        "    result['begin'] = held(fd)\n"
        "    arena.write(0x1000, b'touched')\n"
        "    result['seen'] = load(fd, arena, 0x1000).to_bytes(8, 'little').decode()\n"
        "    result['asked'] = ask(fd, arena, 0x10000, 2 * PAGE + 1)\n"
        "    result['stored'] = [store(fd, arena, 0x12000, 77), word(arena, 0x12000)]\n"
        "    result['end'] = held(fd)\n"
        "    result['wrong'] = ask(fd, arena, SIZE - PAGE, PAGE + 1)\n"
    )
    begin = result.pop("begin")
    assert begin <= 4
    assert result.pop("end") == begin + 1 + 1 + 3
    assert result == {
        "seen": "touched\0",
        "asked": 0,
        "stored": [[1, 0], 77],
        "wrong": -errno.EINVAL,
    }


def test_places_without_memory_are_nobody_elses() -> None:
    """A program can write there, and no process or other program can read it."""
    result = as_user(
        "with Mapped(SIZE) as arena, Mapped(SIZE) as other:\n"
        "    fd, third = added(DO, arena), added(DO, other)\n"
        "    for offset in range(0x8000, SIZE - 0x10000, PAGE):\n"
        "        store(fd, arena, offset, 0x5EC2E7)\n"
        "    result['own'] = load(fd, arena, 0x9000)\n"
        "    result['other'] = load(third, other, 0x9000)\n"
        "    result['process'] = [word(arena, 0x9000), word(other, 0x9000)]\n"
        "    ask(fd, arena, 0xA000, PAGE)\n"
        "    result['new'] = load(fd, arena, 0xA000)\n"
    )
    assert result == {"own": 0x5EC2E7, "other": 0, "process": [0, 0], "new": 0}


def test_stack_grows_to_its_end() -> None:
    result = as_user(
        "with Mapped(SIZE) as arena:\n"
        "    fd = added(DEEP, arena, stack=100 * PAGE)\n"
        "    few = held(fd)\n"
        "    result['shallow'] = lib.call(fd, 1)\n"
        "    result['few'] = held(fd) - few < 4\n"
        "    result['deep'] = lib.call(fd, 90)\n"
        "    result['again'] = lib.call(fd, 90)\n"
        "    result['more'] = held(fd) > 90\n"
        "    result['over'] = [lib.call(fd, 1000)[0], lib.error(fd).split(': ')[1]]\n"
        "    result['after'] = lib.call(fd, 90)\n"
    )
    assert result == {
        "shallow": [1, 1],
        "few": True,
        "deep": [1, 4095],
        "again": [1, 4095],
        "more": True,
        "over": [-errno.EPROTO, "the stack is full"],
        "after": [1, 4095],
    }


def test_an_account_has_so_much() -> None:
    """Writing beyond the limit is a program's error, or SIGBUS for a process; reading works."""
    with parameter("max_arenas", 60 * PAGE):
        result = as_user(
            "with Mapped(SIZE) as arena:\n"
            "    fd, deep = added(DO, arena), added(DEEP, arena, stack=100 * PAGE)\n"
            "    before = held(fd)\n"
            "    result['all'] = [ask(fd, arena, 0x10000, 80 * PAGE), held(fd) - before]\n"
            "    written = 0\n"
            "    while not arena.populate(0x40000 + written * PAGE, PAGE):\n"
            "        written += 1\n"
            "    result['written'] = written > 20\n"
            "    result['alive'] = store(fd, arena, 0x10000, 5)\n"
            "    result['read'] = len(arena.read(0x90000, 8))\n"
            "    result['deep'] = [lib.call(deep, 90)[0], lib.error(deep).split(': ')[1]]\n"
            "    try:\n"
            "        Mapped(SIZE)\n"
            "    except AssertionError:\n"
            "        result['another'] = False\n"
            "    more, text = lib.register(image(), engine=1, **arena.shared())\n"
            "    result['more'] = [more, 'max_arenas' in text]\n"
            "    os.close(fd); os.close(deep)\n"
            "with Mapped(SIZE) as arena:\n"
            "    result['freed'] = ask(added(DO, arena), arena, 0x10000, 20 * PAGE)\n"
        )
    assert result == {
        "all": [-errno.ENOMEM, 1],  # the page for the request
        "written": True,
        "alive": [1, 0],
        "read": 8,
        "deep": [-errno.EPROTO, "no memory for the stack"],
        "another": False,
        "more": [-errno.ENOMEM, True],
        "freed": 0,
    }


def test_process_does_what_it_can_to_its_mapping() -> None:
    result = as_user(
        "device = os.open('/dev/syscript', os.O_RDWR)\n"
        "def mapped(size, prot=3, flags=mmap.MAP_SHARED, to=0x40000000, at=0):\n"
        "    return libc.mmap(to, size, prot, flags | 0x10, device, at) == to\n"  # MAP_FIXED
        "result['right'] = mapped(SIZE)\n"
        "result['private'] = mapped(SIZE, flags=mmap.MAP_PRIVATE)\n"
        "result['odd'] = mapped(3 * PAGE)\n"
        "result['small'] = mapped(PAGE)\n"
        "result['elsewhere'] = mapped(SIZE, to=0x40010000)\n"
        "result['offset'] = mapped(SIZE, at=PAGE)\n"
        "result['code'] = mapped(SIZE, prot=7)\n"
        "with Mapped(SIZE) as arena:\n"
        "    fd = added(DO, arena)\n"
        "    arena.write(0x1000, b'kept')\n"
        "    result['executable'] = libc.mprotect(arena.address, PAGE, 7)\n"
        "    result['dropped'] = libc.madvise(arena.address, SIZE, 4)\n"  # MADV_DONTNEED
        "    result['still'] = arena.read(0x1000, 4).decode()\n"
        "    libc.mremap.restype = ctypes.c_void_p\n"
        "    result['larger'] = libc.mremap(arena.address, SIZE, 2 * SIZE, 1, None) == 2**64 - 1\n"
        "    to = libc.mmap(None, 2 * SIZE, 0, 0x22, -1, 0)\n"
        "    assert libc.mremap(arena.address, SIZE, SIZE, 3, to) == to\n"
        "    result['moved'] = ctypes.string_at(to + 0x1000, 4).decode()\n"
        "    result['call'] = load(fd, arena, 0x1000)\n"
        "    new = (libc.mmap(None, 2 * SIZE, 0, 0x22, -1, 0) + SIZE - 1) & -SIZE\n"
        "    assert libc.mremap(to, SIZE, SIZE, 3, new) == new\n"
        "    def again():\n"
        "        return lib.register(image(), engine=1, shared=new, shared_len=SIZE)[0]\n"
        "    result['again'] = again()\n"
        "    libc.munmap(new + PAGE, PAGE)\n"
        "    result['hole'] = again()\n"
        "    libc.munmap(new, SIZE)\n"
        "    result['unmapped'] = load(fd, arena, 0x1000)\n"
    )
    assert result == {
        "right": True,
        **dict.fromkeys(("private", "odd", "small", "elsewhere", "offset", "code"), False),
        "executable": -1,
        "dropped": 0,
        "still": "kept",
        "larger": True,
        "moved": "kept",
        "call": int.from_bytes(b"kept", "little"),
        "again": result["again"],
        "hole": result["hole"],
        "unmapped": int.from_bytes(b"kept", "little"),
    }
    assert {result["again"], result["hole"]} <= {-errno.EINVAL, -errno.EFAULT}


def test_kernel_takes_no_page_of_it() -> None:
    """Advice has no effect, or is refused; what a pipe has of it stays what it was."""
    result = as_user(
        "libc.mremap.restype = ctypes.c_void_p\n"
        "class Part(ctypes.Structure):\n"
        "    _fields_ = [('at', ctypes.c_uint64), ('n', ctypes.c_uint64)]\n"
        "arena = Mapped(SIZE)\n"
        "fd = added(DO, arena)\n"
        "arena.write(0x1000, b'kept')\n"
        "before = held(fd)\n"
        # FREE, REMOVE, DODUMP, COLLAPSE; then COLD, PAGEOUT, MERGEABLE, HUGEPAGE, WILLNEED
        "refused = [libc.madvise(arena.address, SIZE, n) for n in (8, 9, 17, 25)]\n"
        "result['refused'] = set(refused) == {-1}\n"
        "for n in (20, 21, 12, 14, 3):\n"
        "    libc.madvise(arena.address, SIZE, n)\n"
        "result['twice'] = libc.mremap(arena.address, 0, SIZE, 1, None) == 2**64 - 1\n"
        "libc.mlock(ctypes.c_void_p(arena.address + 0x1000), ctypes.c_size_t(PAGE))\n"
        "result['held'] = held(fd) - before\n"
        "here, there = os.pipe2(os.O_NONBLOCK)\n"
        "part = Part(arena.address + 0x1000, PAGE)\n"
        "result['spliced'] = libc.vmsplice(there, ctypes.byref(part), 1, 0)\n"
        "libc.prctl(4, 1, 0, 0, 0)\n"  # PR_SET_DUMPABLE
        "libc.prctl(0x59616d61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)\n"  # PR_SET_PTRACER, any
        "if not os.fork():\n"
        "    new, old = Part(0, 4), Part(arena.address + 0x2000, 4)\n"
        "    text = ctypes.create_string_buffer(b'poke')\n"
        "    new.at = ctypes.addressof(text)\n"
        "    sent = libc.process_vm_writev(os.getppid(), ctypes.byref(new), 1,\n"
        "                                  ctypes.byref(old), 1, 0)\n"
        "    os._exit(sent & 255)\n"
        "result['sent'] = os.wait()[1] >> 8\n"
        "result['poked'] = load(fd, arena, 0x2000).to_bytes(8, 'little')[:4].decode()\n"
        "result['seen'] = load(fd, arena, 0x1000).to_bytes(8, 'little')[:4].decode()\n"
        "os.close(fd)\n"
        "libc.munmap(arena.address, SIZE)\n"
        "with Mapped(SIZE) as other:\n"
        "    for n in range(64):\n"
        "        other.write(n * PAGE, b'other')\n"
        "    at, n = ctypes.c_void_p(other.address), ctypes.c_size_t(SIZE)\n"
        "    result['remapped'] = libc.remap_file_pages(at, n, 0, ctypes.c_size_t(1), 0)\n"
        "result['piped'] = os.read(here, PAGE)[:5].decode()\n"
    )
    assert result == {
        "refused": True,
        "twice": True,
        "remapped": -1,
        "held": 0,
        "spliced": PAGE,
        "sent": 4,
        "poked": "poke",
        "seen": "kept",
        "piped": "kept\0",
    }


def test_unmapped_under_a_run() -> None:
    """The run continues with the memory it has; new mappings there are not its own."""
    result = as_user(
        "long = i.movi(6, 30) + i.storei(10, -16, 0) + i.storei(10, -8, 10_000_000)\n"
        "long += i.mov(1, 10) + i.alui('add', 1, -16) + i.movi(2, 0)\n"
        "long += i.outside(i.SYSCALL + 35) + i.alui('sub', 6, 1)\n"  # nanosleep(2)
        "long += i.jump_ifi('ne', 6, 0, -6) + i.arena(1, 0x1000) + i.load(0, 1)\n"
        "long += i.storei(1, 0, 6) + i.EXIT\n"
        "arena = Mapped(SIZE)\n"
        "arena.write(0x1000, (77).to_bytes(8, 'little'))\n"
        "fd = added([(long, 16)], arena)\n"
        "thread = threading.Thread(target=lambda: result.update(run=lib.call(fd)))\n"
        "thread.start(); time.sleep(0.05)\n"
        "os.close(fd)\n"
        "libc.munmap(arena.place, 2 * SIZE)\n"
        "device = os.open('/dev/syscript', os.O_RDWR)\n"
        "assert libc.mmap(arena.address, SIZE, 3, 0x11, device, 0) == arena.address\n"
        "result['new'] = word(arena, 0x1000)\n"
        "thread.join()\n"
        "result['then'] = word(arena, 0x1000)\n"
    )
    # nanosleep(2) reads the time from the new arena: zeros.
    assert result == {"new": 0, "run": [1, 77], "then": 0}


def test_child_gets_none_of_it() -> None:
    result = as_user(
        "with Mapped(SIZE) as arena:\n"
        "    arena.write(0x1000, b'parent')\n"
        "    fd = added(DO, arena)\n"
        "    here, there = os.pipe()\n"
        "    if not os.fork():\n"
        "        read = arena.read(0x1000, 6)\n"
        "        arena.write(0x1000, b'child!')\n"
        "        got = lib.register(image(), engine=1, **arena.shared())[0]\n"
        "        os.write(there, json.dumps([read.decode(), lib.call(fd, 0)[0], got]).encode())\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "    result['child'] = json.loads(os.read(here, 999))\n"
        "    result['parent'] = arena.read(0x1000, 6).decode()\n"
    )
    assert result == {
        "child": ["\0" * 6, -errno.EXDEV, -errno.EINVAL],
        "parent": "parent",
    }


FORKED = """
# How many pages of @arena the process gets, from its @first on.
def populated(arena, first, most):
    n = 0
    while n < most and not arena.populate((first + n) * PAGE, PAGE):
        n += 1
    return n
# What @body returns in a child, which stays until the pipe that it is called with is closed.
def child(body):
    here, there = os.pipe()
    stays, goes = os.pipe()
    if not os.fork():
        os.close(goes)
        os.write(there, json.dumps(body()).encode())
        os.read(stays, 1)
        os._exit(0)
    os.close(stays)
    return json.loads(os.read(here, 999)), goes
def gone(goes):
    os.close(goes)
    os.wait()
"""


def test_child_pays_for_its_pages() -> None:
    """What it touches is its parent's account's, until it has gone; no other page is."""
    with parameter("max_arenas", 100 * PAGE):
        result = as_user(
            FORKED + "with Mapped(SIZE) as arena:\n"
            "    got, goes = child(lambda: 0)\n"
            "    result['untouched'] = populated(arena, 0, 60)\n"
            "    gone(goes)\n"
            "with Mapped(SIZE) as arena:\n"
            "    got, goes = child(lambda: populated(arena, 0, 250))\n"
            "    result['child'] = 60 < got < 100\n"
            "    result['parent'] = populated(arena, 0, 250) <= 100 - got\n"
            "    gone(goes)\n"
            "    result['freed'] = populated(arena, 100, 60)\n"
        )
    assert result == {"untouched": 60, "child": True, "parent": True, "freed": 60}


def test_child_that_keeps_the_arena_shares_it() -> None:
    """MADV_KEEPONFORK: its pages stay charged when the parent has unmapped them."""
    with parameter("max_arenas", 100 * PAGE):
        result = as_user(
            FORKED + "with Mapped(SIZE) as arena:\n"
            "    assert libc.madvise(arena.address, SIZE, 19) == 0\n"  # MADV_KEEPONFORK
            "    populated(arena, 0, 50)\n"
            "    arena.write(0x1000, b'parent')\n"
            "    def shared():\n"
            "        seen = arena.read(0x1000, 6).decode()\n"
            "        arena.write(0x2000, b'child')\n"
            "        return seen\n"
            "    result['child'], goes = child(shared)\n"
            "    result['parent'] = arena.read(0x2000, 5).decode()\n"
            "with Mapped(SIZE) as arena:\n"
            "    result['beyond'] = populated(arena, 0, 250) <= 50\n"
            "    gone(goes)\n"
            "    result['freed'] = populated(arena, 100, 40)\n"
        )
    assert result == {"child": "parent", "parent": "child", "beyond": True, "freed": 40}


def test_stacks_are_paid_for() -> None:
    """A process pays for the stacks of its programs, and gives up unused ones for new sizes."""
    with parameter("max_arenas", 200 * PAGE):
        result = as_user(
            "def sized(native, arena):\n"
            "    packed = i.Image(DO, shift=20, stack_end=SIZE - PAGE, stack_size=0x4000,\n"
            "                     native=native).pack()\n"
            "    return lib.register(packed, engine=1, **arena.shared())\n"
            "with Mapped(SIZE) as arena:\n"
            "    kept = sized(0x8000, arena)[0]\n"
            "    got = [sized(0x40000 - 64 * n, arena) for n in range(20)]\n"
            "    fds = [fd for fd, text in got if fd >= 0]\n"
            "    result['refused'] = [text for fd, text in got if fd < 0]\n"
            "    result['calls'] = [lib.call(fd, 0)[0] for fd in (fds[0], fds[-1], kept)]\n"
            "    for fd in fds: os.close(fd)\n"
            "    result['free'] = ask(kept, arena, 0x10000, 80 * PAGE)\n"
            "    result['again'] = sized(0x3F000, arena)[0] >= 0\n"
            "    os.closerange(kept, kept + 30)\n"
            "with Mapped(SIZE) as arena:\n"
            "    fd = added(DO, arena)\n"
            "    result['full'] = ask(fd, arena, 0x10000, 130 * PAGE)\n"
            "    other, text = sized(0x40000, arena)\n"
            "    result['over'] = [other, 'max_arenas' in text]\n"
        )
    assert result == {
        "refused": [],
        "calls": [1, 1, 1],
        "free": 0,
        "again": True,
        "full": 0,
        "over": [-errno.ENOMEM, True],
    }


GROUPS = Path("/sys/fs/cgroup")
IN_GROUP = """
Path = __import__('pathlib').Path
group = Path('/sys/fs/cgroup/arenas')
(group / 'cgroup.procs').write_text(str(os.getpid()))
os.setresgid(1000, 1000, 1000)
os.setresuid(1000, 1000, 1000)
with Mapped(SIZE * 16) as arena:
    fd = added(DO, arena)
    result['asked'] = ask(fd, arena, 0x10000, 15 * SIZE)
    result['alive'] = lib.call(fd, 0)[0]
print(json.dumps(result))
"""


@pytest.mark.skipif(not (GROUPS / "cgroup.controllers").exists(), reason="no control groups")
def test_a_full_control_group_is_an_error() -> None:
    """It does not kill a process in the group."""
    (GROUPS / "cgroup.subtree_control").write_text("+memory")
    group = GROUPS / "arenas"
    group.mkdir(exist_ok=True)
    try:
        (group / "memory.max").write_text(str(12 << 20))
        other = subprocess.Popen(["sleep", "1000"])
        (group / "cgroup.procs").write_text(str(other.pid))
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + IN_GROUP],
            capture_output=True,
            text=True,
            timeout=60 * SLOWDOWN,
        )
        assert done.returncode == 0, done.stderr
        assert "oom_kill 0" in (group / "memory.events").read_text()
        assert other.poll() is None
        assert f'"asked": {-errno.ENOMEM}' in done.stdout
        assert '"alive": 1' in done.stdout
    finally:
        other.kill()
        other.wait()
        group.rmdir()


def test_threads_grow_one_arena() -> None:
    """Programs of one arena at once, each with its own view: none is lost."""
    result = as_user(
        "with Mapped(SIZE) as arena:\n"
        "    deep, asks, bad = added(DEEP, arena, stack=60 * PAGE), added(DO, arena), []\n"
        "    def calls():\n"
        "        for n in range(1, 40):\n"
        "            if lib.call(deep, n) != (1, n * (n + 1) // 2):\n"
        "                bad.append(n)\n"
        "    thread = threading.Thread(target=calls)\n"
        "    thread.start()\n"
        "    for offset in range(0x10000, 0x60000, 3 * PAGE):\n"
        "        assert ask(asks, arena, offset, PAGE) == 0\n"
        "    thread.join()\n"
        "    result['bad'] = bad\n"
    )
    assert result == {"bad": []}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert not list(lib.scripts())
