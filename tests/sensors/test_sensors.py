# SPDX-License-Identifier: GPL-2.0
"""Common tracing tools see each system call of a script once.

As root in a guest, by `make test-sensors`, which installs them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from runner import COMMAND  # noqa: E402

from consolidate.trace import reader  # noqa: E402

COUNT = 20
# Descriptors that no other process uses.
FIRST = 1001
SCRIPT = f"""function run()
  for i = 0, {COUNT - 1} do syscall.fsync(-({FIRST} + i)) end
  return {COUNT}
end"""
EXPECTED = {-(FIRST + i): 1 for i in range(COUNT)}
EBADF = -9
PATIENCE = 300


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Runs the script, in the kernel unless a tracer prevents that."""
    script = tmp_path / "script.lua"
    script.write_text(SCRIPT)
    return [str(COMMAND), "run", "--time-limit", "10000", str(script)]


def done(argv: list[str]) -> str:
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def descriptors(text: str) -> Counter[int]:
    return Counter(int(found) for found in re.findall(r"\bfsync\(\w*:? ?(-\d+)", text))


def in_consolidate(trace: Path) -> Counter[int]:
    found = [call for thread in reader.read([trace]).threads.values() for call in thread.calls]
    return Counter(int(call.args.split()[-1]) for call in found if call.name == "fsync")


def test_perf_trace(command: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command[2:2] = ["--backend", "kernel"]
    assert done(["perf", "trace", "-o", str(trace), "--", *command]) == f"{COUNT}\n"
    lines = [line for line in trace.read_text().splitlines() if "fsync(" in line]
    assert descriptors("\n".join(lines)) == EXPECTED
    assert all("EBADF" in line for line in lines)


BPF = f"""
tracepoint:raw_syscalls:sys_enter /pid == cpid && args->id == 74/ {{
  @entered[(int32)args->args[0]] = count();
}}
tracepoint:raw_syscalls:sys_exit /pid == cpid && args->id == 74 && args->ret == {EBADF}/ {{
  @failed = count();
}}
tracepoint:syscalls:sys_enter_fsync /pid == cpid/ {{ @named = count(); }}
"""


def test_bpftrace(command: list[str]) -> None:
    command[2:2] = ["--backend", "kernel"]
    said = done(["bpftrace", "-e", BPF, "-c", " ".join(command)])
    entered = re.findall(r"^@entered\[(-?\d+)\]: (\d+)$", said, re.M)
    assert {int(fd): int(count) for fd, count in entered} == EXPECTED
    assert re.search(rf"^@failed: {COUNT}$", said, re.M), said
    assert re.search(rf"^@named: {COUNT}$", said, re.M), said


def test_consolidate_record(command: list[str], tmp_path: Path) -> None:
    """It uses ptrace, so the script runs in the process, where its calls are visible."""
    trace = tmp_path / "trace"
    consolidate = [sys.executable, "-m", "consolidate", "record", "-o", str(trace)]
    done([*consolidate, *command])
    assert in_consolidate(trace) == EXPECTED


def test_consolidate_reads_perf_trace(command: list[str], tmp_path: Path) -> None:
    """perf trace's output has the calls of a script in the kernel."""
    trace = tmp_path / "trace"
    command[2:2] = ["--backend", "kernel"]
    done(["perf", "trace", "-o", str(trace), "--", *command])
    assert in_consolidate(trace) == EXPECTED


BUSY = """
import subprocess, sys, syscript
backend, names = sys.argv[1:]
busy = syscript.Script('''function run()
  local n = 0
  for i = 1, 1e7 do n = n + i % 7 end
  return n
end''', name="busy.lua", backend=backend, time_limit=10)
busy()
# A script's symbols are there as long as it is.
files = "/proc/kallsyms /sys/kernel/debug/syscript/symbols"
subprocess.run(f"cat {files} >{names}", shell=True, check=backend == "kernel")
"""


@pytest.mark.parametrize("backend", ["kernel", "user"])
def test_perf_report(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code is attributed to script and line."""
    trace, names = tmp_path / "perf.data", tmp_path / "names"
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "bindings/python"))
    monkeypatch.setenv("SYSCRIPT_LIBRARY", str(ROOT / "build" / "libsyscript.so"))
    monkeypatch.setenv("SYSCRIPT_PERF_MAP", "1")
    subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=False)
    program = [sys.executable, "-c", BUSY, backend, str(names)]
    done(["perf", "record", "-e", "cpu-clock", "-o", str(trace), "--", *program])
    kallsyms = ["--kallsyms", str(names)] if backend == "kernel" else []
    report = done(["perf", "report", "-i", str(trace), "--stdio", *kallsyms])
    share = re.search(r"^ *([0-9.]+)%.*\bluajit:busy\.lua:3\b", report, re.M)
    assert share and float(share[1]) > 5, report
