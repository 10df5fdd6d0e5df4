# SPDX-License-Identifier: GPL-2.0
"""What users can see of live scripts: list, top, Prometheus's text, fdinfo."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from library import BUILD
from runner import COMMAND, account

HOLDER = """
import sys, syscript
script = syscript.Script('''
function run(n) for i = 1, n do syscall.getppid() end return n end
''', name='held "here"', backend="kernel", time_limit=2)
for n in (10, 20, 30):
    script(n)
try:
    script("x", "y", "z", 1, 2, 3, 4, None)
except TypeError:
    pass
print(script.fileno(), flush=True)
sys.stdin.readline()
while True:
    script(1000)
"""


@pytest.fixture
def holder() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A member's process with a script, and the script's descriptor."""
    env = {
        **os.environ,
        "PYTHONPATH": str(BUILD.parent / "bindings/python"),
        "SYSCRIPT_LIBRARY": str(BUILD / "libsyscript.so"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **account("member"),
    )
    yield process, int(process.stdout.readline())
    process.kill()
    process.wait()


def test_list(holder, as_user, as_outsider) -> None:
    process, _ = holder
    (script,) = json.loads(as_user([COMMAND, "list", "--json"]).stdout)
    assert script["pid"] == process.pid and script["name"] == 'held "here"'
    assert (script["calls"], script["syscalls"], script["state"]) == (3, 60, "ready")
    assert script["engine"] == "luajit" and script["counters"]["mcode"] >= 0
    table = as_user([COMMAND, "list"]).stdout
    assert 'held "here"' in table and "traces=" in table


def test_prometheus(holder, as_user) -> None:
    process, _ = holder
    text = as_user([COMMAND, "list", "--prometheus"]).stdout
    labels = re.search(r"syscript_calls_total(\{.*\}) 3\n", text)[1]
    assert f'pid="{process.pid}"' in labels and r'name="held \"here\""' in labels
    assert "# TYPE syscript_calls_total counter\n" in text
    assert f"syscript_syscalls_total{labels} 60\n" in text
    assert f"syscript_time_limit_seconds{labels} 2.000000000\n" in text
    assert "# TYPE syscript_memory_bytes gauge\n" in text and "syscript_scripts 1\n" in text
    assert f'syscript_engine_counter{labels[:-1]},engine="luajit",counter="traces"}} ' in text
    # Each line is a comment or a sample, and each metric has its type once.
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [0-9.]+", line), line
    types = re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)
    assert len(types) == len(set(types)) > 10


def test_top(holder, as_user) -> None:
    process, _ = holder
    process.stdin.write("go\n")
    process.stdin.flush()
    done = as_user([COMMAND, "top", "-n", "2", "--delay", "500ms"])
    assert done.returncode == 0 and done.stdout.count("SYSCALLS/S") == 2
    row = done.stdout.splitlines()[-1].split()
    assert int(row[1]) == process.pid and float(row[6]) > 1000 and float(row[4]) > 0


SYMBOLS = Path("/sys/kernel/debug/syscript/symbols")
MCODE_SIZE = 8 << 20  # MCODE_PAGES of engine/luajit/kernel/mcode.h


def symbols_of(name: str) -> list[tuple[int, str]]:
    """A script's symbols in the kernel's list for profilers: addresses and lines."""
    if not SYMBOLS.exists():
        subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=True)
    lines = SYMBOLS.read_text().splitlines()
    parsed = [re.fullmatch(r"([0-9a-f]{16}) [Tt] (\S+)\t\[\w+\]", line) for line in lines]
    assert all(parsed), lines
    named = [(found, found[2].removeprefix(f"luajit:{name}")) for found in parsed]
    return [(int(found[1], 16), rest) for found, rest in named if rest != found[2]]


def room() -> range:
    """The address range of machine code."""
    command = ["grep", r"\bsyscript_mcode\b", "/proc/kallsyms"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    start = int(text.split()[0], 16)
    return range(start, start + MCODE_SIZE)


def test_symbols(holder, as_user) -> None:
    """A profiler shows machine code by the script's name and line."""
    process, _ = holder
    process.stdin.write("go\n")
    process.stdin.flush()
    # Users choose names: a name must not forge a line of its own.
    while not (found := symbols_of('held_"here"')):
        assert process.poll() is None
    assert {rest for _, rest in found} <= {"", ":2"} and ":2" in dict(found).values()
    mapped = room()
    assert all(address in mapped for address, _ in found)
    assert as_user(["cat", SYMBOLS]).returncode == 1
    process.kill()
    process.wait()
    assert symbols_of('held_"here"') == []


def test_symbols_need_a_capability(holder) -> None:
    symbols_of("")
    command = ["setpriv", "--bounding-set=-syslog", "--inh-caps=-syslog", "cat", SYMBOLS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "Operation not permitted" in done.stderr


def test_fdinfo(holder) -> None:
    process, fd = holder
    text = Path(f"/proc/{process.pid}/fdinfo/{fd}").read_text()
    fields = dict(re.findall(r"^syscript-([\w-]+):\t(.*)$", text, re.MULTILINE))
    assert fields["name"] == 'held "here"' and fields["calls"] == "3"
    assert fields["syscalls"] == "60" and int(fields["memory"]) > 10000
    assert fields["engine"] == "luajit" and int(fields["mcode"]) >= 0


def test_fdinfo_is_for_its_user(holder, as_outsider) -> None:
    process, fd = holder
    assert as_outsider(["cat", f"/proc/{process.pid}/fdinfo/{fd}"]).returncode == 1
