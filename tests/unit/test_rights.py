# SPDX-License-Identifier: GPL-2.0
"""Scripts registered with few system calls and libraries have no others."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys

import pytest
from confined import insn as i
from confined import kernel
from confined.kernel import libc
from conftest import BUILD, ROOT
from library import AUTO

SYSCRIPT = BUILD / "syscript"


def run(only: str, code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [SYSCRIPT, "run", "--time-limit", "9s", "--only", only, "-e", code, *args]
    env = {**os.environ, **env}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


ENGINES = pytest.mark.parametrize("engine", ["luajit", "confined"])


@ENGINES
def test_what_is_named_works(engine: str) -> None:
    code = "return syscall.getpid() > 0 and syscall.getppid() > 0"
    done = run("getpid, getppid", code, SYSCRIPT_ENGINE=engine)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert run("util", "return util.peek(...)", "str:abc", SYSCRIPT_ENGINE=engine).returncode == 0


@ENGINES
def test_constants_need_no_right(engine: str) -> None:
    code = "return const.O_RDWR, const.AT_FDCWD, errno.ENOENT"
    done = run("getpid", code, SYSCRIPT_ENGINE=engine)
    assert (done.returncode, done.stdout) == (0, "2\t-100\t2\n"), done.stderr


@pytest.mark.parametrize(
    ("only", "code", "text"),
    [
        ("getpid", "return syscall.getuid()", "this script may not call 'getuid'"),
        ("util,fs,net", "return syscall.getpid()", "this script may not call 'getpid'"),
        ("", "return syscall.getpid()", "this script may not call 'getpid'"),
        ("getpid,fs", "return util.peek(0)", "this script may not use 'util'"),
        ("statx,util,net", "return fs.stat_many(-100, 0, 0)", "this script may not use 'fs'"),
        ("accept4,util,fs", "return net.accept(0)", "this script may not use 'net'"),
        ("recvmmsg,util,fs", "return net.recv(0)", "this script may not use 'net'"),
        # Indirectly, through remaining objects.
        ("getpid", "return getmetatable(syscall).__index(syscall, 'getuid')()", "'getuid'"),
        ("getpid", "return rawget(_G, 'fs').stat_many(-100, 0, 0)", "may not use 'fs'"),
        ("getpid", "local f = loadstring('return syscall.getuid()') return f()", "'getuid'"),
    ],
)
@pytest.mark.parametrize("calls", [1, 200])
@ENGINES
def test_what_is_not_is_an_error_at_its_line(
    only: str, code: str, text: str, calls: int, engine: str
) -> None:
    """The same in compiled code."""
    body = f"local function f() {code} end for i = 1, {calls} - 1 do pcall(f) end return f()"
    done = run(only, body, SYSCRIPT_ENGINE=engine)
    assert done.returncode == 1
    assert text in done.stderr
    assert ":1: " in done.stderr


@ENGINES
def test_a_script_can_go_on_without(engine: str) -> None:
    code = "local ok = pcall(function() return syscall.getuid() end) return ok"
    assert run("getpid", code, SYSCRIPT_ENGINE=engine).stdout == "0\n"


@pytest.mark.parametrize("name", ["wirte", "fork", "utils", "getpid;getuid", "x" * 300])
def test_names_that_are_none(name: str) -> None:
    done = run(f"getpid,{name}", "return 1")
    assert done.returncode == 2
    assert f"no system call or library '{name[:64]}'" in done.stderr


def test_python() -> None:
    code = """
import os, syscript
with syscript.Script("function run() return syscall.getpid() end", only=["getpid"]) as script:
    assert script() == os.getpid()
with syscript.Script("function run() return syscall.getuid() end", only=["getpid"]) as script:
    try:
        script()
    except syscript.ScriptError as error:
        print(error.strerror)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")}
    env["SYSCRIPT_LIBRARY"] = str(BUILD / "libsyscript.so")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "this script may not call 'getuid'" in done.stdout, done.stderr


# -- Images of the confined engine ------------------------------------------------------

GETPID, GETUID = 39, 102
UTIL, FS = 1, 2
BASE, EXTENDS = 1 << 4, 1 << 5
BATCH_STAT, BATCH_COPY_IN, BATCH_ACCEPT, BATCH_READ_FILE = 2, 11, 13, 14


lib = kernel.lib


class Arena(kernel.Arena):
    """An arena with free space on both sides, for the process's guards."""

    def __init__(self) -> None:
        super().__init__()
        libc.munmap(self.place, 2 * self.size)
        prot, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        wide = 256 * self.size
        place = libc.mmap(None, wide, prot, flags, -1, 0)
        self.address = (place + wide // 2) & -self.size
        libc.munmap(place, self.address - place)
        libc.munmap(self.address + self.size, place + wide - self.address - self.size)

    def __exit__(self, *_: object) -> None:
        libc.munmap(self.address, self.size)


def constant(nr: int) -> bytes:
    return i.outside(i.SYSCALL + nr) + i.EXIT


def registered(arena: Arena | None, *functions: bytes, only: str, **more: int) -> tuple[int, str]:
    image = i.Image([(f, 32) for f in functions], table=(0,), flags=more.pop("image", 0)).pack()
    shared = arena.shared() if arena else {}
    return lib.register(image, engine=1, backend=AUTO, only=only.encode(), **shared, **more)


def registered_with_all(function: bytes) -> tuple[int, str]:
    image = i.Image([(function, 32)], table=(0,)).pack()
    return lib.register(image, engine=1, backend=AUTO, flags=BASE)


def test_constant_calls_of_an_image_are_refused_when_it_is_loaded() -> None:
    with Arena() as arena:
        fd, text = registered(arena, constant(GETPID), only="getpid,getppid")
        assert lib.call(fd) == (1, os.getpid()), text
        os.close(fd)
        # The code exists already, for a script with more rights.
        err, text = registered(arena, constant(GETPID), only="getppid")
        assert err == -errno.ENOEXEC
        assert f"insn 0: makes system call {GETPID}, which this script may not" in text
        err, _ = registered(arena, i.movi(0, 1) + constant(GETUID), only="getpid", flags=1 << 2)
        assert err == -errno.ENOEXEC


def test_other_calls_of_an_image_fail() -> None:
    number = i.mov(2, 1) + i.alui("add", 2, 8) + i.load(1, 1) + i.outside(1) + i.EXIT
    with Arena() as arena:
        fd, text = registered(arena, number, only="getpid")
        assert fd >= 0, text
        for nr, result in ((GETPID, os.getpid()), (GETUID, -errno.EPERM), (600, -errno.ENOSYS)):
            arena.write(0, nr.to_bytes(8, "little"))
            assert lib.call(fd, arena.address) == (1, result)
        os.close(fd)


@pytest.mark.parametrize(
    ("op", "only", "allowed"),
    [
        (BATCH_STAT, "fs", True),
        (BATCH_STAT, "statx,util,net", False),
        (BATCH_READ_FILE, "fs", True),
        (BATCH_READ_FILE, "openat,read,close,util,net", False),
        (BATCH_ACCEPT, "net", True),
        (BATCH_ACCEPT, "accept4,util,fs", False),
        (BATCH_COPY_IN, "util", True),
        (BATCH_COPY_IN, "fs,net", False),
    ],
)
def test_batches_are_of_libraries(op: int, only: str, allowed: bool) -> None:
    batch = i.mov(2, 1) + i.movi(1, op) + i.outside(5) + i.EXIT
    with Arena() as arena:
        fd, text = registered(arena, batch, only=only)
        assert fd >= 0, text
        count, result = lib.call(fd, arena.address + 4096)
        assert ((count, result) == (1, -errno.EPERM)) is not allowed
        os.close(fd)


def test_a_base_may_have_no_more_than_what_extends_it() -> None:
    own = i.movi(0, 7) + i.EXIT
    with Arena() as arena:
        base, text = registered(None, constant(GETPID), only="getpid,util", flags=BASE)
        assert base >= 0, text
        for only, may in (("getpid,util,fs", True), ("getpid", False), ("util", False)):
            more = {"image": i.EXTENDS, "flags": EXTENDS, "base": base}
            fd, text = registered(arena, own, only=only, **more)
            assert (fd >= 0) is may, text
            if may:
                assert lib.call(fd) == (1, os.getpid())
                os.close(fd)
            else:
                assert "rights that this script lacks" in text
        os.close(base)


def test_a_base_with_all_rights_makes_no_call_by_itself() -> None:
    """The extension's rights apply to the base's calls, except calls compiled into its code."""
    asks = i.mov(2, 1) + i.alui("add", 2, 8) + i.load(1, 1) + i.outside(1) + i.EXIT
    with Arena() as arena:
        for code, may in ((asks, True), (asks + constant(GETPID), False)):
            base, text = registered_with_all(code)
            assert base >= 0, text
            more = {"image": i.EXTENDS, "flags": EXTENDS, "base": base}
            fd, text = registered(arena, i.movi(0, 7) + i.EXIT, only="getpid", **more)
            assert (fd >= 0) is may, text
            if not may:
                assert "rights that this script lacks" in text
            else:
                for nr, result in ((GETPID, os.getpid()), (GETUID, -errno.EPERM)):
                    arena.write(0, nr.to_bytes(8, "little"))
                    assert lib.call(fd, arena.address) == (1, result)
                os.close(fd)
            os.close(base)
