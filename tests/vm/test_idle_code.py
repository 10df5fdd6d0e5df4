# SPDX-License-Identifier: GPL-2.0
"""Machine code of extensions is cached for the user's next program, and affects no other user."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined.accounts import FIRST_UID, Account, Channel, hold_code
from confined.kernel import Arena, lib
from test_confined_extends import FIRST, base_of, extend
from tracing import functions_traced

KEPT = 16  # of one account


class Verified:
    """Counts the images compiled since the last query."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace
        self.seen = 0

    def __call__(self) -> int:
        lines = self.trace.read_text().splitlines()
        before, self.seen = self.seen, sum("exec_alloc" in line for line in lines)
        return self.seen - before


@pytest.fixture
def verified() -> Iterator[Verified]:
    with functions_traced("function", "exec_alloc") as trace:
        yield Verified(trace)
    assert not list(lib.scripts())


def run_once(base: int, arena: Arena, n: int) -> None:
    fd, text = extend(base, arena, n)
    assert fd >= 0, text
    assert lib.call(fd, FIRST, 7) == (1, 1008 + n)
    os.close(fd)


def test_it_is_kept(verified: Verified) -> None:
    with Arena() as arena:
        base = base_of()
        for n in range(3):
            run_once(base, arena, n)
        assert verified() == 4
        for n in (*range(3), *range(3)):
            run_once(base, arena, n)
        assert verified() == 0
        os.close(base)


def test_the_oldest_of_an_account_goes_first(verified: Verified) -> None:
    """The account's own oldest code is freed first, and no other account's."""

    def other(channel: Channel) -> None:
        with Arena() as arena:
            base = base_of()
            run_once(base, arena, 500)
            channel.say("kept")
            channel.hear()
            run_once(base, arena, 500)
            channel.say("again")

    with Account(FIRST_UID, other) as account, Arena() as arena:
        assert account.hear() == "kept"
        base = base_of()
        for n in range(3 * KEPT):
            run_once(base, arena, n)
        verified()
        account.say(0)
        assert account.hear() == "again"
        assert verified() == 0
        for n in range(2 * KEPT, 3 * KEPT):
            run_once(base, arena, n)
        assert verified() == 0
        run_once(base, arena, 0)
        assert verified() == 1
        os.close(base)


def test_users_do_not_share_it(verified: Verified) -> None:
    """A user cannot see whether another one has had the same program."""

    def same(channel: Channel) -> None:
        with Arena() as arena:
            base = base_of()
            run_once(base, arena, 7)
            os.close(base)
        channel.say("done")

    for uid in (FIRST_UID + 50, FIRST_UID + 51):
        with Account(uid, same) as account:
            assert account.hear() == "done"
        assert verified() == 2


def leave_code(channel: Channel) -> None:
    with Arena() as arena:
        run_once(base_of(), arena, 1)
    channel.say("left")


def test_it_gives_way() -> None:
    """Each of 40 accounts has a slot, even if earlier accounts left code in it."""
    for n in range(45):
        with Account(FIRST_UID + n, leave_code) as account:
            assert account.hear() == "left"
    # The shared pool has room for 39.
    accounts = [Account(FIRST_UID + 100 + n, hold_code) for n in range(40)]
    try:
        for account in accounts:
            account.say(16)
            assert account.hear()[0] == 0
    finally:
        for account in accounts:
            account.end()
    assert not list(lib.scripts())
