# SPDX-License-Identifier: GPL-2.0
"""The confined engine in the kernel, for an untrusted user.

tests/unit/test_confined_run.py tests the instructions; its tests imported here also run in the
kernel.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import subproc_server
from confined import insn as i
from confined.kernel import Arena, lib, libc, register
from confined.random_image import random_image
from confined.subject import check_kernel
from runner import COMMAND, HANG, SLOWDOWN, account, in_namespace
from tracing import TRACEFS, kprobes, one_cpu
from unit.test_confined_run import (  # noqa: F401
    test_abort,
    test_calls_by_number,
    test_calls_keep_their_registers,
    test_constants_64,
    test_fault_is_not_caught,
    test_frame_address,
    test_known_address_written_over,
    test_no_table,
    test_recursion,
    test_registers_begin_as_zero,
    test_stack_is_used_to_its_end,
    test_stack_overflow,
    test_throw_through_frames,
    test_tries_fill_the_stack,
    test_tries_nest,
    test_try_returns_and_catches,
    test_uncaught,
)

MS = 1_000_000
TESTS = Path(__file__).resolve().parents[1]
PRELUDE = f"""
import ctypes, errno, json, mmap, os, resource, signal, socket, sys, threading, time
sys.path.insert(0, {str(TESTS)!r})
from confined import insn as i
from confined.kernel import Arena, libc, lib, register
result = {{}}
MS = 1_000_000
LUAJIT = 0x100
FOREVER = [i.jump(-1) + i.EXIT]
"""


def program(body: str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + body + "\nprint(json.dumps(result))"]


def as_user(body: str, user: str = "outsider") -> dict:
    """The `result` of code run as @user, who is in no group."""
    return subproc_server.run(PRELUDE + body, user)


def test_calls_and_lists() -> None:
    with Arena() as arena:
        fd = register([i.mov(0, 1) + i.alu("sub", 0, 5) + i.EXIT], arena)
        assert lib.call(fd, 44, 0, 0, 0, 2) == (1, 42)
        assert lib.call(fd, -(2**63)) == (1, -(2**63))
        assert lib.call(fd, 1, 2, 3, 4, 5, 6) == (-errno.ERANGE, 0)
        assert lib.error(fd) == "6 arguments: at most 5"
        (info,) = lib.scripts()
        assert (info.engine, info.engine_name, info.calls) == (1, b"confined", 3)
        assert info.own()["mcode"] % 4096 == 0 and info.own()["mcode"]
        assert info.memory >= info.own()["mcode"]
        done = subprocess.run([COMMAND, "list"], check=True, capture_output=True, text=True)
        assert " confined " in done.stdout
        os.close(fd)


def test_who_may() -> None:
    """The engine's device is open to all users, and serves nothing else."""
    result = as_user(
        "with Arena() as arena:\n"
        "    fd = register([i.mov(0, 1) + i.EXIT], arena)\n"
        "    result['confined'] = lib.call(fd, 42)\n"
        "result['luajit'] = lib.register(b'function run() end', engine=LUAJIT)[0]\n"
        "dev = os.open('/dev/syscript', os.O_RDWR)\n"
        "import fcntl\n"
        "reg = bytearray(136)\n"
        "image = ctypes.create_string_buffer(b'function run() end')\n"
        "text = ctypes.create_string_buffer(128)\n"
        "import struct\n"
        "struct.pack_into('<IIIIQQ', reg, 0, 0, 128, 0, 0, ctypes.addressof(image), 18)\n"
        "struct.pack_into('<Q', reg, 64, ctypes.addressof(text))\n"
        "try:\n"
        "    fcntl.ioctl(dev, 0xC088CA40, reg)\n"
        "except OSError as error:\n"
        "    result['direct'] = [error.errno, text.value.decode()]\n"
    )
    assert result == {
        "confined": [1, 42],
        "luajit": -errno.EACCES,
        "direct": [errno.EACCES, "/dev/syscript is for engine confined only"],
    }


def test_shared_buffer() -> None:
    """An address has the same meaning for the process, the program and system calls."""
    with Arena() as arena, Path("/proc/version").open("rb") as file:
        fd = register(
            [
                i.mov(6, 2)
                + i.movi(3, 64)
                + i.movi(4, 0)
                + i.outside(i.SYSCALL + 17)  # pread64(r1, r2, 64, 0)
                + i.load(1, 6, 0, 1)
                + i.alui("lsh", 0, 8)
                + i.alu("or", 0, 1)
                + i.storei(6, 0, ord("l"), 1)
                + i.EXIT
            ],
            arena,
        )
        at = arena.address + 0x100
        assert lib.call(fd, file.fileno(), at) == (1, 64 << 8 | ord("L"))
        assert arena.read(0x100, 5) == b"linux"
        # An unmapped address, and a kernel address.
        assert lib.call(fd, file.fileno(), 8)[1] >> 8 == -errno.EFAULT
        assert lib.call(fd, file.fileno(), -(2**63) + 0x1000)[1] >> 8 == -errno.EFAULT
        os.close(fd)


def test_calls_of_all_lengths() -> None:
    """Arguments arrive in the right places, on the task's stack and on the separate one."""
    with Arena() as arena:
        for native in (0, 0x10000):
            # mmap(0, 4096, r1, MAP_SHARED, r2, r3): six arguments, of which the last one matters.
            code = i.mov(0, 3) + i.mov(5, 2) + i.mov(3, 1) + i.movi(1, 0) + i.movi(2, 4096)
            code += i.movi(4, 1) + i.outside(i.SYSCALL + 9) + i.EXIT
            fd = register([code], arena, native=native)
            file = os.memfd_create("pages")
            os.pwrite(file, b"second", 4096)
            before = next(lib.scripts()).syscalls
            done, address = lib.call(fd, mmap.PROT_READ, file, 4096)
            assert done == 1 and ctypes.string_at(address, 6) == b"second"
            assert lib.call(fd, mmap.PROT_READ, file, 1) == (1, -errno.EINVAL)
            assert next(lib.scripts()).syscalls == before + 2
            libc.munmap(address, 4096)
            os.close(file)
            os.close(fd)


def test_calls_no_script() -> None:
    """A script calls no script, neither by ioctl(2) nor by lseek(2) with SYSCRIPT_SEEK_CALL."""
    ioc_call, seek_call = 0xC090CA42, 4
    with Arena() as arena:
        callee = register([i.movi(0, 7) + i.EXIT], arena)
        call = arena.address + 0x200
        for native in (0, 0x10000):
            by_ioctl = register([i.outside(i.SYSCALL + 16) + i.EXIT], arena, native=native)
            assert lib.call(by_ioctl, callee, ioc_call, call) == (1, -errno.EDEADLK)
            by_lseek = register([i.outside(i.SYSCALL + 8) + i.EXIT], arena, native=native)
            assert lib.call(by_lseek, callee, -call, seek_call) == (1, -errno.EDEADLK)
            any_call = register([i.outside(i.CALL_SYSCALL) + i.EXIT], arena, native=native)
            for nr, args in ((16, (callee, ioc_call, call)), (8, (callee, -call, seek_call))):
                data = b"".join((a % 2**64).to_bytes(8, "little") for a in (*args, 0, 0, 0))
                arena.write(0x100, data)
                assert lib.call(any_call, nr, arena.address + 0x100) == (1, -errno.EDEADLK)
            assert lib.call(by_lseek, by_lseek, -call, seek_call) == (1, -errno.EDEADLK)
            for fd in (by_ioctl, by_lseek, any_call):
                os.close(fd)
        assert os.lseek(callee, -call, seek_call) == 0x5CA11ED
        assert lib.call(callee) == (1, 7)
        os.close(callee)


def test_files_are_released() -> None:
    """The call that drops the last reference releases the file, not the end of the run."""
    with Arena() as arena:
        for native in (0, 0x10000):
            # dup2(r2, r1), read(r3, arena, 1): 0 at the end of a pipe without writers
            code = i.mov(6, 3) + i.mov(3, 1) + i.mov(1, 2) + i.mov(2, 3)
            code += i.outside(i.SYSCALL + 33) + i.mov(1, 6) + i.arena(2, 0x100) + i.movi(3, 1)
            code += i.outside(i.SYSCALL + 0) + i.EXIT
            fd = register([code], arena, native=native)
            reading, writing = os.pipe()
            other = os.open("/dev/null", os.O_RDONLY)
            os.set_blocking(reading, False)
            assert lib.call(fd, writing, other, reading) == (1, 0)
            for each in (reading, writing, other, fd):
                os.close(each)


def test_system_call_by_number() -> None:
    with Arena() as arena:
        fd = register([i.outside(i.CALL_SYSCALL) + i.EXIT], arena)
        assert lib.call(fd, 110, arena.address) == (1, os.getppid())
        for nr in (57, 59, 511, 512, 2**40, -1):  # fork, execve, and invalid numbers
            assert lib.call(fd, nr, arena.address) == (1, -errno.ENOSYS), nr
        os.close(fd)


def test_refused() -> None:
    """A refused image leaves nothing behind; the message names the instruction."""
    with Arena() as arena:
        images = {
            "insn 0: r10 cannot be written": i.Image([i.mov(10, 0) + i.EXIT]),
            "insn 0: jumps to 2, outside": i.Image([i.jump(1) + i.EXIT]),
            "insn 0: compounds cannot make system call 57: ": i.Image(
                [i.outside(i.SYSCALL + 57) + i.EXIT]
            ),
            "insn 0: compounds cannot make system call 4000: ": i.Image(
                [i.outside(i.SYSCALL + 4000) + i.EXIT]
            ),
            "not an image: wrong magic number": i.Image([i.EXIT], over={"magic": 1}),
            "an image for arm64 (machine 183): compile it for x86-64": i.Image(
                [i.EXIT], over={"machine": 183}
            ),
        }
        for text, image in images.items():
            fd, error = lib.register(image.pack(), engine=1, **arena.shared())
            assert fd == -errno.ENOEXEC and text in error, (fd, error)
        image = i.Image([i.EXIT]).pack()
        for n in range(len(image)):
            fd, error = lib.register(image[:n] or b"x", engine=1, **arena.shared())
            assert fd == -errno.ENOEXEC, (n, error)
        # The header is checked even if the code is in the cache.
        fd = register([i.EXIT], arena)
        other = i.Image([i.EXIT], over={"native_size": 1 << 30}).pack()
        assert lib.register(other, engine=1, **arena.shared())[0] == -errno.ENOEXEC
        os.close(fd)
    assert not list(lib.scripts())


def test_shared_memory_is_checked() -> None:
    image = i.Image([i.EXIT]).pack()
    with Arena(0x20000) as arena:
        for shared, shared_len in (
            (0, 0),
            (arena.address, 0x20000),
            (arena.address, 0x8000),
            (arena.address + 0x1000, 0x10000),
            (arena.address, 2**64 - 1),
        ):
            fd, text = lib.register(image, engine=1, shared=shared, shared_len=shared_len)
            assert fd == -errno.EINVAL and "65536 bytes" in text, (fd, text)
    for address in (0, 0x7FFF_FFFF_0000, 2**64 - 0x10000, 0xFFFF_8880_0000_0000):
        fd, text = lib.register(image, engine=1, shared=address, shared_len=0x10000)
        assert fd == -errno.EFAULT, (hex(address), fd, text)
    result = as_user(
        "image = i.Image([i.EXIT]).pack()\n"
        "def kind(arena):\n"
        "    return lib.register(image, engine=1, **arena.shared())\n"
        "fd = os.memfd_create('x'); os.ftruncate(fd, 0x10000)\n"
        "with Arena(fd=fd, flags=mmap.MAP_SHARED) as arena:\n"
        "    result['file'] = kind(arena)\n"
        "with Arena(prot=mmap.PROT_READ) as arena:\n"
        "    result['read-only'] = kind(arena)[0]\n"
        "with Arena() as arena:\n"
        "    libc.munmap(arena.address + 0x8000, 0x1000)\n"
        "    result['hole'] = kind(arena)[0]\n"
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (0x18000, 0x18000))\n"
        "with Arena() as arena, Arena() as more:\n"
        "    result['first'] = kind(arena)[0] >= 0\n"
        "    result['again'] = kind(arena)[0] >= 0\n"
        "    result['second'] = kind(more)\n"
        "os.closerange(3, 64)\n"
        "with Arena() as more:\n"
        "    result['freed'] = kind(more)[0] >= 0\n"
    )
    assert result == {
        "file": [-errno.EINVAL, "the shared memory is not anonymous and private"],
        "read-only": -errno.EFAULT,
        "hole": -errno.EFAULT,
        "first": True,
        "again": True,
        "second": [
            -errno.ENOMEM,
            "the shared memory is more than may be locked: "
            "raise RLIMIT_MEMLOCK (ulimit -l) from 96 to 128 KiB",
        ],
        "freed": True,
    }


def test_limits() -> None:
    result = as_user(
        "with Arena() as arena:\n"
        "    fd = register(FOREVER, arena, time_limit_ns=50 * MS)\n"
        "    result['time'] = [lib.call(fd)[0], lib.error(fd)]\n"
        "    result['again'] = lib.call(fd)[0]\n"
        "    fd = register(FOREVER, arena, wall_limit_ns=50 * MS)\n"
        "    result['wall'] = lib.call(fd)[0]\n"
        "    result['alive'] = lib.call(fd)[0]\n"
        "    signal.signal(signal.SIGALRM, lambda *a: None)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "    fd = register(FOREVER, arena)\n"
        "    result['signal'] = lib.call(fd)[0]\n"
        "    for name, nr in (('fast', 110), ('slow', 8)):\n"  # getppid(2), lseek(2)
        "        calls = [i.outside(i.SYSCALL + nr) + i.jump(-2) + i.EXIT]\n"
        "        for native in (0, 0x10000):\n"
        "            signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "            fd = register(calls, arena, native=native, wall_limit_ns=50 * MS)\n"
        "            ends = [lib.call(fd)[0], lib.error(fd)]\n"
        "            fd = register(calls, arena, native=native)\n"
        "            signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "            result[f'{name} {native}'] = [*ends, lib.call(fd)[0]]\n"
        "    image = i.Image([i.movi(0, 1) * 9000 + i.EXIT]).pack()\n"
        "    result['memory'] = lib.register(image, 65536, engine=1, **arena.shared())[0]\n"
    )
    assert result == {
        "time": [-errno.ETIME, "insn 0: over the time limit"],
        "again": -errno.ENOTRECOVERABLE,
        "wall": -errno.ETIMEDOUT,
        "alive": -errno.ETIMEDOUT,
        "signal": -errno.EINTR,
        "memory": -errno.ENOBUFS,
    } | {
        f"{name} {native}": [*(-errno.ETIMEDOUT, "insn 0: over the wall-clock limit", -errno.EINTR)]
        for name in ("fast", "slow")
        for native in (0, 0x10000)
    }


# A program with several ends: r1 selects one, r2 is a pipe, r3 points to three bytes.
WAYS = """
import struct
def way(n, code):
    return i.jump_ifi("ne", 6, n, len(code) // 8) + code
def write(n):
    return (i.mov(1, 7) + i.mov(2, 8) + i.alui("add", 2, n) + i.movi(3, 1)
            + i.outside(i.SYSCALL + 1) + i.alu("add", 9, 0))
GETPPID = i.outside(i.SYSCALL + 110)
# A filter sends SIGSYS for gettid(2), and there is a handler of that.
def watch():
    code = (0x20, 0, 0, 0), (0x15, 0, 1, 186), (6, 0, 0, 0x30000), (6, 0, 0, 0x7FFF0000)
    code = b"".join(struct.pack("HBBI", *insn) for insn in code)
    filter = ctypes.create_string_buffer(code)
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(filter)))
    signal.signal(signal.SIGSYS, lambda *a: None)
    assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, prog, 0, 0)
PROGRAM = [
    i.mov(6, 1) + i.mov(7, 2) + i.mov(8, 3) + i.movi(9, 0)
    + way(1, i.jump(-1)) + way(2, GETPPID + i.jump(-2)) + way(3, i.outside(i.SYSCALL + 186))
    + way(4, i.movi(1, 5) + i.outside(i.CALL_ABORT))
    + write(0) + write(1) + write(2) + i.mov(0, 9) + i.EXIT
]
here, there = os.pipe()
os.set_blocking(here, False)
def three(fd, arena):
    arena.write(0x100, b"abc")
    count = lib.call(fd, 0, there, arena.address + 0x100)
    try:
        return [*count, os.read(here, 9).decode(), lib.error(fd)]
    except BlockingIOError:
        return [*count, ""]
def ended(what, fd, arena):
    ends = lib.call(fd, what, there, arena.address + 0x100)[0]
    signal.setitimer(signal.ITIMER_REAL, 0)
    return [ends, *three(fd, arena)]
"""


@pytest.mark.parametrize("native", (0, 0x10000))
def test_another_way_after_each_end(native: int) -> None:
    """The reason that ended one run does not end the next, which writes its data once."""
    result = as_user(
        WAYS + "with Arena() as arena:\n"
        "    def made(**limits):\n"
        f"        return register(PROGRAM, arena, native={native}, **limits)\n"
        "    signal.signal(signal.SIGALRM, lambda *a: None)\n"
        "    for what in 1, 2:\n"
        "        fd = made(wall_limit_ns=50 * MS)\n"
        "        result[f'wall {what}'] = [ended(what, fd, arena) for _ in range(2)]\n"
        "        fd = made(grace_ns=MS)\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "        result[f'signal {what}'] = [ended(what, fd, arena)]\n"
        "    fd = made()\n"
        "    result['abort'] = [ended(4, fd, arena) for _ in range(2)]\n"
        "    result['arguments'] = [lib.call(fd, *range(6))[0], *three(fd, arena)]\n"
        "    fd = made(time_limit_ns=50 * MS)\n"
        "    result['time'] = [ended(1, fd, arena)]\n"
        "    watch()\n"
        "    fd = made()\n"
        "    result['watched'] = [ended(3, fd, arena) for _ in range(2)]\n"
    )
    again = [1, 3, "abc", ""]
    twice = {
        "watched": -errno.EOPNOTSUPP,
        "abort": -errno.EPROTO,
        "wall 1": -errno.ETIMEDOUT,
        "wall 2": -errno.ETIMEDOUT,
    }
    assert result == {name: [[err, *again]] * 2 for name, err in twice.items()} | {
        "signal 1": [[-errno.EINTR, *again]],
        "signal 2": [[-errno.EINTR, *again]],
        "arguments": [-errno.ERANGE, *again],
        "time": [[-errno.ETIME, -errno.ENOTRECOVERABLE, 0, ""]],
    }


def test_death_reaches_exclusive_pollers() -> None:
    result = as_user(
        "import select\n"
        "with Arena() as arena:\n"
        "    fd = register(FOREVER, arena, time_limit_ns=50 * MS)\n"
        "    pollers = [select.epoll() for _ in range(3)]\n"
        "    waiting = []\n"
        "    for poller in pollers:\n"
        "        poller.register(fd, select.EPOLLIN | select.EPOLLEXCLUSIVE)\n"
        "        waiting.append(os.fork())\n"
        "        if not waiting[-1]:\n"
        "            os._exit(sum(event for _, event in poller.poll(10)))\n"
        "    time.sleep(0.5)\n"
        "    lib.call(fd)\n"
        "    result['ends'] = [os.waitpid(pid, 0)[1] >> 8 for pid in waiting]\n"
    )
    assert result["ends"] == [select.EPOLLERR | select.EPOLLHUP] * 3


LOOPS = {
    "loop": "FOREVER",
    "calls": "[i.outside(i.SYSCALL + 110) + i.jump(-2) + i.EXIT]",
    "fails": "[i.movi(1, -1) + i.outside(i.SYSCALL + 8) + i.jump(-3) + i.EXIT]",  # lseek
    "asleep": "[i.movi(3, -1) + i.outside(i.SYSCALL + 7) + i.jump(-3) + i.EXIT]",  # poll
    "recursion": "[i.call(2) + i.jump(-2) + i.EXIT, i.EXIT]",
    "caught": "[i.movi(1, 1) + i.outside(i.CALL_TRY) + i.jump(-3) + i.EXIT, i.jump(-1) + i.EXIT]",
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("native", (0, 0x10000))
@pytest.mark.parametrize("what", LOOPS)
def test_killed(what: str, native: int) -> None:
    body = (
        f"table = [0, 1] if {what!r} == 'caught' else []\n"
        "with Arena() as arena:\n"
        f"    fd = register({LOOPS[what]}, arena, table=table, native={native})\n"
        "    print('running', flush=True)\n"
        "    lib.call(fd)\n"
    )
    with subprocess.Popen(program(body), **account("outsider"), stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdout.readline() == b"running\n"
        time.sleep(0.3)
        assert child.poll() is None
        child.kill()
        assert child.wait(HANG) == -signal.SIGKILL


def test_arena_is_attacked() -> None:
    """Another thread changes the mapping in all possible ways during runs of all kinds."""
    result = as_user(
        "stop = threading.Event()\n"
        "SIZE = 0x10000\n"
        "attacks = calls = 0\n"
        "values = set()\n"
        "def attack(address):\n"
        "    global attacks\n"
        "    while not stop.is_set():\n"
        "        libc.mprotect(address, SIZE, attacks % 4)\n"
        "        libc.madvise(address, SIZE, 4)\n"
        "        libc.munmap(address + 0x4000, 0x4000)\n"
        "        libc.mmap(address, SIZE, 3, 0x32, -1, 0)\n"
        "        libc.mremap(address, 0x4000, 0x4000, 3, address + 0x8000)\n"
        "        libc.mmap(address, SIZE, 3, 0x32, -1, 0)\n"
        "        attacks += 1\n"
        "fill = i.mov(6, 1) + i.movi(7, 1000) + i.store(6, 0, 7) + i.load(8, 6, 0)\n"
        "fill += i.alui('add', 6, 4096 + 8) + i.movi(1, 0) + i.mov(2, 6) + i.movi(3, 8)\n"
        "fill += i.movi(4, 0) + i.outside(i.SYSCALL + 17) + i.alui('sub', 7, 1)\n"
        "fill += i.jump_ifi('ne', 7, 0, -10) + i.movi(0, 7) + i.EXIT\n"
        "with Arena() as arena:\n"
        "    fd = register([fill], arena)\n"
        "    thread = threading.Thread(target=attack, args=(arena.address,))\n"
        "    thread.start()\n"
        "    while calls < 100 or attacks < 10:\n"
        "        values.add(lib.call(fd, arena.address))\n"
        "        calls += 1\n"
        "    stop.set(); thread.join()\n"
        "    result['values'] = list(values)\n"
        "    result['register'] = [lib.register(i.Image([i.EXIT]).pack(), engine=1,\n"
        "                          **arena.shared())[0] > 0]\n"
    )
    assert result == {"values": [[1, 7]], "register": [True]}


def test_fork_and_close_during_a_run() -> None:
    """The child has neither the script nor its memory; the run keeps everything to its end."""
    result = as_user(
        "long = i.movi(6, 30) + i.storei(10, -16, 0) + i.storei(10, -8, 10_000_000)\n"
        "long += i.mov(1, 10) + i.alui('add', 1, -16) + i.movi(2, 0)\n"
        "long += i.outside(i.SYSCALL + 35) + i.alui('sub', 6, 1)\n"
        "long += i.jump_ifi('ne', 6, 0, -6) + i.arena(1, 64) + i.load(0, 1, 0) + i.EXIT\n"
        "with Arena() as arena:\n"
        "    arena.write(64, (77).to_bytes(8, 'little'))\n"
        "    fd = register([(long, 16)], arena)\n"
        "    thread = threading.Thread(target=lambda: result.update(run=lib.call(fd)))\n"
        "    thread.start(); time.sleep(0.05)\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        arena.write(64, (5).to_bytes(8, 'little'))\n"
        "        os._exit(lib.call(fd)[0] == -errno.EXDEV)\n"
        "    os.close(fd)\n"
        "    libc.munmap(arena.address, arena.size)\n"
        "    result['child'] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "    thread.join()\n"
    )
    assert result == {"child": 1, "run": [1, 77]}


def test_exec_during_a_run() -> None:
    """execve(2) ends the other threads, wherever they are."""
    result = as_user(
        "with Arena() as arena:\n"
        "    fd = register(FOREVER, arena)\n"
        "    threading.Thread(target=lambda: lib.call(fd)).start()\n"
        "    time.sleep(0.1)\n"
        '    begin = f\'{{"begin": {time.time()}, "end": %s}}\'\n'
        "    os.execv('/bin/sh', ['sh', '-c', f'printf \"$0\" $(date +%s.%N)', begin])\n"
    )
    # The run's own limit is 10 s of CPU time.
    assert result["end"] - result["begin"] < 9
    assert not list(lib.scripts())


def test_owner_dies_and_another_has_it() -> None:
    """The receiver of a descriptor cannot use it, waits for no run, and finally frees it."""
    here, there = socket.socketpair()
    body = (
        "with Arena() as arena:\n"
        "    fd = register(FOREVER, arena)\n"
        f"    socket.send_fds(socket.socket(fileno={there.fileno()}), [b'x'], [fd])\n"
        "    lib.call(fd)\n"
    )
    options = {**account("outsider"), "pass_fds": [there.fileno()]}
    with here, there, subprocess.Popen(program(body), **options) as child:
        fd = socket.recv_fds(here, 1, 1)[1][0]
        time.sleep(0.1)
        assert lib.call(fd)[0] == -errno.EXDEV
        assert child.poll() is None
        child.kill()
        assert child.wait(10 * SLOWDOWN) == -signal.SIGKILL
    assert lib.call(fd)[0] == -errno.EXDEV
    assert len(list(lib.scripts())) == 1
    os.close(fd)
    assert not list(lib.scripts())


def test_code_is_shared_and_bounded() -> None:
    """Programs of an image share one copy of the code; a user can fill only their own share."""
    result = as_user(
        "def big(n):\n"
        "    return [i.movi(0, n) + i.alui('add', 0, 1) * 20_000 + i.EXIT]\n"
        "with Arena() as arena:\n"
        "    same = [register(big(0), arena) for n in range(8)]\n"
        "    result['sum'] = lib.call(same[7])\n"
        "    [os.close(fd) for fd in same[:-1]]\n"
        "    result['still'] = lib.call(same[7])\n"
        "    texts = []\n"
        "    for n in range(1, 40):\n"
        "        fd, text = lib.register(i.Image(big(n)).pack(), 320 << 10, engine=1,\n"
        "                                **arena.shared())\n"
        "        if fd < 0:\n"
        "            result['full'] = [fd, 'they may' in text]\n"
        "            break\n"
        "    result['some'] = n > 5\n"
    )
    assert result == {
        "sum": [1, 20_000],
        "still": [1, 20_000],
        "full": [-errno.ENOBUFS, True],
        "some": True,
    }


AT_ONCE = """
image = i.Image([i.alui('add', 0, 1000) * 130_000 + i.EXIT]).pack()
begin, done, end = os.pipe(), os.pipe(), os.pipe()

def child():
    os.close(begin[1])
    os.close(end[1])
    os.read(begin[0], 1)
    fd, text = lib.register(image, engine=1, memory=3 << 20, **arena.shared())
    os.write(done[1], json.dumps([text, *(lib.call(fd) if fd >= 0 else ())]).encode() + b"\\n")
    os.read(end[0], 1)
    os._exit(0)

with Arena() as arena:
    for n in range(4):
        if not os.fork():
            child()
    os.close(begin[1])
    file = open(done[0])
    result['calls'] = [json.loads(file.readline()) for n in range(4)]
    os.close(end[1])
"""


def test_code_is_shared_from_its_beginning() -> None:
    """Processes register an image simultaneously; a second copy would not fit the share."""
    assert as_user(AT_ONCE)["calls"] == [["", 1, 130_000_000]] * 4


# Loops that overlap, so that what the first one reads is known at the last one after many passes.
KILLED = """
STEP = 7000
LOOP = i.movi(0, 0) * STEP + i.jump_ifi("eq", 7, 0, -2 * STEP - 9) + i.movi(0, 0) * STEP
LOOPS = i.mov(0, 6) * (STEP + 9) + LOOP * 8
STRAIGHT = i.alui("add", 0, 1000) * 130_000

def time_of(image, memory, after=None):
    began, has_begun = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(has_begun, b".")
        fd, text = lib.register(image, engine=1, memory=memory, **arena.shared())
        os._exit(0 if fd >= 0 else -fd)
    os.read(began, 1)
    os.close(began)
    os.close(has_begun)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_stime

with Arena() as arena:
    for name, code, memory in ("loops", LOOPS, 1 << 20), ("straight", STRAIGHT, 4 << 20):
        image = i.Image([code + i.EXIT]).pack()
        status, whole = time_of(image, memory)
        killed = [time_of(image, memory, whole * n / 8) for n in (1, 2, 3)]
        result[name] = [status, [n for n, _ in killed], min(of for _, of in killed) / whole]
"""


def test_sigkill_ends_a_registration() -> None:
    """Of an image that is refused after many instructions, and of one that is accepted."""
    result = as_user(KILLED)
    for name, status in ("loops", errno.ENOBUFS), ("straight", 0):
        assert result[name][:2] == [status, [-signal.SIGKILL] * 3]
        assert result[name][2] < 0.6, "took as long as one that is not killed"


OTHER_ID = """
CLONE_NEWUSER = 0x10000000

def register_all(first):
    fds = []
    for n in range(first, first + 40):
        image = i.Image([i.movi(0, n) + i.alui('add', 0, 1) * 20_000 + i.EXIT]).pack()
        fd, text = lib.register(image, 320 << 10, engine=1, **arena.shared())
        if fd < 0:
            return len(fds), fd, 'they may' in text
        fds.append(fd)

with Arena() as arena:
    assert not libc.unshare(CLONE_NEWUSER)
    print(flush=True)
    sys.stdin.readline()
    result['first'] = register_all(0)
    if not os.fork():
        os.setresuid(1, 1, 1)
        print(json.dumps(register_all(100)), flush=True)
        os._exit(0)
    os.wait()
"""


def test_room_of_one_who_is_many() -> None:
    """All IDs of a user in a namespace share one share of code memory."""
    second, first = in_namespace(program(OTHER_ID), "outsider").splitlines()
    assert json.loads(first)["first"][1:] == [-errno.ENOBUFS, True]
    assert json.loads(second) == [0, -errno.ENOBUFS, True]


def test_stacks_end() -> None:
    """Endless recursion, on the machine's stack and on the arena's."""
    with Arena() as arena:
        for native in (0, 4096, 256 << 10):
            fd = register([i.call(-1) + i.EXIT], arena, native=native)
            assert lib.call(fd)[0] == -errno.EPROTO
            assert lib.error(fd).endswith("the stack is full")
            # The script survives, and the next call works like the first.
            assert lib.call(fd)[0] == -errno.EPROTO
            os.close(fd)
        fd = register([(i.call(-1) + i.EXIT, 4096)], arena, native=256 << 10)
        assert lib.call(fd)[0] == -errno.EPROTO
        os.close(fd)


STACK = 16 << 10  # a task's stack, aligned to its size
GETPPID = 110


@contextmanager
def depths() -> Iterator[Callable[[], int]]:
    """The least stack depth of this task at each getppid(2)."""

    def seen() -> int:
        lines = [li for li in (TRACEFS / "trace").read_text().splitlines() if " depth: " in li]
        mine = [li for li in lines if li.split()[0].endswith(f"-{os.getpid()}")]
        (TRACEFS / "trace").write_text("")
        assert len(mine) == CALLS
        return min(STACK - int(li.split("sp=")[1], 16) % STACK for li in mine)

    with kprobes("p:depth __x64_sys_getppid sp=%sp:x64"):
        yield seen


CALLS = 50
# Kinds of calls in between: the script's call, and a gate.
BETWEEN = 800


def test_calls_have_room() -> None:
    """System calls are made at most 512 bytes deeper than a call of the script."""
    code = i.jump_ifi("eq", 1, 0, 3) + i.alui("sub", 1, 1) + i.call(-3) + i.EXIT
    code += i.outside(i.SYSCALL + GETPPID) + i.EXIT
    with Arena() as arena, depths() as seen:
        for _ in range(CALLS):
            libc.getppid()
        outside, parent = seen(), os.getppid()
        (TRACEFS / "trace").write_text("")
        for native, depth in ((512, 60), (520, 60), (0, 200), (64 << 10, 6000)):
            fd = register([code], arena, native=native)
            for _ in range(CALLS):
                assert lib.call(fd, depth) == (1, parent)
            os.close(fd)
            deeper = seen() - outside
            print(f"native_size {native}: {deeper} bytes deeper than from outside")
            assert deeper <= BETWEEN + (512 if native == 512 else 0)


CGROUP = Path("/sys/fs/cgroup/throttled")
THROTTLED = f"""
cgroup = {str(CGROUP / "cgroup.procs")!r}
with Arena(1 << 20) as arena:
    images = [i.Image([i.movi(0, n) + i.mov(1, 0) * 100_000 + i.EXIT], shift=20,
                      stack_end=0x8000).pack() for n in range(4)]
    open(cgroup, 'w').write(str(os.getpid()))
    while True:
        for image in images:
            fd, text = lib.register(image, engine=1, memory=4 << 20, **arena.shared())
            if fd >= 0:
                os.close(fd)
"""


@contextmanager
def throttled(limit: str, body: str, **more: object) -> Iterator[subprocess.Popen]:
    """Runs a program in a cgroup with a limit; both end together."""
    controllers = (CGROUP.parent / "cgroup.controllers").read_text().split()
    if limit.partition(".")[0] not in controllers:
        pytest.skip(f"this kernel has no {limit}")
    (CGROUP.parent / "cgroup.subtree_control").write_text(f"+{limit.partition('.')[0]}")
    CGROUP.mkdir()
    process = subprocess.Popen(program(body), **more)
    try:
        yield process
    finally:
        with one_cpu():
            (CGROUP / limit).write_text("max")
        (CGROUP / "cgroup.kill").write_text("1")
        process.kill()
        process.wait()
        # Its children may take a little longer.
        while "populated 1\n" in (CGROUP / "cgroup.events").read_text():
            time.sleep(0.05)
        CGROUP.rmdir()


REGISTERED = 60
UNIQUE = count()


def registering() -> float:
    """The seconds that registering code takes that no other process has."""
    time.sleep(0.02)
    begin = time.monotonic()
    with Arena() as arena:
        os.close(register([i.movi(0, next(UNIQUE)) + i.EXIT], arena))
    return time.monotonic() - begin


@pytest.mark.parametrize(
    ("limit", "value", "events", "none"),
    [
        ("memory.high", "65536", "memory.events", "high 0\n"),
        ("cpu.max", "1000 100000", "cpu.stat", "nr_throttled 0\n"),
    ],
    ids=["memory", "cpu"],
)
def test_nobody_waits_for_a_throttled_process(
    limit: str, value: str, events: str, none: str
) -> None:
    """Slow tasks hold no lock that others need.

    Over its cgroup's memory.high a process sleeps for seconds in allocations, over its cpu.max
    where it would be preempted.
    """
    usual = max(registering() for _ in range(REGISTERED))
    with throttled(limit, THROTTLED) as process:
        with one_cpu():
            (CGROUP / limit).write_text(value)
        while none in (CGROUP / events).read_text():
            assert process.poll() is None
            time.sleep(0.05)
        waits = [registering() for _ in range(REGISTERED)]
        assert max(waits) < 1 + 10 * usual, (usual, sorted(waits)[-5:])


CLOSED_LATE = """
descriptors = []
for _ in range(30):
    arena = Arena()
    arena.__enter__()
    descriptors.append(register([i.movi(0, 7) + i.EXIT], arena, memory=1 << 18))
socket.send_fds(socket.socket(fileno=%d), [b"x"], descriptors)
os.closerange(descriptors[0], descriptors[-1] + 1)
mapped = mmap.mmap(-1, 200 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
mapped.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, 200 << 20, 4096):
    mapped[at] = 1
os.write(1, b"+")
while True:  # with its mmap_lock, in fork(2)
    pid = os.fork()
    if not pid:
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
"""


def test_nobody_waits_to_close_for_another_process() -> None:
    """A process whose memory map stays locked for long, as it gets little CPU time."""
    here, there = socket.socketpair()
    body, more = CLOSED_LATE % there.fileno(), {"pass_fds": [there.fileno()]}
    with here, throttled("cpu.max", body, stdout=subprocess.PIPE, **more) as process:
        there.close()
        _, descriptors, _, _ = socket.recv_fds(here, 1, 30)
        assert len(descriptors) == 30 and process.stdout.read(1) == b"+"
        (CGROUP / "cgroup.procs").write_text(str(process.pid))
        with one_cpu():
            (CGROUP / "cpu.max").write_text("1000 100000")
        time.sleep(1)
        waits = []
        for each in descriptors:
            begin = time.monotonic()
            os.close(each)
            waits.append(time.monotonic() - begin)
            time.sleep(0.1)
        # They would wait for a fork, which takes a hundred times as long as usual.
        assert len(waits) == 30 and max(waits) < 10, sorted(waits)[-5:]


FILTER_GETPPID = """
def filter_getppid(action):
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    load_number, unless_getppid = 0x20, 0x15 | 1 << 24 | 110 << 32
    act, allow = 0x06 | action << 32, 0x06 | 0x7fff0000 << 32
    code = (ctypes.c_uint64 * 4)(load_number, unless_getppid, act, allow)
    filter = (ctypes.c_uint64 * 2)(4, ctypes.addressof(code))
    return libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(filter)), 0, 0)  # PR_SET_SECCOMP
"""


def test_filtered() -> None:
    """A filter applies to a compound's calls: this one fails getppid(2) with EPERM."""
    result = as_user(
        FILTER_GETPPID + "with Arena() as arena:\n"
        "    fd = register([i.outside(i.SYSCALL + 110) + i.EXIT], arena)\n"
        "    result['before'] = lib.call(fd)[1] == os.getppid()\n"
        "    result['filter'] = filter_getppid(0x00050001)\n"
        "    result['after'] = [lib.call(fd), lib.call(fd)]\n"
    )
    assert result == {"before": True, "filter": 0, "after": [[1, -errno.EPERM]] * 2}


@pytest.mark.skipif(os.environ.get("SYSCRIPT_GUEST") == "debug", reason="a kernel without ftrace")
def test_filter_kills_thread() -> None:
    """The thread that called the compound ends, another one continues."""
    result = as_user(
        FILTER_GETPPID + "pid = os.fork()\n"
        "if not pid:\n"
        "    threading.Thread(target=lambda: (time.sleep(1), os._exit(7))).start()\n"
        "    with Arena() as arena:\n"
        "        fd = register([i.outside(i.SYSCALL + 110) + i.EXIT], arena)\n"
        "        filter_getppid(0)\n"
        "        lib.call(fd)\n"
        "    os._exit(3)\n"
        "result['end'] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
    )
    assert result == {"end": 7}


@pytest.mark.sample(4)
@pytest.mark.parametrize("part", range(4))
def test_random_images(part: int) -> None:
    """Each gives the interpreter's result and arena."""
    for seed in range(part * 100, part * 100 + 100 // SLOWDOWN):
        try:
            check_kernel(random_image(seed), (seed, 2**63, 3, 5, 7))
        except AssertionError as error:
            raise AssertionError(f"image {seed}") from error
