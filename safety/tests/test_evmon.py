# SPDX-License-Identifier: GPL-2.0
"""Event monitors: planted faults (modules/planted_locks), each reported with its places."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import KIT
from modules_in_guest import alone
from planted_locks import PLANTED, do, line_of, load_with

DEBUG = Path("/sys/kernel/debug/evmon")
MONITORS = ["spin", "mutex", "part", "refs", "irq", "alloc", "top"]
EVMON = KIT / "evmon" / "evmon"


@pytest.fixture
def violations(kernel_log) -> Callable[[], list[str]]:
    def read() -> list[str]:
        return re.findall(r"evmon: violation: (.*?)(?: \(\w+\))? \[\d+\]", kernel_log.read())

    return read


def do_if_there(fault: str) -> None:
    try:
        do(fault)
    except FileNotFoundError:
        pytest.skip("this kernel has no guards")


def test_sound(load, violations) -> None:
    load_with(load, *MONITORS)
    do("sound 20")
    assert violations() == []


@pytest.mark.parametrize(
    "fault", ["instances", "rwlock", "atomic", "inatomic", "parts", "freed", "released", "guards"]
)
def test_sound_of_a_kind(fault: str, load, violations) -> None:
    load_with(load, *MONITORS)
    do_if_there(f"sound_{fault} 3")
    assert violations() == []


def test_who_only_tries_does_not_wait(load, violations) -> None:
    load_with(load, "spin", "mutex")
    do("sound_tried 3")
    assert violations() == []


def test_counters_that_take_a_lock(load, violations) -> None:
    load_with(load, "mutex", "refs")
    do("sound_drop 2")
    alone("rmmod", "planted_locks")
    assert violations() == []


def test_counters_that_are_freed(load, violations) -> None:
    load_with(load, "refs")
    do("sound_unshared 20")
    alone("rmmod", "planted_locks")
    assert violations() == []


@pytest.mark.planted
@pytest.mark.parametrize(
    ("monitor", "fault", "expected", "here", "there"),
    [
        (
            *("spin", "spin_other", "spinlock: released by another than who took it: &c->spin"),
            ("unlock_spin", "spin_unlock"),
            ("spin_other", "spin_lock"),
        ),
        (
            *("spin", "spin_then_mutex"),
            "spinlock: mutex taken while a spinlock is held: &c->mutex",
            ("spin_then_mutex", "mutex_lock"),
            ("spin_then_mutex", "spin_lock"),
        ),
        (
            *("spin", "spin_sleep", "spinlock: held across sleep: &c->spin"),
            None,
            ("spin_sleep", "spin_lock"),
        ),
        (
            *("spin", "spin_order", "spinlock: order of locks: &static_spin"),
            ("spin_order", "spin_lock(&static_spin)", 2),
            ("spin_order", "spin_lock(&c->spin)"),
        ),
        (
            *("spin", "spin_helper", "spinlock: order of locks: y"),
            ("lock_both", "spin_lock(y)"),
            ("lock_both", "spin_lock(y)"),
        ),
        (
            *("spin", "spin_instances", "spinlock: order of locks: y"),
            ("lock_both", "spin_lock(y)"),
            ("lock_both", "spin_lock(x)"),
        ),
        (
            *("mutex", "mutex_instances", "mutex: order of locks: y"),
            ("mutex_both", "mutex_lock(y)"),
            ("mutex_both", "mutex_lock(x)"),
        ),
        (
            *("spin", "rwlock_order", "spinlock: order of locks: &static_rwlock"),
            ("rwlock_order", "read_lock(&static_rwlock)"),
            ("rwlock_order", "write_lock(&c->rwlock)"),
        ),
        (
            *("spin", "rwlock_hardirq"),
            "spinlock: taken with interrupts on, and in an interrupt: &static_rwlock",
            ("read_rwlock", "read_lock"),
            ("rwlock_hardirq", "write_lock"),
        ),
        (
            *("spin", "spin_then_alloc"),
            "spinlock: memory allocated that may sleep, while a spinlock is held: &c->spin",
            None,
            ("spin_then_alloc", "spin_lock"),
        ),
        (
            *("spin", "spin_then_copy"),
            "spinlock: call that may sleep while a spinlock is held: copy_from_user",
            ("spin_then_copy", "copy_from_user"),
            ("spin_then_copy", "spin_lock"),
        ),
        (
            *("spin", "irq_then_copy"),
            "spinlock: call that may sleep with interrupts off: copy_from_user",
            ("irq_then_copy", "copy_from_user"),
            None,
        ),
        (
            *("spin", "irq_then_alloc"),
            "spinlock: memory allocated that may sleep, with interrupts off",
            None,
            None,
        ),
        (
            *("spin", "preempt_then_alloc"),
            "spinlock: memory allocated that may sleep, with preemption off",
            None,
            None,
        ),
        (
            *("spin", "rcu_then_alloc"),
            "spinlock: memory allocated that may sleep, in a read-side section of RCU",
            None,
            None,
        ),
        (
            *("spin", "softirq_alloc"),
            "spinlock: memory allocated that may sleep, in an interrupt",
            None,
            None,
        ),
        (
            *("spin", "spin_then_pages"),
            "spinlock: memory allocated that may sleep, while a spinlock is held: &c->spin",
            None,
            ("spin_then_pages", "spin_lock"),
        ),
        (
            *("spin", "preempt_then_copy"),
            "spinlock: call that may sleep with preemption off: copy_from_user",
            ("preempt_then_copy", "copy_from_user"),
            None,
        ),
        (
            *("spin", "rcu_then_copy"),
            "spinlock: call that may sleep in a read-side section of RCU: copy_from_user",
            ("rcu_then_copy", "copy_from_user"),
            None,
        ),
        (
            *("spin", "rcu_then_mutex"),
            "spinlock: mutex taken in a read-side section of RCU: &c->mutex",
            ("rcu_then_mutex", "mutex_lock"),
            None,
        ),
        (
            *("spin", "preempt_then_mutex"),
            "spinlock: mutex taken with preemption off: &c->mutex",
            ("preempt_then_mutex", "mutex_lock"),
            None,
        ),
        (
            *("spin", "spin_then_wait_event"),
            "spinlock: call that may sleep while a spinlock is held: might_sleep",
            ("spin_then_wait_event", "wait_event"),
            ("spin_then_wait_event", "spin_lock"),
        ),
        (
            *("spin", "spin_then_get_user"),
            "spinlock: call that may sleep while a spinlock is held: might_fault",
            ("spin_then_get_user", "get_user"),
            ("spin_then_get_user", "spin_lock"),
        ),
        (
            *("spin", "spin_then_cancel"),
            "spinlock: call that may sleep while a spinlock is held: cancel_delayed_work_sync",
            ("spin_then_cancel", "cancel_delayed"),
            ("spin_then_cancel", "spin_lock"),
        ),
        (
            *("spin", "spin_then_resched"),
            "spinlock: call that may sleep while a spinlock is held: cond_resched",
            ("spin_then_resched", "cond_resched"),
            ("spin_then_resched", "spin_lock"),
        ),
        (
            *("mutex", "mutex_freed", "mutex: freed while it is held: &thing->mutex"),
            None,
            ("mutex_freed", "mutex_lock"),
        ),
        (
            *("mutex", "mutex_freed_kept", "mutex: freed while it is held: &of_cache->mutex"),
            None,
            ("mutex_freed_kept", "mutex_lock"),
        ),
        (
            *("mutex", "mutex_freed_by_other"),
            "mutex: freed while it is held: &of_cache->mutex",
            None,
            ("mutex_freed_by_other", "mutex_lock"),
        ),
        (
            *("spin", "spin_again"),
            "spinlock: taken again by its holder, which waits for ever: &c->spin",
            ("spin_again", "spin_lock", 2),
            ("spin_again", "spin_lock", 1),
        ),
        (
            *("spin", "spin_kept", "spinlock: held on return to user space: &c->spin"),
            None,
            ("spin_kept", "spin_lock"),
        ),
        (
            *("part", "bh_mismatch"),
            "part: returned to user space with bottom halves off: local_bh_disable",
            None,
            ("bh_mismatch", "spin_lock_bh"),
        ),
        (
            *("mutex", "guard_order", "mutex: order of locks: &static_mutex"),
            ("guard_order", "guard(mutex)(&static_mutex)", 2),
            ("guard_order", "guard(mutex)(&c->mutex)"),
        ),
        (
            *("spin", "guard_then_alloc"),
            "spinlock: memory allocated that may sleep, while a spinlock is held: &c->spin",
            None,
            ("guard_then_alloc", "guard"),
        ),
        (
            *("spin", "mutex_softirq"),
            "spinlock: mutex taken in an interrupt: &static_mutex",
            ("take_mutex", "mutex_lock"),
            None,
        ),
        (
            *("spin", "spin_freed", "spinlock: freed while it is held: &thing->spin"),
            None,
            ("spin_freed", "spin_lock"),
        ),
        (
            *("mutex", "mutex_uninitialised"),
            "mutex: taken, but never initialised: &c->never",
            ("mutex_uninitialised", "mutex_lock"),
            None,
        ),
        (
            *("mutex", "mutex_kept", "mutex: held on return to user space: &c->mutex"),
            None,
            ("mutex_kept", "mutex_lock"),
        ),
        (
            *("mutex", "mutex_kept_by_task", "mutex: held by a process that ends: &c->mutex"),
            None,
            ("keep_mutex", "mutex_lock"),
        ),
        (
            *("part", "rcu_slept"),
            "part: slept in a read-side section of RCU: rcu_read_lock",
            None,
            ("rcu_slept", "rcu_read_lock"),
        ),
        (
            *("part", "bh_slept", "part: slept with bottom halves off: local_bh_disable"),
            None,
            ("bh_slept", "local_bh_disable"),
        ),
        (
            *("part", "rcu_kept"),
            "part: returned to user space in a read-side section of RCU: rcu_read_lock",
            None,
            ("rcu_kept", "rcu_read_lock"),
        ),
        (
            *("part", "preempt_kept"),
            "part: returned to user space with preemption off: preempt_disable",
            None,
            ("preempt_kept", "preempt_disable"),
        ),
        (
            *("spin", "spin_hardirq"),
            "spinlock: taken with interrupts on, and in an interrupt: &static_spin",
            ("take_spin", "spin_lock"),
            ("take_spin", "spin_lock"),
        ),
        (
            *("spin", "spin_softirq"),
            "spinlock: taken with softirqs on, and in a softirq: &static_spin",
            ("take_spin", "spin_lock"),
            ("take_spin", "spin_lock"),
        ),
        (
            *("mutex", "mutex_other"),
            "mutex: released by another task than took it: &c->mutex",
            ("unlock_mutex", "mutex_unlock"),
            ("mutex_other", "mutex_lock"),
        ),
        (
            *("mutex", "mutex_twice", "mutex: released, but not held: &c->mutex"),
            ("mutex_twice", "mutex_unlock", 2),
            ("mutex_twice", "mutex_unlock", 1),
        ),
        (
            *("mutex", "mutex_order", "mutex: order of locks: &static_mutex"),
            ("mutex_order", "mutex_lock(&static_mutex)", 2),
            ("mutex_order", "mutex_lock(&c->mutex)"),
        ),
        (
            *("mutex", "mutex_order_tried", "mutex: order of locks: &static_mutex"),
            ("mutex_order_tried", "mutex_lock(&static_mutex)"),
            ("mutex_order_tried", "mutex_lock(&c->mutex)"),
        ),
        (
            *("mutex", "mutex_circle", "mutex: order of locks: &static_mutex"),
            ("mutex_circle", "mutex_lock(&static_mutex)", 2),
            ("mutex_circle", "down(&c->sem)"),
        ),
        (
            *("mutex", "mutex_long", r"mutex: held for \d+ ms: &c->mutex"),
            ("mutex_long", "mutex_unlock"),
            ("mutex_long", "mutex_lock"),
        ),
        (
            *("mutex", "rwsem_other"),
            "mutex: released by another task than took it: &c->rwsem",
            ("up_rwsem", "up_write"),
            ("rwsem_other", "down_write"),
        ),
        (
            *("mutex", "sem_twice", "mutex: semaphore of 1 released, but not held: &c->sem"),
            ("sem_twice", "up(&c->sem)", 2),
            None,
        ),
        (
            *("refs", "ref_dropped_at_zero"),
            "refcount: dropped when it was zero: &c->count",
            ("count_dec", "atomic_dec_and_test"),
            ("count_dec", "atomic_dec_and_test"),
        ),
        (
            *("refs", "ref_taken_at_zero", "refcount: taken when it was zero: &c->count"),
            ("count_inc", "atomic_inc"),
            ("count_dec", "atomic_dec_and_test"),
        ),
        (
            *("irq", "irq_long", r"irq: interrupts were off for \d+ us"),
            ("irq_long", "local_irq_enable"),
            ("irq_long", "local_irq_disable"),
        ),
        (
            *("irq", "irq_long_spin", r"irq: interrupts were off for \d+ us: &c->spin"),
            ("irq_long_spin", "spin_unlock_irqrestore"),
            ("irq_long_spin", "spin_lock_irqsave"),
        ),
        (
            *("irq", "irq_forgotten", "irq: interrupts not turned on again"),
            None,
            ("irq_forgotten", "local_irq_disable"),
        ),
        (
            *("irq", "irq_inside"),
            "irq: interrupts turned on inside a part that has them off: &c->spin",
            ("irq_inside", "spin_unlock_irq"),
            ("irq_inside", "local_irq_save"),
        ),
    ],
)
def test_fault(monitor, fault, expected, here, there, load, violations, kernel_log) -> None:
    load_with(load, monitor)
    do_if_there(fault)
    (violation,) = violations()
    assert re.fullmatch(expected.replace("(", r"\(").replace(")", r"\)"), violation)
    text = kernel_log.read()
    if here:
        assert f"here at {line_of(*here)}" in text
    # A place in a monitor itself tells the reader nothing.
    assert not re.search(r"here at .*\[evmon", text)
    if there:
        assert re.search(rf"\] (?!here )[a-z :,]+ at {re.escape(line_of(*there))}", text)


@pytest.mark.planted
@pytest.mark.parametrize(
    ("fault", "expected", "there"),
    [
        (
            *("mutex_again", "mutex: taken again by its holder, which waits for ever: &c->mutex"),
            ("mutex_again", "mutex_lock"),
        ),
        (
            *("mutex_deadlock", r"mutex: order of locks: &(static_mutex|c->mutex)"),
            ("mutex_deadlock", "mutex_lock(&c->mutex)"),
        ),
    ],
)
def test_told_before_it_waits_for_ever(
    fault, expected, there, load, violations, kernel_log
) -> None:
    load_with(load, "mutex")
    stuck = subprocess.Popen(["sh", "-c", f"echo -n {fault} > {PLANTED}"])
    try:
        deadline = time.monotonic() + 20
        while not (found := violations()) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert stuck.poll() is None, "it does not wait"
    finally:
        stuck.kill()
        stuck.wait()
    assert len(found) == 1 and re.fullmatch(expected, found[0])
    assert f"at {line_of(*there)}" in kernel_log.read()


@pytest.mark.planted
def test_mutex_held_when_its_module_goes(load, violations, kernel_log) -> None:
    load_with(load, "mutex")
    do("mutex_kept_by_kthread")
    alone("rmmod", "planted_locks")
    assert violations() == ["mutex: held while its module goes: &c->mutex"]
    assert f"taken at {line_of('mutex_kept', 'mutex_lock')}" in kernel_log.read()


@pytest.mark.planted
def test_references_left(load, violations, kernel_log) -> None:
    load_with(load, "refs")
    do("ref_leak")
    alone("rmmod", "planted_locks")
    assert violations() == ["refcount: at 2 when its module goes: &c->kref"]
    text = kernel_log.read()
    for balance, call, nth in (
        ("+1", "kref_init", 1),
        ("+1", "kref_get", 1),
        ("-1", "kref_put", 1),
    ):
        assert f"balance {balance}, last at {line_of('ref_leak', call, nth)}" in text


@pytest.mark.planted  # these objects are never freed
def test_memory_freed_without_a_tracepoint(load, violations, kernel_log) -> None:
    load_with(load, "alloc")
    do("sound_alloc")
    alone("rmmod", "planted_locks")
    assert "not freed when planted_locks goes" in "".join(violations())
    assert "sound_alloc+" not in kernel_log.read()


@pytest.mark.planted
def test_memory_left(load, violations, kernel_log) -> None:
    load_with(load, "alloc")
    do("sound")
    do("alloc_leak")
    alone("rmmod", "planted_locks")
    assert "alloc: 123 bytes not freed when planted_locks goes" in violations()
    assert "at alloc_leak+" in kernel_log.read()


@pytest.mark.planted
@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("vmalloc", "12345 bytes"),
        ("pages", "8192 bytes"),
        ("page", "4096 bytes"),
        ("percpu", "24 bytes"),
        ("skb", "skb of 777 bytes"),
        ("clone", "skb"),
    ],
)
def test_memory_of_other_kinds_left(kind, what, load, violations, kernel_log) -> None:
    load_with(load, "alloc")
    do("sound_memory")
    do(f"{kind}_leak")
    alone("rmmod", "planted_locks")
    assert f"alloc: {what} not freed when planted_locks goes" in violations()
    text = kernel_log.read()
    assert f"at {kind}_leak+" in text and "sound_memory+" not in text


@pytest.mark.planted
def test_memory_left_by_a_module_that_came_first(load, violations) -> None:
    load("evmon")
    load("planted_locks+evmon")
    load("evmon/evmon_alloc", modules="other,planted_locks")
    do("alloc_leak")
    alone("rmmod", "planted_locks")
    assert "alloc: 123 bytes not freed when planted_locks goes" in violations()


def test_nothing_is_told_of_what_began_before(load, violations) -> None:
    """Releasing locks that were taken before the monitor was loaded is not reported."""
    load("evmon")
    load("planted_locks+evmon")
    do("mutex_kept")
    load("evmon/evmon_mutex")
    load("evmon/evmon_spin")
    do("sound")
    assert violations() == []


@pytest.mark.planted
def test_status(load) -> None:
    load_with(load, "spin", "mutex")
    do("mutex_twice")
    done = subprocess.run([EVMON, "status", "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["monitors"] == ["spinlock", "mutex"]
    assert found["violations"]["mutex"] >= 1
    shown = subprocess.run([EVMON, "status"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^mutex +\d+$", shown, re.MULTILINE)


def test_not_for_ordinary_users(load, as_outsider) -> None:
    load("evmon")
    for name in ("places", "monitors", "violations"):
        assert as_outsider(["cat", DEBUG / name]).returncode != 0


def test_top(load) -> None:
    load_with(load, "top")
    do("sound 10")
    do("mutex_long")
    lines = [line.split("\t") for line in (DEBUG / "monitors").read_text().splitlines()]
    found = {words[1]: words for words in lines if words[0] == "planted_locks"}
    assert int(found["&a->mutex"][3]) == 30
    assert int(found["&c->mutex"][8]) > 50_000_000  # held at most this many ns
    assert found["&c->mutex"][9] == line_of("mutex_long", "mutex_lock").strip()
