# SPDX-License-Identifier: GPL-2.0
"""syscript net: namespaces with a device for frames, for root and for an ordinary user."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from netns_pair import ON_DEBUG, patient

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"
SERVERS = ROOT / "scripts" / "net"
ECHO = ["run", "--backend", "kernel", SERVERS / "udp_echo.lua", "3", "7"]
DNS = ["run", "--backend", "kernel", SERVERS / "dns.lua", "3", "53"]


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def net(*args: str | Path) -> str:
    done = run(SYSCRIPT, "net", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    yield
    for name in ("web", "other"):
        run("ip", "netns", "del", name)
        run("ip", "link", "del", name)


needs_tc = pytest.mark.skipif(ON_DEBUG, reason="the debug kernel is without tc")


@needs_tc
def test_pair() -> None:
    """The script has the port, the stack everything else, and the other end is here."""
    addresses = ("--address", "10.77.0.2/24", "--outside", "10.77.0.1/24")
    command = [SYSCRIPT, *ECHO, "1", "30000"]
    server = subprocess.Popen(
        [SYSCRIPT, "net", "setup", *addresses, "--port", "7", "--socket", "web", "--", *command],
        stdout=subprocess.PIPE,
        text=True,
    )
    with patient(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as client:
        client.bind(("0.0.0.0", 7777))
        for _ in range(100):
            if run("ip", "-n", "web", "link", "show", "up", "dev", "frames0").stdout:
                break
            time.sleep(0.1)
        client.connect(("10.77.0.2", 7))
        client.settimeout(1)
        reply = b""
        for _ in range(30):
            client.send(b"asked")
            try:
                reply = client.recv(100)
                break
            except TimeoutError:
                continue
        assert reply == b"asked"
        assert server.communicate(timeout=60)[0] == "1\n"
        # The stack replies for another port, and not for this one.
        client.send(b"no one is there any more")
        with pytest.raises(TimeoutError):
            client.recv(100)
        client.connect(("10.77.0.2", 8))
        client.send(b"closed")
        with pytest.raises(ConnectionRefusedError):
            client.recv(100)
    shown = net("show")
    assert shown.startswith("web:\nframes0@") and "10.77.0.2/24" in shown
    (web,) = json.loads(net("show", "--json"))
    assert web["name"] == "web" and web["device"][0]["linkinfo"]["info_kind"] == "veth"
    assert {rule["protocol"] for rule in web["filters"]} == {"ip", "ipv6"}
    net("undo", "web")
    assert "none" in net("show") and json.loads(net("show", "--json")) == []
    assert run("ip", "link", "show", "web").returncode
    assert not Path("/run/netns/web").exists()


@pytest.mark.long  # like test_pair(), on another kind of device
@needs_tc
def test_macvlan() -> None:
    """On an existing device; and a failed setup leaves nothing behind."""
    run("ip", "link", "add", "name", "lower", "type", "dummy")
    try:
        assert "frames0 now" in net("setup", "--macvlan", "lower", "web")
        (web,) = json.loads(net("show", "--json"))
        assert web["device"][0]["linkinfo"]["info_kind"] == "macvlan"
        (rule,) = {rule["protocol"] for rule in web["filters"]}
        assert rule == "all"
        again = run(SYSCRIPT, "net", "setup", "web")
        assert again.returncode == 2 and "cannot make web" in again.stderr
        net("undo", "web")
        failed = run(SYSCRIPT, "net", "setup", "--macvlan", "nothing", "other")
        assert failed.returncode == 2 and "other is removed again" in failed.stderr
        assert not Path("/run/netns/other").exists()
        gone = run(SYSCRIPT, "net", "undo", "other")
        assert gone.returncode == 2 and "no namespace 'other'" in gone.stderr
    finally:
        run("ip", "link", "del", "lower")


@needs_tc
def test_ordinary_user(as_user: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Without a name it needs no root, and scripts run in the kernel there."""
    lines = rf"""
    {SYSCRIPT} {" ".join(map(str, ECHO))} 1 30000 &
    {ROOT}/build/venv/bin/python3 -c '
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(30)
client.connect(("10.87.0.2", 7))
client.send(b"asked")
sys.stdout.write(client.recv(100).decode() + "\n")'
    wait
    {SYSCRIPT} {" ".join(map(str, DNS))} 1 30000 www.example.org 15 0x0a000001 &
    dig +short +tries=1 +time=30 @10.87.0.2 www.example.org
    wait"""
    done = as_user([SYSCRIPT, "net", "setup", "--socket", "--", "sh", "-c", lines])
    assert (done.returncode, sorted(done.stdout.split())) == (
        0,
        ["1", "1", "10.0.0.1", "asked"],
    ), done.stderr
    assert "cost" not in done.stderr
    for command in (["setup", "web"], ["undo", "web"], ["show"]):
        refused = as_user([SYSCRIPT, "net", *command])
        assert refused.returncode == 2 and "root" in refused.stderr
