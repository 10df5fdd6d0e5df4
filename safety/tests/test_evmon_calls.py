# SPDX-License-Identifier: GPL-2.0
"""evmon on kernel functions, and on a module that was not built with it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import KIT

EVMON = KIT / "evmon" / "evmon"
UNPREPARED = Path("/sys/kernel/debug/unprepared")
PROBES = Path("/sys/kernel/debug/kprobes/list")
DEBUG = Path("/sys/kernel/debug/evmon")


@pytest.fixture(autouse=True)
def modules(load) -> None:
    load("evmon")
    load("unprepared")


def do(word: str) -> None:
    UNPREPARED.write_text(word)


def watched_functions() -> list[str]:
    return [line.split()[2].partition("+")[0] for line in PROBES.read_text().splitlines()]


@contextlib.contextmanager
def one_cpu() -> Iterator[None]:
    """Like vm/alone: emulated CPUs cannot have code patched that other CPUs run."""
    emulated = "QEMU TCG" in Path("/proc/cpuinfo").read_text()
    others = list(Path("/sys/devices/system/cpu").glob("cpu*/online")) if emulated else []
    for cpu in others:
        cpu.write_text("0")
    try:
        yield
    finally:
        for cpu in others:
            cpu.write_text("1")


class Command:
    """A running evmon, with its output from the beginning."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.told: list[str] = []

    def ready(self) -> None:
        """The kernel lists functions before their probes are armed."""
        for line in self.process.stderr:
            self.told.append(line.rstrip())
            if line.endswith("end with Ctrl-C\n"):
                return
        raise AssertionError(self.told)

    def wait(self) -> list[str]:
        said, told = self.process.communicate(timeout=60)
        return [*said.splitlines(), *self.told, *told.splitlines()]


@contextlib.contextmanager
def evmon(*command: str) -> Iterator[Command]:
    """Ready once its functions are probed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        one_cpu(),
        subprocess.Popen([sys.executable, EVMON, *command], text=True, **pipes) as process,
    ):
        running = Command(process)
        try:
            running.ready()
            yield running
        finally:
            process.kill()


def ended(command: Command) -> list[str]:
    """Its output, and the totals at its end."""
    command.process.send_signal(signal.SIGINT)
    return command.wait()


@pytest.mark.planted
def test_references_of_a_module_that_was_not_built_with_it(load, kernel_log) -> None:
    load("evmon/evmon_refs")
    calls = ("--take", "unprepared_get(1+8)", "--drop", "unprepared_put(2+8)")
    with evmon("watch", "--json", *calls) as command:
        do("sound")
        do("twice")
        said = ended(command)
    (found,) = [json.loads(line) for line in said if line.startswith("{")]
    assert found["text"] == "dropped when it was zero"
    assert (found["object"], found["module"]) == ("unprepared_put:2", "unprepared")
    assert re.match(r"(do_word|write)[.\w]*\+0x", found["here"])
    assert [line for line in said if line.startswith("evmon: ")][0] == (
        "evmon: 4 events, 0 calls missed"
    )
    assert "unprepared_get: 1 events of unprepared_get:1" in said
    assert "unprepared_put: 3 events of unprepared_put:2" in said
    assert "dropped when it was zero: unprepared_put:2" in kernel_log.read()


def test_sound_references(load, kernel_log) -> None:
    load("evmon/evmon_refs")
    calls = ("--take", "unprepared_get(1+8)", "--drop", "unprepared_put(2+8)")
    with evmon("watch", *calls) as command:
        do("sound")
        ended(command)
    assert "violation" not in kernel_log.read()


def test_one_lock_of_all(load) -> None:
    """Watches one of two spinlocks of a module, and one of the kernel's."""
    load("evmon/evmon_top")
    with evmon("watch", "--lock", "unprepared_spin") as command:
        for _ in range(7):
            do("sound")
        shown = subprocess.run([EVMON, "top", "--json"], capture_output=True, check=True)
        ended(command)
    hot = json.loads(shown.stdout)
    assert [(h["name"], h["kind"], h["count"]) for h in hot] == [
        ("unprepared_spin", "spinlock taken", 7)
    ]


def test_a_lock_of_the_kernel(load, tmp_path: Path) -> None:
    """The lock that d_move() takes, as the paper's dcache_lock was."""
    load("evmon/evmon_top")
    (tmp_path / "a").touch()
    with evmon("watch", "--lock", "rename_lock") as command:
        for old, new in [("a", "b"), ("b", "c"), ("c", "d")]:
            (tmp_path / old).rename(tmp_path / new)
        shown = subprocess.run([EVMON, "top", "--json"], capture_output=True, check=True)
        ended(command)
    (hot,) = json.loads(shown.stdout)
    assert hot["name"] == "rename_lock" and hot["count"] >= 3
    assert hot["longest"].startswith("d_move+")


@pytest.mark.planted
def test_mutex_of_another_task(load, kernel_log) -> None:
    load("evmon/evmon_mutex")
    with evmon("watch", "--json", "--mutex", "unprepared_mutex") as command:
        do("sound")
        do("other")
        said = ended(command)
    (found,) = [json.loads(line) for line in said if line.startswith("{")]
    assert found["text"] == "released by another task than took it"
    assert re.match(r"in_work[.\w]*\+0x", found["here"]) and re.match(
        r"(do_word|write)[.\w]*\+0x", found["there"]
    )
    assert "released by another task" in kernel_log.read()


@pytest.mark.planted
def test_a_lock_that_sleeps(load, kernel_log) -> None:
    load("evmon/evmon_spin")
    with evmon("watch", "--json", "--lock", "unprepared_spin") as command:
        do("sound")
        do("sleep")
        said = ended(command)
    (found,) = [json.loads(line) for line in said if line.startswith("{")]
    assert found["text"] == "held across sleep"
    assert found["object"] == "unprepared_spin"
    assert re.match(r"(do_word|write)[.\w]*\+0x", found["there"])
    assert "held across sleep" in kernel_log.read()


def test_events_of_a_function() -> None:
    """Some CPUs are offline, see one_cpu()."""
    with evmon("log", "-t", "10", "--function", "unprepared_get(1)") as command:
        do("sound")
        do("sound")
        said = command.wait()
    assert command.process.returncode == 0, said
    assert [line.split()[-2] for line in said[:2]] == ["unprepared_get:1"] * 2


def test_off_costs_nothing() -> None:
    """No probe is left, however the command ends."""
    with evmon("watch", "--function", "vfs_unlink(dentry)", "--lock", "rename_lock") as command:
        assert {"vfs_unlink", "_raw_spin_lock"} <= set(watched_functions())
        command.process.kill()
        command.process.wait()
    assert watched_functions() == []


def test_says_that_no_monitor_is_loaded() -> None:
    with evmon("watch", "--lock", "unprepared_spin") as command:
        said = ended(command)
    assert "evmon: no monitor judges --lock: load evmon_spin.ko" in said


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--function", "vfs_unlink"], "expected FUNCTION(ARGUMENT)"),
        (["--function", "vfs_unlink(nothing)"], "has no argument nothing: it has"),
        (["--function", "vfs_unlink(dentry->nothing)"], "has no member nothing"),
        (["--function", "no_such_function(1)"], "no such function, or inlines it"),
        (["--function", "no_such_function(dentry)"], "no BTF has no_such_function()"),
        (["--take", "vfs_unlink(7)"], "has no argument 7"),
        (["--lock", "nothing_at_all"], "no variable of this kernel"),
        (["--function", "get_kprobe(1)"], "is not to be probed"),
        (["--take", "_raw_spin_lock_irqsave(1)"], "name one lock, by --lock"),
    ],
)
def test_what_cannot_be_watched(options: list[str], why: str) -> None:
    with one_cpu():
        done = subprocess.run([EVMON, "watch", "-t", "0", *options], capture_output=True, text=True)
    assert done.returncode == 1
    assert why in done.stderr
    assert watched_functions() == []


def test_several_emulated_cpus_are_refused() -> None:
    """Emulated CPUs have died of probes; the message names the switch, and nothing is probed."""
    if "QEMU TCG" not in Path("/proc/cpuinfo").read_text() or os.cpu_count() == 1:
        pytest.skip("CPUs that are not emulated, or one")
    command = [EVMON, "watch", "-t", "0", "--lock", "rename_lock"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "take all but one offline, or say --despite-emulation" in done.stderr
    assert watched_functions() == []


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "REF_INC vfs_unlink entry 7 0 0 0 0 x",
        "REF_INC vfs_unlink entry 0 0 0 0 0 x",
        "REF_INC vfs_unlink never 1 0 0 0 0 x",
        "NOTHING vfs_unlink entry 1 0 0 0 0 x",
        "REF_INC vfs_unlink entry 1 0 8 0 0 x",
        "x" * 1000,
        "USER _raw_spin_lock entry 1 0 0 0 0 x",
    ],
)
def test_lines_that_are_refused(line: str) -> None:
    with pytest.raises(OSError, match=r"Errno (1|7|22)"):
        (DEBUG / "calls").write_text(line)
    assert watched_functions() == []


def test_for_root_only(as_outsider) -> None:
    assert as_outsider(["cat", DEBUG / "calls"]).returncode != 0
