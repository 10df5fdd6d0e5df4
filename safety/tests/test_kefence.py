# SPDX-License-Identifier: GPL-2.0
"""Kefence: planted faults (modules/planted); each is reported as its kind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kit import KIT

PLANTED = Path("/sys/kernel/debug/planted")
KEFENCE = KIT / "kefence" / "kefence"
DEBUG = Path("/sys/kernel/debug/kefence")

# One page, odd numbers of bytes, several pages.
SIZES = [1, 7, 13, 64, 80, 100, 250, 1000, 4000, 4096, 5000, 8192, 30000]
CONTEXTS = ["task", "spin", "softirq", "hardirq", "kthread"]

# Allocators with the size that they allocate, and the functions that can free it.
FREERS = {
    "kmalloc": ["kfree", "kfree_sensitive", "kfree_const", "kfree_pointer", "kfree_bulk"]
    + ["kvfree", "kfree_rcu", "krealloc_0", "core"],
    "constant": ["kfree"],
    "struct": ["kfree"],
    "kzalloc": ["kfree"],
    "kcalloc": ["kfree"],
    "kmalloc_array": ["kfree"],
    "kmalloc_node": ["kfree"],
    "large": ["kfree"],
    "kvmalloc": ["kvfree"],
    "kvcalloc": ["kvfree"],
    "krealloc": ["kfree"],
    "krealloc_new": ["kfree"],
    "krealloc_array": ["kfree"],
    "kstrdup": ["kfree"],
    "kstrndup": ["kfree"],
    "kmemdup": ["kfree"],
    "kmemdup_nul": ["kfree"],
    "kasprintf": ["kfree"],
    "memdup_user": ["kfree"],
    "memdup_user_nul": ["kfree"],
    "cache": ["cache", "cache_bulk"],
    "cache_zeroed": ["cache"],
    "cache_node": ["cache"],
    "cache_ctor": ["cache_ctor"],
    "cache_rcu": ["cache_rcu"],
    "cache_align": ["cache_align"],
    "cache_bulk": ["cache"],
}
FIXED = {"constant": 80, "large": 20000, "kstrdup": 27, "kstrndup": 27} | {
    name: 88 for name in FREERS if name.startswith("cache")
}
# They may sleep.
TASK_ONLY = {"kvmalloc", "kvcalloc", "memdup_user", "memdup_user_nul"}
PAIRS = [(alloc, free) for alloc, frees in FREERS.items() for free in frees]


@pytest.fixture(scope="module", autouse=True)
def modules(load_module) -> None:
    load_module("kefence", settings="*:reports=all")
    load_module("planted+kefence")


def do(steps: str, context: str = "task") -> None:
    """Have the module perform steps. The buffer is the user memory that it copies."""
    fd = os.open(PLANTED, os.O_WRONLY)
    try:
        os.write(fd, f"{context}: {steps}".ljust(255).encode())
    finally:
        os.close(fd)


def settings(**values: object) -> None:
    pairs = " ".join(f"{key}={value}" for key, value in values.items())
    (DEBUG / "settings").write_text(f"planted {pairs}\n")


@pytest.fixture
def violations(kernel_log) -> Callable[[], list[str]]:
    """violations(): the report headers of this test."""

    def read() -> list[str]:
        return re.findall(r"kefence: violation: (.*) \[\d+\]", kernel_log.read())

    return read


def size_of(alloc: str, size: int = 96) -> int:
    return FIXED.get(alloc, size)


# -- nothing wrong, nothing told ----------------------------------------------


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize(("alloc", "free"), PAIRS)
def test_sound(alloc: str, free: str, context: str, violations) -> None:
    if context != "task" and alloc in TASK_ONLY:
        pytest.skip("may sleep")
    do(f"alloc {alloc} {size_of(alloc)}; fill; free {free}", context)
    assert violations() == []


@pytest.mark.parametrize("size", SIZES)
def test_sound_sizes(size: int, violations) -> None:
    do(f"alloc kmalloc {size}; fill; free kfree")
    assert violations() == []


# -- each fault is told as what it is ------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize("size", SIZES)
def test_overrun(size: int, access: str, violations) -> None:
    do(f"alloc kmalloc {size}; {access} {size}; free kfree")
    s = "" if size == 1 else "s"
    assert violations() == [f"overrun by 1 byte: {access}, object of {size} byte{s}"]


@pytest.mark.planted
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("alloc", FREERS)
def test_overrun_of_each_allocator(alloc: str, context: str, violations) -> None:
    if context != "task" and alloc in TASK_ONLY:
        pytest.skip("may sleep")
    size, free = size_of(alloc), FREERS[alloc][0]
    if alloc == "cache_align":
        size = 128  # 88, plus padding to an alignment of 64 bytes
    do(f"alloc {alloc} {size_of(alloc)}; read {size}; free {free}", context)
    by = size - size_of(alloc) + 1
    s = "" if by == 1 else "s"
    assert violations() == [f"overrun by {by} byte{s}: read, object of {size_of(alloc)} bytes"]


@pytest.mark.planted
def test_slack_of_an_aligned_object(violations, kernel_log) -> None:
    """A write to padding is reported at the free, with the exact byte; the writer is unknown."""
    do("alloc cache_align 88; write 93; free cache_align")
    assert violations() == ["overrun by 6 bytes: write, seen when it is freed, object of 88 bytes"]
    assert "the write itself was not seen" in kernel_log.read()


@pytest.fixture
def set_to() -> Iterator[Callable[..., None]]:
    yield settings
    settings(side="end", align=0)


@pytest.mark.planted
@pytest.mark.parametrize(
    ("side", "steps", "what", "hint"),
    [
        ("end", "alloc cache_align 88; write 93; free cache_align", "overrun by 6", "align=1"),
        ("end", "alloc kmalloc 96; write -3; free kfree", "underrun by 3", "side=start"),
        ("start", "alloc kmalloc 96; write 100; free kfree", "overrun by 5", "side=end"),
    ],
)
def test_setting_that_is_named_shows_the_write(
    side: str, steps: str, what: str, hint: str, set_to, violations, kernel_log
) -> None:
    size = steps.split()[2].strip(";")
    set_to(side=side)
    do(steps)
    assert violations() == [f"{what} bytes: write, seen when it is freed, object of {size} bytes"]
    assert f"set {hint} for the module to see it" in kernel_log.read()
    name, _, value = hint.partition("=")
    set_to(**{name: value})
    do(steps)
    assert violations()[1:] == [f"{what} bytes: write, object of {size} bytes"]
    assert "at access_write+" in kernel_log.read()


@pytest.mark.planted
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("read8 93", "overrun by 1 byte: read"),
        ("write8 99", "overrun by 1 byte: write"),
        ("read 107", "overrun by 8 bytes: read"),
        ("read 4000", "overrun by 3901 bytes: read"),
        ("copy 0 101", "overrun by 1 byte: write"),
        ("set 0 104", "overrun by 1 byte: write"),
        ("loop 0 120", "overrun by 1 byte: write"),
        ("user 0 110", "overrun by 1 byte: read"),
        ("user 90 11", "overrun by 1 byte: read"),
    ],
)
def test_overrun_by_each_access(steps: str, expected: str, violations) -> None:
    do(f"alloc kmalloc 100; {steps}; free kfree")
    assert violations() == [f"{expected}, object of 100 bytes"]


@pytest.mark.planted
@pytest.mark.parametrize("by", [1, 8, 64])
def test_underrun_is_seen_at_the_end(by: int, violations) -> None:
    do(f"alloc kmalloc 96; write -{by}; free kfree")
    s = "" if by == 1 else "s"
    late = "write, seen when it is freed"
    assert violations() == [f"underrun by {by} byte{s}: {late}, object of 96 bytes"]


@pytest.fixture
def at_start() -> Iterator[None]:
    settings(side="start")
    yield
    settings(side="end")


@pytest.mark.planted
@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize("size", SIZES)
def test_underrun(size: int, access: str, at_start, violations) -> None:
    do(f"alloc kmalloc {size}; fill; {access} -1; free kfree")
    s = "" if size == 1 else "s"
    assert violations() == [f"underrun by 1 byte: {access}, object of {size} byte{s}"]


@pytest.mark.planted
def test_overrun_at_start_is_seen_at_the_end(at_start, violations) -> None:
    do("alloc kmalloc 96; write 100; free kfree")
    late = "write, seen when it is freed"
    assert violations() == [f"overrun by 5 bytes: {late}, object of 96 bytes"]


@pytest.mark.planted
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("access", ["read", "write"])
def test_use_after_free_in_each_context(access: str, context: str, violations) -> None:
    do(f"alloc kmalloc 96; free kfree; {access} 5", context)
    assert violations() == [f"use after free: {access} at offset 5, object of 96 bytes"]


# These free after a grace period, which the test waits for.
RCU = {"kfree_rcu", "cache_rcu"}


@pytest.mark.planted
@pytest.mark.parametrize(("alloc", "free"), PAIRS)
def test_use_after_free_by_each_way(alloc: str, free: str, violations) -> None:
    wait = "sleep;" if free in RCU else ""
    do(f"alloc {alloc} {size_of(alloc)}; free {free}; {wait} read 0")
    size = size_of(alloc)
    assert violations() == [f"use after free: read at offset 0, object of {size} bytes"]


@pytest.mark.planted
@pytest.mark.skipif(os.cpu_count() == 1, reason="needs another CPU")
def test_a_cpu_that_has_the_translation_goes_unnoticed(violations) -> None:
    """As the manual and detection.md say; if it is noticed, these have to be changed."""
    for _ in range(9):
        do("alloc kmalloc 96; elsewhere kfree 5")
    assert len(violations()) < 9


@pytest.mark.parametrize(("alloc", "free"), [("kmalloc", "kfree_rcu"), ("cache_rcu", "cache_rcu")])
def test_use_in_the_grace_period(alloc: str, free: str, violations) -> None:
    do(f"alloc {alloc} 96; free {free}; read 40; read 0", "spin")
    assert violations() == []


@pytest.mark.planted
def test_old_pointer_after_krealloc(violations) -> None:
    do("alloc kmalloc 50; next; alloc kmalloc 60; free krealloc_0; read 3")
    assert violations() == ["use after free: read at offset 3, object of 60 bytes"]


@pytest.mark.planted
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize(("alloc", "free"), PAIRS)
def test_double_free(alloc: str, free: str, context: str, violations) -> None:
    if context != "task" and (alloc in TASK_ONLY or free == "krealloc_0"):
        pytest.skip("may sleep")
    do(f"alloc {alloc} {size_of(alloc)}; free {free}; free {free}", context)
    assert violations() == [f"double free: object of {size_of(alloc)} bytes"]


@pytest.mark.planted
def test_double_free_by_module_and_kernel(violations) -> None:
    do("alloc kmalloc 96; free kfree; free core")
    do("alloc kmalloc 96; free core; free kfree")
    do("alloc kmalloc 96; free kfree_rcu; free kfree")
    assert violations() == ["double free: object of 96 bytes"] * 3


@pytest.mark.planted
@pytest.mark.parametrize("offset", [-8, 8, 95, 96])
@pytest.mark.parametrize("free", ["kfree", "core", "kfree_bulk", "cache"])
def test_invalid_free(free: str, offset: int, violations) -> None:
    """The object stays intact, and can be freed correctly afterwards."""
    do(f"alloc kmalloc 96; free {free} {offset}; fill; free kfree")
    expected = [f"invalid free: at offset {offset}, object of 96 bytes"]
    if offset == 96:  # in the next page, which may hold another object
        assert len(violations()) == 1
    else:
        assert violations() == expected


@pytest.mark.planted
@pytest.mark.parametrize("free", ["stack", "static"])
def test_free_of_what_was_never_allocated(free: str, violations) -> None:
    do(f"alloc kmalloc 96; free {free}; free kfree")
    (violation,) = violations()
    assert violation.startswith("invalid free: ")
    assert violation.endswith(" is no allocated memory")


@pytest.mark.planted
def test_wrong_cache(violations) -> None:
    do("alloc cache 88; free cache_other")
    do("alloc kmalloc 96; free cache")
    assert violations() == [
        "wrong cache: object of 88 bytes",
        "wrong cache: object of 96 bytes",
    ]


# -- what a report says --------------------------------------------------------


@pytest.mark.planted
def test_report(kernel_log) -> None:
    do("alloc kmalloc 96; free kfree; write 5", "softirq")
    text = kernel_log.read()
    assert re.search(r"at access_write\+0x\w+/0x\w+ \[planted\], in softirq, process \d+", text)
    assert "of 96 bytes, of module planted" in text
    assert re.search(r"allocated by process \d+, 0.\d+ s ago, at alloc_kmalloc\+", text)
    assert re.search(r"freed by process \d+, 0.\d+ s ago, at free_kfree\+", text)
    assert re.search(r"\]   in_tasklet\+.* \[planted\]", text)
    addresses = re.findall(r"\bffff[0-9a-f]{12}\b", text)
    assert addresses == [], "kernel addresses are not for the log"


@pytest.mark.planted
@pytest.mark.parametrize(
    ("context", "function"),
    [("softirq", "in_tasklet"), ("hardirq", "in_irq_work"), ("kthread", "in_work")],
)
def test_stacks_of_a_place_are_told_apart(context: str, function: str, kernel_log) -> None:
    """Each context made the same steps before, and its stack was remembered."""
    for other in CONTEXTS:
        do("alloc kmalloc 96; free kfree", other)
    do("alloc kmalloc 96; write 96; free kfree", context)
    allocated = kernel_log.read().partition("allocated by")[2]
    assert re.search(r"\]   (in_\w+|planted_write)\+", allocated)[1] == function


@pytest.mark.planted
def test_a_process_cannot_write_reports(kernel_log) -> None:
    """The process name is the only text in a report that an ordinary user controls."""
    name = Path("/proc/self/comm")
    before = name.read_text()
    name.write_text("a\nkefence: b")
    try:
        do("alloc kmalloc 96; read 96; free kfree")
    finally:
        name.write_text(before)
    # /dev/kmsg escapes the backslash again.
    assert r"(a\x5cnkefence: b)" in kernel_log.read()


@pytest.mark.planted
def test_once_per_place(violations) -> None:
    settings(reports="once")
    try:
        for _ in range(3):
            do("alloc kmalloc 96; read8 96; free kfree")
            do("alloc kmalloc 96; write8 96; free kfree")
    finally:
        settings(reports="all")
    counts = dict(line.split("\t") for line in (DEBUG / "violations").read_text().splitlines())
    assert len(violations()) == 2
    assert int(counts["overrun"]) >= 6


@pytest.mark.planted
def test_once_per_caller_of_a_function_of_the_kernel(kernel_log) -> None:
    """vsnprintf() writes for both; the faults are at two places of the module."""
    settings(reports="once")
    try:
        for step in ("print", "print_hex") * 3:
            do(f"alloc kmalloc 96; {step} 96; free kfree")
    finally:
        settings(reports="all")
    reports = kernel_log.read().split("kefence: violation: overrun")[1:]
    callers = [re.search(r"access_print\w*", report)[0] for report in reports]
    assert sorted(callers) == ["access_print", "access_print_hex"]


# -- what follows --------------------------------------------------------------


@pytest.fixture
def action() -> Iterator[Callable[[str], None]]:
    yield lambda name: settings(action=name)
    settings(action="write")


def in_child(steps: str) -> int:
    """The exit status of a child that performs the steps; -9: killed."""
    script = f"import os; os.write(os.open({str(PLANTED)!r}, os.O_WRONLY), {steps!r}.encode())"
    return subprocess.run([sys.executable, "-c", script]).returncode


@pytest.mark.planted
def test_reads_go_on_writes_kill(action, violations) -> None:
    action("read")
    assert in_child("task: alloc kmalloc 96; read 96; free kfree; read 7") == 0
    assert in_child("task: alloc kmalloc 96; write 96; free kfree") == -signal.SIGKILL
    assert len(violations()) == 3


@pytest.mark.planted
@pytest.mark.parametrize(
    "fault", ["read 96", "write 96", "copy 0 3000", "set 90 20000", "free kfree; free kfree"]
)
def test_killed_with_locks_released(fault: str, action, violations) -> None:
    action("kill")
    assert in_child(f"task: hold; alloc kmalloc 96; {fault}; release") == -signal.SIGKILL
    assert in_child("task: hold; release") == 0
    assert len(violations()) == 1


@pytest.mark.planted
def test_killed_before_it_reaches_others(action, violations) -> None:
    """The neighbouring objects stay intact: freed without a report, and not overwritten."""
    action("kill")
    neighbours = "alloc kmalloc 96; set 0 96; next; " * 5
    assert (
        in_child(f"task: {neighbours} alloc kmalloc 96; copy 0 3000; free kfree") == -signal.SIGKILL
    )
    assert len(violations()) == 1


@pytest.mark.planted
@pytest.mark.parametrize("context", ["spin", "softirq", "hardirq", "kthread"])
def test_no_innocent_is_killed(context: str, action, violations) -> None:
    action("kill")
    status = in_child(f"{context}: alloc kmalloc 96; read 96; free kfree")
    assert status == (-signal.SIGKILL if context == "spin" else 0)
    assert len(violations()) == 1


# -- which memory --------------------------------------------------------------


def guarded(run: Callable[[], None]) -> tuple[int, int]:
    """The number of allocations, and how many of them were guarded."""

    def counts() -> tuple[int, int]:
        line = re.search(r"^planted .*, (\d+) of (\d+) guarded", show(), re.MULTILINE)
        return int(line[2]), int(line[1])

    before = counts()
    run()
    after = counts()
    return after[0] - before[0], after[1] - before[1]


def show() -> str:
    return (DEBUG / "settings").read_text()


@pytest.fixture
def defaults() -> Iterator[None]:
    yield
    settings(policy="rate", budget=0, sizes="0-258048", caches="")


def test_budget(defaults) -> None:
    used = int(re.search(r"^planted .* (\d+) pages,", show(), re.MULTILINE)[1])
    settings(policy="all", budget=used + 4)
    many = "alloc kmalloc 96; next; " * 5
    assert guarded(lambda: do(many)) == (5, 2)
    settings(budget=0)
    assert guarded(lambda: do(many)) == (5, 5)


def usage() -> dict[str, Any]:
    """The module's line of `kefence top`."""
    done = subprocess.run([KEFENCE, "top", "--json"], capture_output=True, check=True)
    (found,) = [m for m in json.loads(done.stdout)["modules"] if m["module"] == "planted"]
    return found


def test_most_pages_at_once(defaults) -> None:
    """The maximum grows, and stays when the objects are freed."""
    settings(policy="all")
    before = usage()
    count = (before["most_pages"] - before["pages"]) // 2 + 10
    do(f"many kmalloc {count}")
    after = usage()
    assert after["pages"] == before["pages"]
    assert after["most_pages"] == before["pages"] + 2 * count
    do(f"many kmalloc {count - 1}")
    assert usage()["most_pages"] == after["most_pages"]


def test_sizes_asked_for(defaults) -> None:
    """Guarded or not."""
    settings(sizes="1-10000")
    before = usage()
    do("".join(f"alloc kmalloc {size}; next; " for size in (8, 9, 8192, 20000, 3000000)))
    after = usage()
    assert after["bytes"] - before["bytes"] == 8 + 9 + 8192 + 20000 + 3000000
    assert after["allocs"] - before["allocs"] == 5
    more = {size: n - before["sizes"][size] for size, n in after["sizes"].items()}
    expected = {"8": 1, "16": 1, "8192": 1, "32768": 1, "more": 1}
    assert {size: n for size, n in more.items() if n} == expected


def test_top_for_people(defaults) -> None:
    shown = subprocess.run([KEFENCE, "top"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^planted +\d+ +\d+ +\d+ +\d+$", shown, re.MULTILINE)
    assert re.search(r"^bytes, at most +planted$", shown, re.MULTILINE)


def test_sizes(defaults) -> None:
    settings(sizes="50-100")
    all_sizes = "".join(f"alloc kmalloc {n}; next; " for n in (49, 50, 100, 101))
    assert guarded(lambda: do(all_sizes)) == (4, 2)


def test_caches(defaults) -> None:
    settings(caches="planted_c*,nothing")
    all_caches = "alloc cache 0; free cache; alloc cache_ctor 0; free cache_ctor; "
    assert guarded(lambda: do(all_caches + "alloc kmalloc 96; next")) == (3, 1)
    settings(caches="kmalloc")
    assert guarded(lambda: do(all_caches + "alloc kmalloc 96; next")) == (3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "planted",
        "planted action",
        "planted action=",
        "planted action=explode",
        "planted align=3",
        "planted align=8192",
        "planted sizes=1",
        "planted sizes=a-b",
        "planted budget=-1",
        "planted caches=" + "x" * 200,
        "planted nothing=1",
        "x" * 5000,
    ],
)
def test_settings_that_are_refused(text: str) -> None:
    before = show()
    with pytest.raises(OSError, match=r"Errno (7|22|34)"):
        (DEBUG / "settings").write_text(text)
    assert show() == before


def test_settings_of_modules_to_come() -> None:
    (DEBUG / "settings").write_text("later action=kill side=random\nlater stacks=all\n")
    assert re.search(r"^later action=kill side=random .* stacks=all .*# not loaded", show(), re.M)


def test_not_for_ordinary_users(as_outsider) -> None:
    for name in ("settings", "sites", "modules", "pool", "violations"):
        assert as_outsider(["cat", DEBUG / name]).returncode != 0
