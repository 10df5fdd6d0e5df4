# SPDX-License-Identifier: GPL-2.0
"""Machine-wide bases: who may create and extend them, and that users cannot harm each other."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.accounts import FIRST_UID, Account, Channel
from confined.kernel import Arena, lib, libc

ROOT = Path(__file__).resolve().parents[2]
CHECK, BASE, EXTENDS, SHARED = 1 << 2, 1 << 4, 1 << 5, 1 << 7
MAX = 3
CLONE_NEWUSER = 0x10000000
DEVICE = "/dev/syscript"
MEMORY = 64 << 10


class Register(ctypes.Structure):
    """struct syscript_register."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("flags", "error_len", "engine", "format")),
        *((name, ctypes.c_uint64) for name in ("image", "image_len", "memory_limit")),
        *((name, ctypes.c_uint64) for name in ("time_limit", "wall_limit", "grace", "error")),
        *((name, ctypes.c_uint64) for name in ("shared", "shared_len")),
        ("name", ctypes.c_char * 32),
        ("base", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64),
        ("calls", ctypes.c_uint64 * 8),
        *((name, ctypes.c_uint32) for name in ("libraries", "reserved2")),
    )


REQUEST = 3 << 30 | ctypes.sizeof(Register) << 16 | 0xCA << 8 | 0x40


def register(image: bytes, flags: int, **more: int) -> tuple[int, str]:
    """By the raw request: its result or -errno, and the error message."""
    text, data = ctypes.create_string_buffer(512), ctypes.create_string_buffer(image)
    reg = Register(flags=flags, engine=1, memory_limit=MEMORY, error_len=len(text))
    reg.image, reg.image_len, reg.error = ctypes.addressof(data), len(image), ctypes.addressof(text)
    for name, value in more.items():
        setattr(reg, name, value)
    device = os.open(DEVICE, os.O_RDWR)
    try:
        return fcntl.ioctl(device, REQUEST, reg), text.value.decode()
    except OSError as error:
        return -error.errno, text.value.decode()
    finally:
        os.close(device)


def runtime(version: int) -> bytes:
    """Calls function r1 of an extension with r2; adds a version-dependent number to the result."""
    entry = i.mov(6, 1) + i.mov(1, 2) + i.call_number(6) + i.alui("add", 0, version) + i.EXIT
    add = i.mov(0, 1) + i.alui("add", 0, 1) + i.EXIT
    return i.Image([(entry, 16), add], table=[0, 1]).pack()


FIRST = 2
EXTENSION = i.Image([(i.call_base(1) + i.EXIT, 32)], table=[FIRST], flags=i.EXTENDS).pack()


def share(version: int) -> tuple[int, str]:
    return register(runtime(version), BASE | SHARED)


def extend(version: int, arena: Arena, digest: bytes | None = None) -> tuple[int, str]:
    name = ctypes.create_string_buffer(digest or hashlib.sha256(runtime(version)).digest(), 32)
    where = ctypes.addressof(name)
    return register(EXTENSION, EXTENDS | SHARED, base=where, **arena.shared())


def is_there(version: int) -> bool:
    with Arena() as arena:
        fd, _ = extend(version, arena)
        if fd >= 0:
            assert lib.call(fd, FIRST, 7) == (1, 8 + version)
            os.close(fd)
        assert fd >= 0 or fd == -errno.ENOKEY
        return fd >= 0


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Restores Lua's runtime as the machine's for the next test; no script is left."""
    yield
    assert not list(lib.scripts())
    subprocess.run([ROOT / "build/syscript", "runtime"], check=True)


def in_account(channel: Channel, version: int, calls: int) -> None:
    with Arena() as arena:
        fd, text = extend(version, arena)
        channel.say([fd >= 0, text])
        for _ in range(calls):
            channel.hear()
            channel.say(lib.call(fd, FIRST, 7))
        channel.say([len(list(lib.scripts())), next(lib.scripts()).own()["mcode"]])
        channel.hear()


def test_one_for_all_users() -> None:
    """The base is in no user's list; users are charged for their extensions only."""
    assert share(1000) == share(1000) == (0, "")
    with (
        Account(FIRST_UID, in_account, 1000, 1) as one,
        Account(FIRST_UID + 1, in_account, 1000, 1) as other,
    ):
        for account in (one, other):
            assert account.hear() == [True, ""]
            account.say(0)
            assert account.hear() == [1, 1008]
            assert account.hear() == [1, 4096]
        assert len(list(lib.scripts())) == 2
    assert is_there(1000)


def test_only_root_makes_one() -> None:
    def body(channel: Channel) -> None:
        own = share(2000)
        # Root of a user namespace is not root of the machine.
        assert not libc.unshare(CLONE_NEWUSER)
        channel.say([own[0], share(2000)[0]])

    with Account(FIRST_UID, body) as account:
        assert account.hear() == [-errno.EPERM, -errno.EPERM]
    assert not is_there(2000)


def test_flags() -> None:
    with Arena() as arena:
        for flags in (SHARED, BASE | EXTENDS | SHARED, BASE | SHARED | CHECK, BASE | SHARED | 1):
            assert register(runtime(0), flags)[0] == -errno.EINVAL
        assert register(runtime(0), BASE | SHARED, base=1)[0] == -errno.EINVAL
        result = register(runtime(0), BASE | SHARED, **arena.shared())
        assert result == (-errno.EINVAL, "a base has no shared memory")
        assert register(EXTENSION, EXTENDS | SHARED, base=1, **arena.shared())[0] == -errno.EFAULT
        # In the process, the library has no such bases, nor a descriptor for one.
        assert lib.register(runtime(0), engine=1, flags=BASE | SHARED)[0] == -errno.EINVAL


def test_a_digest_that_is_nearly_right() -> None:
    assert share(3000)[0] == 0
    digest = hashlib.sha256(runtime(3000)).digest()
    with Arena() as arena:
        for bit in range(256):
            wrong = bytearray(digest)
            wrong[bit // 8] ^= 1 << bit % 8
            assert extend(0, arena, bytes(wrong))[0] == -errno.ENOKEY
        assert extend(0, arena, hashlib.sha256(runtime(3001)).digest())[0] == -errno.ENOKEY
    assert is_there(3000)


def test_the_oldest_that_is_not_used_is_replaced() -> None:
    assert [share(4000 + n)[0] for n in range(10)] == [0] * 10
    assert [is_there(4000 + n) for n in range(10)] == [False] * 7 + [True] * 3
    with Arena() as arena:
        fd, _ = extend(4007, arena)
        assert share(4010)[0] == 0
        assert [is_there(4007 + n) for n in range(4)] == [True, False, True, True]
        assert lib.call(fd, FIRST, 7) == (1, 4015)
        os.close(fd)


def test_all_of_them_are_used() -> None:
    """No user can block root's next base for ever: a full table is reported, nothing is lost."""
    versions = range(5000, 5000 + MAX)
    with Arena() as arena:
        assert [share(n)[0] for n in versions] == [0] * MAX
        fds = [extend(n, arena)[0] for n in versions]
        err, text = share(5100)
        assert err == -errno.EDQUOT and text.startswith("the machine has 3 shared bases, and")
        assert [lib.call(fd, FIRST, 7) for fd in fds] == [(1, 8 + n) for n in versions]
        os.close(fds.pop())
        assert share(5100)[0] == 0
        for fd in fds:
            os.close(fd)
    assert [is_there(n) for n in (*versions, 5100)] == [True, True, False, True]


def test_one_that_is_refused_replaces_none() -> None:
    assert [share(6000 + n)[0] for n in range(MAX)] == [0] * MAX
    wrong = bytearray(runtime(6100))
    wrong[-8] = 0xFF
    err, text = register(bytes(wrong), BASE | SHARED)
    assert err == -errno.ENOEXEC and "insn" in text
    many = [i.movi(0, 1 << 20)] * 40000 + [i.EXIT]
    err, text = register(i.Image([b"".join(many)]).pack(), BASE | SHARED, memory_limit=8 << 20)
    assert err == -errno.ENOBUFS and text.endswith("a shared base may have 128")
    assert all(is_there(6000 + n) for n in range(MAX))


def test_upgrades_while_scripts_run() -> None:
    """Two versions at once, with calls in progress; neither gets the other's code."""
    wrong: list[object] = []
    done, begun = threading.Event(), threading.Barrier(3)
    assert share(7000)[0] == 0
    assert share(7001)[0] == 0

    def work(version: int) -> None:
        with Arena() as arena:
            held = extend(version, arena)[0]
            begun.wait()
            while not done.is_set():
                fd, text = extend(version, arena)
                results = [lib.call(each, FIRST, 7) for each in (fd, held)]
                if results != [(1, 8 + version)] * 2:
                    wrong.append((version, text, results))
                    return
                os.close(fd)
            os.close(held)

    threads = [threading.Thread(target=work, args=(7000 + n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    begun.wait()
    try:
        for n in range(60):
            if share(7100 + n)[0] not in (0, -errno.EDQUOT):
                wrong.append(n)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert is_there(7000) and is_there(7001)


def test_a_user_exhausts_only_their_share() -> None:
    """Scripts count, their base does not: a user at the limit leaves the base to others."""
    assert share(8000)[0] == 0

    def fill(channel: Channel) -> None:
        with Arena() as arena:
            fds = []
            while (made := extend(8000, arena))[0] >= 0:
                fds.append(made[0])
            channel.say([len(fds), made[0]])
            channel.hear()

    with Account(FIRST_UID, fill) as greedy:
        made, err = greedy.hear()
        assert made == 256 and err == -errno.EDQUOT
        with Account(FIRST_UID + 1, in_account, 8000, 1) as other:
            assert other.hear() == [True, ""]
            other.say(0)
            assert other.hear() == [1, 8008]
        assert share(8001)[0] == 0
    assert is_there(8000)


# A container's own /usr/local has copies of the library and of Lua's runtime.
OWN_FILES = """
mount -t tmpfs none /usr/local && mkdir /usr/local/lib
cp "$LD_LIBRARY_PATH/libsyscript.so.0" "$SYSCRIPT_LUA_IMAGE" /usr/local/lib
export LD_LIBRARY_PATH=/usr/local/lib SYSCRIPT_LUA_IMAGE=/usr/local/lib/lua.image
unset SYSCRIPT_LIBRARY  # other tests of the same pytest have set it
exec "$@"
"""
CONTAINERS = {
    "none": [],
    "a user namespace": ["unshare", "-Ur"],
    "its own files": ["unshare", "-Urm", "sh", "-ec", OWN_FILES, "sh"],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_lua_scripts_extend_the_machines_runtime(as_outsider, container: str) -> None:
    """With the machine's base, a process registers only its scripts: its runtime's hash counts."""
    code = "import syscript\nscript = syscript.Script('function run() return 1 end')\n"
    code += "print(script.call(), [info.name for info in syscript.scripts()])\n"
    code += "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libsys' in line})\n"
    env = {
        "SYSCRIPT_ENGINE": "confined",
        "SYSCRIPT_BACKEND": "kernel",
        "PYTHONPATH": str(ROOT / "bindings/python"),
        "LD_LIBRARY_PATH": str(ROOT / "build"),
    }
    command = [*CONTAINERS[container], "python3", "-c", code]
    where = "/usr/local/lib" if container == "its own files" else ROOT / "build"
    loaded = f"{where}/libsyscript.so.0\n"
    shared = as_outsider(command, env=env)
    assert shared.stdout == f"(1,) ['script']\n{loaded}", shared.stderr
    for n in range(MAX):
        assert share(9000 + n)[0] == 0
    own = as_outsider(command, env=env)
    assert own.stdout == f"(1,) ['lua', 'script']\n{loaded}", own.stderr
