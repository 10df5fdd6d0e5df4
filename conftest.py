# SPDX-License-Identifier: GPL-2.0
"""Fixtures and hooks for all tests.

Folders unit/ and meta/ run on this machine, vm/ inside a guest, in one boot: there pytest is root,
as_user() and as_outsider() run commands as other users. A test marked `boot` runs on this machine
and boots its own guests.

A C program in tests/vm is a test: exit status 0, 1, or 77 for skipped with the
reason as its last line.  It runs as root and as an ordinary user; those of the
library (tests/unit/*.c) run in the guest too, in the kernel backend.

Inside a guest the kernel's log is checked after every test.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
TESTS = ROOT / "tests"
BUILD = ROOT / "build"
sys.path[:0] = [str(TESTS), str(ROOT / "vm")]

import costs  # noqa: E402
import footprint  # noqa: E402
import kernlog  # noqa: E402
import sharding  # noqa: E402
from runner import HAS_TOOL, SLOWDOWN, account  # noqa: E402

IN_GUEST = "SYSCRIPT_GUEST" in os.environ
# Nothing is installed; in a guest vm/inside has set it.
os.environ.setdefault("SYSCRIPT_LUA_IMAGE", str(BUILD / "lua-runtime" / "lua.image"))
BEFORE = pytest.StashKey[dict[int, str]]()
OPEN = pytest.StashKey[set[int]]()
FAILED = pytest.StashKey[bool]()


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.register(sharding, "shares")
    pluginmanager.register(costs, "costs")


# Emulation is slow.
PROGRAM_TIME = 300 * SLOWDOWN
CHECK_FAILED = 1  # a failed check of the program, not a crash
SKIPPED = 77

Done = subprocess.CompletedProcess[str]


def run_as(user: str, command: list[str | Path], **options) -> Done:
    """Run a command as one of the guest's accounts, with that account's groups."""
    home = f"/tmp/{user}"
    env = {**os.environ, "HOME": home, "USER": user, "LOGNAME": user, **options.pop("env", {})}
    options = {"capture_output": True, "text": True, "timeout": PROGRAM_TIME, **options}
    options |= account(user)
    return subprocess.run([str(word) for word in command], env=env, check=False, **options)


@pytest.fixture
def as_user() -> Callable[..., Done]:
    """as_user(command, **options): as an ordinary user who may use the device."""
    return lambda command, **options: run_as("member", command, **options)


@pytest.fixture
def as_outsider() -> Callable[..., Done]:
    """as_outsider(command, **options): as a user who may not use the device."""
    return lambda command, **options: run_as("outsider", command, **options)


@pytest.fixture(scope="module")
def pages_to_pin() -> Iterator[None]:
    """Large arenas for Lua on the confined engine: each counts fully as pinned memory."""
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 20, 64 << 20))
    yield
    resource.setrlimit(resource.RLIMIT_MEMLOCK, before)


@pytest.fixture
def guest() -> Callable[..., Done]:
    """guest(*arguments): vm/guest, on this machine, with its output captured."""

    def run(*arguments: str, **options) -> Done:
        options = {"capture_output": True, "text": True, **options}
        return subprocess.run([ROOT / "vm" / "guest", *arguments], check=False, **options)

    return run


@pytest.fixture
def kernel_log(request: pytest.FixtureRequest) -> Iterator[kernlog.KernelLog]:
    """kernel_log.read(): what the kernel has logged during this test."""
    log = kernlog.KernelLog(f"{request.node.nodeid} reads the log")
    yield log
    log.close()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Kill children that a test left, or they would run all following tests."""
    parent = os.getpid()
    try:
        return (yield)
    finally:
        if os.getpid() != parent:
            traceback.print_exc()
            os._exit(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test in which the kernel complained."""
    if not IN_GUEST:
        return (yield)
    planted = item.get_closest_marker("planted") is not None
    with kernlog.watched(item.nodeid, planted, partial(pytest.fail, pytrace=False)):
        return (yield)


def scripts() -> dict[int, str]:
    """All live scripts; none without the module or the library (the safety kit's tests)."""
    if not footprint.REFCNT.exists():
        return {}
    return {info.id: str(info) for info in footprint.scripts()}


def left_behind(item: pytest.Item) -> list[str]:
    return [text for number, text in scripts().items() if number not in item.stash[BEFORE]]


def script_descriptors() -> set[int]:
    """This process's descriptors of scripts in the kernel."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        # That of the directory itself is gone.
        with contextlib.suppress(OSError):
            if str(link.readlink()) == "anon_inode:[syscript]":
                found.add(int(link.name))
    return found


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record which scripts exist before a test and its fixtures."""
    if IN_GUEST:
        item.stash[BEFORE] = scripts()
        item.stash[OPEN] = script_descriptors()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    item.stash[FAILED] = call.when == "call" and call.excinfo is not None
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report why tests were repeated: a later pass would hide it."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"repeated: {report.nodeid}")
        terminalreporter.line(report.longreprtext)
        # Tests print there what the kernel has counted, such as probes missed.
        terminalreporter.line(report.capstdout)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test that leaves scripts behind, not a later one that counts them."""
    result = yield
    if IN_GUEST and item.stash[FAILED]:
        # It did not come to closing them, and all tests that count scripts would fail, too.
        for fd in script_descriptors() - item.stash[OPEN]:
            os.close(fd)
    if IN_GUEST and left_behind(item):
        # A killed process may need a moment to end.
        time.sleep(2 * SLOWDOWN)
        left = left_behind(item)
        assert not left, f"left behind: {', '.join(left)}"
    return result


def pytest_sessionstart() -> None:
    """Keep netfilter's code unpatched, by hooks in an unused network namespace.

    Adding the first hook of a kind, or removing the last, patches kernel code, and under QEMU a CPU
    that executes it meanwhile may hang: docs/design/testing.md.
    """
    if IN_GUEST and shutil.which("nft"):
        hold = 'nft -f "$0"; exec sleep infinity'
        command = ["unshare", "--net", "sh", "-c", hold, str(TESTS / "held.nft")]
        # It outlives the tests: a reader of their output must not wait for it.
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pytest_unconfigure() -> None:
    """Exit despite threads that tests left, and report them: Python would wait for them."""
    left = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    if left:
        print(f"threads that do not end: {left}", file=sys.stderr, flush=True)
        os._exit(1)


# For the library's tests.
LIBRARY_ENV = {"SYSCRIPT_BACKEND": "kernel"}
# In the head of a program that is slow in a guest and behaves there as outside.
LONG_IN_GUESTS = " * In guests: --long\n"
OWN_SOURCE = re.compile(r'#include "\.\./\.\./\S+\.c"')


class ProgramFile(pytest.File):
    """A C source whose program, built by make, is a test."""

    def collect(self) -> Iterator[Program]:
        library = self.path.parent.name == "unit"
        for user in ["member"] if library else ["root", "member"]:
            item = Program.from_parent(self, name=user)
            text = self.path.read_text()
            # A run as root differs only if the program checks its user ID; and a program that
            # includes the source under test behaves the same on any machine.
            twin = (user == "root" and "geteuid()" not in text) or OWN_SOURCE.search(text)
            if twin or LONG_IN_GUESTS in text:
                item.add_marker(pytest.mark.long)
            item.user = user
            item.env = LIBRARY_ENV if library else {}
            yield item


class Program(pytest.Item):
    user: str
    env: dict[str, str]

    def runtest(self) -> None:
        program = BUILD / self.path.relative_to(ROOT).with_suffix("")
        done = run_as(self.user, [program], env=self.env, stderr=subprocess.STDOUT, **CAPTURED)
        lines = done.stdout.strip().splitlines() or ["(no output)"]
        if done.returncode == SKIPPED:
            pytest.skip(lines[-1])
        text = "\n".join([f"exit status {done.returncode}", *lines])
        if done.returncode == CHECK_FAILED:
            raise AssertionError(text)
        if done.returncode:
            pytest.fail(text, pytrace=False)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.stem}[{self.name}]"


# Both streams, interleaved as they were written.
CAPTURED = {"capture_output": False, "stdout": subprocess.PIPE}


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProgramFile | None:
    if IN_GUEST and file_path.suffix == ".c" and file_path.name.startswith("test_"):
        return ProgramFile.from_parent(parent, path=file_path)
    return None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    # Only the C programs among the unit tests make sense in a guest.
    if IN_GUEST and collection_path.parent.name == "unit" and collection_path.suffix == ".py":
        return True
    return None


def tool_has_no_use(item: pytest.Item) -> str:
    """Why a tool of the safety kit learns nothing from a test of syscript.ko, or ""."""
    words = set(re.split(r"[\[\]-]", item.name))
    if "user" in words:
        return "runs in a process, not in the module"
    # LuaJIT, the one part that is not instrumented, looks the same in all modes.
    if "interp" in words or item.path.stem == "test_differential":
        return "LuaJIT is not built with the tool"
    return ""


# An attack that succeeded once is a failure: its test is never repeated.
ATTACKS = re.compile(r"attack|hostile|lifetimes|leaks|rights|verify|mutants|addresses|endless")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ATTACKS.search(item.nodeid):
            item.add_marker(pytest.mark.flaky(reruns=0))
        if HAS_TOOL and (reason := tool_has_no_use(item)):
            item.add_marker(pytest.mark.skip(reason=reason))
        boots = item.get_closest_marker("boot") is not None
        if IN_GUEST and boots:
            item.add_marker(pytest.mark.skip(reason="boots a guest: not inside one"))
        elif not IN_GUEST and not boots and item.path.parent.name == "vm":
            item.add_marker(pytest.mark.skip(reason="runs in a guest: `make test-vm`"))
        elif not IN_GUEST and item.path.is_relative_to(TESTS / "hostile"):
            item.add_marker(pytest.mark.skip(reason="runs in a guest: `make test-attack`"))
        elif not IN_GUEST and not boots and item.path.is_relative_to(ROOT / "safety"):
            item.add_marker(pytest.mark.skip(reason="runs in a guest: `make test-safety`"))
