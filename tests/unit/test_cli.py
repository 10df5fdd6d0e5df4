# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript(1): output, exit status, messages."""

import json
import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"
DEVICE = Path("/dev/syscript")


def syscript(*args: str | Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SYSCRIPT, *args],
        input=stdin,
        env={**os.environ, "SYSCRIPT_BACKEND": "user", **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def script(tmp_path: Path):
    def write(text: str, name: str = "a.lua") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_run_prints_output_then_results(script) -> None:
    path = script("function run(a, b) print('sum', a + b) return a + b, -1 end")
    done = syscript("run", path, "3", "-5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "sum\t-2\n-2\t-1\n", "")


def test_run_from_stdin() -> None:
    done = syscript("run", "-", stdin="function run() return 0x10 end")
    assert (done.returncode, done.stdout) == (0, "16\n")
    done = syscript("run", "-", stdin="function run(")
    assert done.returncode == 1 and done.stderr.startswith("stdin:1: ")


def test_no_result_prints_nothing(script) -> None:
    done = syscript("run", script("function run() end"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_script_error(script) -> None:
    path = script("function run()\n  print('first')\n  error('no luck')\nend", "bad.lua")
    done = syscript("run", path)
    assert (done.returncode, done.stdout) == (1, "first\n")
    assert done.stderr == "bad.lua:3: no luck\n"


def test_limits(script) -> None:
    loop = script("function run() while true do end end")
    done = syscript("run", "--time-limit", "20", loop)
    assert done.returncode == 1 and "over the time limit of 20 ms" in done.stderr
    done = syscript("run", "--kill", "--time-limit", "20", loop)
    assert done.returncode == -signal.SIGKILL
    hog = script("function run() local s = 'x' while true do s = s .. s end end")
    done = syscript("run", "--memory-limit", "200", hog)
    assert done.returncode == 1 and "over the memory limit of 200 KiB" in done.stderr


def test_no_jit(script) -> None:
    path = script("function run() local s = 0 for i = 1, 1e6 do s = s + i end return s end")
    with_jit = syscript("run", "-i", "--time-limit", "5000", path)
    without = syscript("run", "-i", "--no-jit", "--time-limit", "5000", path)
    assert with_jit.stdout == without.stdout == "500000500000\n"
    assert ", 0 traces" in without.stderr
    assert ", 0 traces" not in with_jit.stderr


def test_check(script) -> None:
    assert syscript("check", script("error('is not run')")).returncode == 0
    done = syscript("check", script("function run()\n  x = = 1\nend"))
    assert done.returncode == 1 and done.stderr.startswith("a.lua:2: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], ""),
        (["frobnicate"], "unknown command 'frobnicate'"),
        (["run"], "no FILE"),
        (["run", "--frob"], "see 'syscript run --help'"),
        (["run", "--backend", "moon", "x.lua"], "backend 'moon'"),
        (["run", "--time-limit", "-1", "x.lua"], "time limit '-1'"),
        (["run", "--memory-limit", "much", "x.lua"], "memory limit 'much'"),
        (["run", "x.lua", "1.5"], "'1.5' is no integer"),
        (["run", "x.lua", *"123456789"], "at most 8"),
        (["run", "/no/such/file.lua"], "cannot open /no/such/file.lua"),
        (["check", "a.lua", "b.lua"], "one too many"),
        (["list", "now"], "one too many"),
        (["doctor", "--frob"], "see 'syscript doctor --help'"),
    ],
)
def test_usage(args: list[str], message: str) -> None:
    done = syscript(*args)
    assert done.returncode == 2
    assert message in done.stderr


def test_unknown_backend_in_environment(script) -> None:
    done = syscript("run", script("function run() end"), SYSCRIPT_BACKEND="moon")
    assert done.returncode == 2 and "auto, kernel or user" in done.stderr


def test_full_disk_is_an_error(script) -> None:
    path = script("function run() print('x') end")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SYSCRIPT, "run", "--backend", "user", path],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2 and "standard output" in done.stderr


@pytest.mark.parametrize("args", [["--help"], *([c, "--help"] for c in ("run", "check", "list"))])
def test_help(args: list[str]) -> None:
    done = syscript(*args)
    assert done.returncode == 0 and done.stdout.startswith("Usage: syscript")


def test_version() -> None:
    assert syscript("--version").stdout.startswith("syscript 0.")


@pytest.mark.skipif(DEVICE.exists(), reason="for machines without the device")
def test_without_device(script) -> None:
    path = script("function run() return 1 end")
    assert syscript("run", path, SYSCRIPT_BACKEND="auto").stdout == "1\n"
    done = syscript("run", "--backend", "kernel", path)
    assert done.returncode == 2 and "modprobe syscript" in done.stderr
    done = syscript("list")
    assert done.returncode == 2 and "modprobe syscript" in done.stderr
    done = syscript("doctor")
    assert done.returncode == 1
    assert "modprobe syscript" in done.stdout and "backend: user" in done.stdout


def test_doctor_json() -> None:
    done = syscript("doctor", "--json")
    found = json.loads(done.stdout)
    assert found["kernel"] == platform.release()
    assert found["backends"]["user"] == 0
    assert found["backend"] == "user"
    assert found["device"]["present"] == DEVICE.exists()
    assert found["environment"] == "user"
    assert done.returncode == (1 if found["missing"] else 0)
    assert all(m["what"] and m["command"] for m in found["missing"])


def test_scripts_of_the_library(tmp_path: Path) -> None:
    """Each script compiles, and hello.lua says what it is there to say."""
    for path in (ROOT / "scripts").glob("*.lua"):
        assert syscript("check", path).returncode == 0, path
    done = syscript("run", ROOT / "scripts" / "hello.lua", "20", "22")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "42"
