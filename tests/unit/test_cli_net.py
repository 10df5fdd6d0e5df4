# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript net: its command line, and a namespace of its own where allowed."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"
ASK = r"""
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(20)
    client.connect(("10.87.0.2", 7))
    client.send(b"asked")
    sys.stdout.write(client.recv(100).decode() + "\n")
"""


def net(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SYSCRIPT, "net", *args], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "setup, show or undo expected"),
        (["setup", "--what"], "unknown or incomplete option"),
        (["setup", "a b"], "a name has up to 15"),
        (["setup", "--", "-n"], None),
        (["setup", "--macvlan", "eth0 x", "web"], "the name of a device"),
        (["setup", "--macvlan", "eth0"], "need a NAME"),
        (["setup", "--address", "10.0.0.1", "web"], "an address is like"),
        (["setup", "--address", "10.0.0.1/33", "web"], "an address is like"),
        (["setup", "--address", "::1/129", "web"], "an address is like"),
        (["setup", "--address", "10.0.0.1/24"], "need a NAME"),
        (["setup", "--macvlan", "e", "--outside", "10.0.0.1/8", "web"], "no other end"),
        (["setup", "--port", "0", "web"], "a number from 1 to 65535"),
        (["setup", "--port", "7", "web"], "--port needs --address"),
        (["setup", *["--port", "7"] * 9, "web"], "up to 8 ports"),
        (["setup", "--socket", "web"], "a command"),
        (["setup", "web", "ls"], "a command comes after '--'"),
        (["undo"], "the name of a namespace is missing"),
        (["show", "web"], "unexpected argument 'web'"),
    ],
)
def test_usage(args: list[str], message: str | None) -> None:
    done = net(*args) if message else net("setup", "--print", "--", "-n")
    assert done.returncode == (2 if message else 0)
    if message:
        assert message in done.stderr and done.stderr.rstrip().endswith("see 'syscript net --help'")


def test_print() -> None:
    """Prints the commands that it would run, and nothing else."""
    done = net("setup", "--print", "--macvlan", "eth0", "--address", "fd00::2/64", "--help")
    assert done.returncode == 0 and done.stdout.startswith("Usage: ")
    words = ["--macvlan", "eth0", "--address", "fd00::2/64", "--port", "53", "web"]
    done = net("setup", "--print", *words)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "ip netns add web",
        "ip link add link eth0 name frames0 netns web type macvlan mode bridge",
    ]
    assert "ip -n web address add fd00::2/64 dev frames0" in lines
    assert lines[-1] == "ip -n web link set frames0 up"
    assert [line for line in lines if "match ip dport 53 0xffff action drop" in line]
    assert [line for line in lines if "match ip6 dport 53 0xffff action drop" in line]


def test_own_namespace(tmp_path: Path) -> None:
    """A script in the process answers a real client; afterwards everything is removed."""
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode:
        pytest.skip("no network namespaces for this user")
    echo = f"{SYSCRIPT} run --backend user {ROOT}/scripts/net/udp_echo.lua 3 7 1 20000"
    ask = tmp_path / "ask.py"
    ask.write_text(ASK)
    done = net("setup", "--socket", "--", "sh", "-c", f"{echo} & python3 {ask}; wait")
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["1", "asked"]), done.stderr
    assert net("setup", "--", "sh", "-c", "exit 7").returncode == 7
    assert net("setup", "--", "no-such-command").returncode == 127
