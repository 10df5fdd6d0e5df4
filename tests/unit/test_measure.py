# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript measure on this machine, without the module: tests/vm has the rest."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT
from tracing import one_cpu

SYSCRIPT = ROOT / "build" / "syscript"


def measure(*args: str | Path, **kwargs: object) -> subprocess.CompletedProcess[str]:
    command = [SYSCRIPT, "measure", *args]
    with one_cpu():
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **kwargs)


def measured(*args: str | Path, **kwargs: object) -> dict:
    done = measure("--here", "--json", "-r", "3", *args, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_both_commands_are_measured(tmp_path: Path) -> None:
    busy = "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done; echo same"
    found = measured("--baseline", "sh", "-c", busy, "--", "sh", "-c", "echo same")
    assert found["baseline"]["command"] == ["sh", "-c", busy]
    assert found["scripts"]["command"] == ["sh", "-c", "echo same"]
    assert found["ratio"]["cpu_ns"] < 0.5
    assert found["same_output"] is True


def test_output_is_compared_and_not_shown() -> None:
    found = measured("--baseline", "echo", "egg", "--", "echo", "hen")
    assert found["same_output"] is False
    done = measure("--here", "-r", "1", "--baseline", "echo", "egg", "--", "echo", "hen")
    assert "The two write different output.\n" in done.stdout
    assert "egg" not in done.stdout and "hen" not in done.stdout


def test_mode_switches_are_exact() -> None:
    """One of two programs makes 1,000 more system calls."""
    calls = "import os\nfor _ in range({}): os.getppid()"
    python = ["/usr/bin/python3", "-I", "-S", "-c"]
    base, more = calls.format(0), calls.format(1000)
    found = measured("--baseline", *python, base, "--", *python, more)
    switches = [found[name]["mode_switches"] for name in ("baseline", "scripts")]
    if None in switches:
        pytest.skip("trace events are root's, and need tracefs")
    assert switches[1] - switches[0] == 1000


def instances() -> set[Path]:
    return set(Path("/sys/kernel/tracing/instances").glob("syscript-*"))


def test_mode_switches_of_children_count() -> None:
    child = "/bin/true; /bin/true; /bin/true"
    found = measured("--baseline", "sh", "-c", ":", "--", "sh", "-c", child)
    switches = [found[name]["mode_switches"] for name in ("baseline", "scripts")]
    if None in switches:
        pytest.skip("trace events are root's, and need tracefs")
    assert switches[1] > 2 * switches[0]
    # What other measurements of this machine use will be gone at some time.
    left, end = instances(), time.monotonic() + 60
    while left and time.monotonic() < end:
        time.sleep(0.1)
        left &= instances()
    assert not left


def test_fewer_switches_for_more_instructions_name_the_exchange() -> None:
    """The time of a mode switch decides, which a clock that counts instructions does not have."""
    python = ["/usr/bin/python3", "-I", "-S", "-c"]
    calls = "import os\nfor _ in range(20000): os.getppid()"
    busy = "for _ in range(2000000): pass"
    done = measure(
        "--here", "--icount", "-r", "1", "--baseline", *python, calls, "--", *python, busy
    )
    assert done.returncode == 0, done.stderr
    base, scripts = (line.split() for line in done.stdout.splitlines()[1:3])
    if base[-2] == "-":
        pytest.skip("trace events are root's, and need tracefs")
    more, fewer = (
        abs(int(scripts[at].replace(",", "")) - int(base[at].replace(",", ""))) for at in (-4, -2)
    )
    assert "more instructions for 9" in done.stdout and "fewer mode switches" in done.stdout
    assert f"takes as long as {more / fewer:.0f} instructions" in done.stdout
    assert "not worth it" not in done.stdout and "expect more" not in done.stdout


def test_small_differences_of_times_are_no_verdict() -> None:
    """At 15 rounds one of a thousand runs would give one."""
    done = measure("--here", "-r", "15", "--baseline", "true", "--", "true")
    assert done.returncode == 0
    if "CPU us" not in done.stdout:
        pytest.skip("instructions are counted here")
    assert "No clear difference" in done.stdout or "no difference" in done.stdout


# Work that differs from one call to the next: $1 in odd calls, $2 in even ones.
TURNS = """
read call <$0 || call=0
echo $((call + 1)) >$0
left=$(($1 * (call % 2) + $2 * (1 - call % 2)))
while [ $left -gt 0 ]; do left=$((left - 1)); done
"""


def test_rounds_are_compared_one_by_one(tmp_path: Path) -> None:
    """The second command takes less in every other round, although its least and its most are
    less than those of the first."""
    commands = []
    for name, work in (("first", ("10000", "30000")), ("second", ("23000", "5000"))):
        (tmp_path / name).write_text("0\n")
        commands.append(["sh", "-c", TURNS, tmp_path / name, *work])
    done = measure("--here", "-r", "12", "--baseline", *commands[0], "--", *commands[1])
    assert done.returncode == 0, done.stderr
    if "CPU us" not in done.stdout:
        pytest.skip("instructions are counted here")
    assert "No clear difference" in done.stdout


@pytest.mark.parametrize(("rounds", "verdict"), [(10, "No clear difference"), (11, "save")])
def test_large_differences_of_times_are_one(rounds: int, verdict: str) -> None:
    busy = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"
    baseline = ("--baseline", "sh", "-c", busy, "--")
    done = measure("--here", "-r", str(rounds), *baseline, "sh", "-c", ":")
    if "CPU us" not in done.stdout:
        pytest.skip("instructions are counted here")
    assert verdict in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="runs commands as another user")
def test_commands_run_as_the_user_who_calls_sudo() -> None:
    sudo = {**os.environ, "SUDO_UID": "1234", "SUDO_GID": "1235"}
    ids = 'test "$(id -u) $(id -g) $(id -G)" = "1234 1235 1235"'
    measured("sh", "-c", ids, env=sudo)


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ([], "no command to measure"),
        (["--baseline", "true"], "--baseline takes a command that ends with '--'"),
        (["--baseline", "--", "true"], "--baseline takes a command that ends with '--'"),
        (["--baseline", "true", "--"], "no command to measure"),
        (["-r", "0", "true"], "invalid number of rounds '0': 1 to 1000"),
        (["-r", "1001", "true"], "invalid number of rounds '1001'"),
        (["--none", "true"], "unknown option"),
        (["--here", "no-such-command"], "no command 'no-such-command'"),
        (["--here", "--baseline", "true", "--", "false"], "'false' failed with status 1"),
        (["--here", "sh", "-c", "kill -9 $$"], "'sh' failed with status 137"),
    ],
)
def test_errors(args: list[str], error: str) -> None:
    done = measure(*args)
    assert done.returncode == 2
    assert error in done.stderr and done.stdout == ""
