# SPDX-License-Identifier: GPL-2.0
"""Images that extend others, in the kernel: permissions, and the lifetime of a base."""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.accounts import FIRST_UID, Account, Channel
from confined.kernel import Arena, lib, register

BASE_FLAG, EXTENDS_FLAG = 1 << 4, 1 << 5
ENTRY = i.mov(6, 1) + i.mov(1, 2) + i.call_number(6) + i.alui("add", 0, 1000) + i.EXIT
ADD = i.mov(0, 1) + i.alui("add", 0, 1) + i.EXIT
IMAGE = i.Image([(ENTRY, 16), ADD], table=[0, 1]).pack()
FIRST = 2
MEMORY = 64 << 10  # of the 16 MiB that a user's scripts may have


def extension(n: int) -> bytes:
    """An extension whose function returns its argument plus one plus @n."""
    code = i.call_base(1) + i.alui("add", 0, n) + i.EXIT
    return i.Image([(code, 32)], table=[FIRST], flags=i.EXTENDS).pack()


def base_of(image: bytes = IMAGE) -> int:
    fd, text = lib.register(image, engine=1, flags=BASE_FLAG, memory=MEMORY)
    assert fd >= 0, text
    return fd


def extend(base: int, arena: Arena, n: int = 0, **more: int) -> tuple[int, str]:
    return lib.register(
        extension(n),
        engine=1,
        flags=EXTENDS_FLAG,
        base=base,
        memory=MEMORY,
        **arena.shared(),
        **more,
    )


def test_calls_both_ways() -> None:
    with Arena() as arena:
        base = base_of()
        fd, text = extend(base, arena, 50)
        assert fd >= 0, text
        assert lib.call(fd, FIRST, 7) == (1, 1058)
        assert lib.call(fd, 1, 7) == (1, 1008)
        for number in (0, FIRST + 1, -1, 1 << 32 | 1):
            assert lib.call(fd, number, 7)[0] == -errno.EPROTO
            assert "calls a function that does not exist" in lib.error(fd)
        os.close(base)
        os.close(fd)
    assert not list(lib.scripts())


def test_a_base_lives_as_long_as_what_extends_it() -> None:
    with Arena() as arena:
        base = base_of()
        fds = [extend(base, arena, n)[0] for n in range(8)]
        assert min(fds) >= 0
        os.close(base)
        # New code, which has room now, must not overwrite the base's.
        others = [register([i.movi(0, n) + i.EXIT], arena, memory=MEMORY) for n in range(8)]
        assert [lib.call(fd, FIRST, 7) for fd in fds] == [(1, 1008 + n) for n in range(8)]
        assert len(list(lib.scripts())) == 17
        for fd in (*fds[:7], *others):
            os.close(fd)
        assert lib.call(fds[7], FIRST, 7) == (1, 1015)
        os.close(fds[7])
    assert not list(lib.scripts())


def test_what_is_no_base() -> None:
    with Arena() as arena:
        plain = register([i.EXIT], arena)
        base = base_of()
        fd, _ = extend(base, arena)
        for other, why in ((plain, errno.EINVAL), (fd, errno.EINVAL), (0, errno.EBADF)):
            assert extend(other, arena)[0] == -why
        assert extend(1000, arena)[0] == extend(1 << 32 | base, arena)[0] == -errno.EBADF
        assert lib.call(base)[0] == -errno.EPROTO
        assert lib.error(base) == "a base cannot be called, only extended"
        # Flags and memory sizes that are not allowed.
        both = BASE_FLAG | EXTENDS_FLAG
        assert lib.register(extension(0), engine=1, flags=both, base=base)[0] == -errno.EINVAL
        assert lib.register(IMAGE, engine=1, base=base)[0] == -errno.EINVAL
        result = lib.register(IMAGE, engine=1, flags=BASE_FLAG, **arena.shared())
        assert result == (-errno.EINVAL, "a base has no shared memory")
        lua = lib.register(b"function run() end", flags=BASE_FLAG)
        assert lua == (-errno.EINVAL, "images of engine luajit cannot extend others")
        for each in (plain, base, fd):
            os.close(each)


def test_a_base_of_someone_else() -> None:
    """The child has a descriptor of the parent's program."""
    base = base_of()

    def body(channel: Channel) -> None:
        with Arena() as arena:
            channel.say(extend(base, arena)[0])

    with Account(FIRST_UID, body) as child:
        assert child.hear() == -errno.EXDEV
    os.close(base)
    assert not list(lib.scripts())


def test_who_registers_calls_and_closes_at_once() -> None:
    """Two threads, until both have done enough; each may close the base at any time."""
    wrong: list[object] = []

    def work(own: int) -> None:
        with Arena() as arena:
            for turn in range(150):
                base = base_of()
                fd, text = extend(base, arena, own * 1000 + turn % 5)
                if turn % 2:
                    os.close(base)
                if fd < 0 or lib.call(fd, FIRST, 7) != (1, 1008 + own * 1000 + turn % 5):
                    wrong.append((fd, text))
                os.close(fd)
                if not turn % 2:
                    os.close(base)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not list(lib.scripts())


@pytest.mark.parametrize("many", [500, pytest.param(2000, marks=pytest.mark.long)])
def test_many(many: int) -> None:
    with Arena() as arena:
        base = base_of()
        for n in range(many):
            fd, text = extend(base, arena, n)
            assert fd >= 0, text
            assert lib.call(fd, FIRST, 7) == (1, 1008 + n)
            os.close(fd)
        os.close(base)
    assert not list(lib.scripts())
