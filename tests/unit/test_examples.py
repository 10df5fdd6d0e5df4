# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The examples that are servers, with clients of theirs."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = 50


@pytest.fixture(scope="module")
def examples() -> Path:
    subprocess.run(["make", "-s", "examples"], cwd=ROOT, check=True, capture_output=True)
    return ROOT / "build" / "examples"


@contextmanager
def server(program: Path) -> Iterator[tuple[str, int]]:
    """Runs a server on a free port; its address."""
    env = {**os.environ, "SYSCRIPT_BACKEND": "user"}
    with subprocess.Popen([program, "0"], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield "::1", int(process.stdout.readline())
            assert process.poll() is None
        finally:
            process.kill()


def connect(kind: socket.SocketKind, address: tuple[str, int]) -> socket.socket:
    sock = socket.socket(socket.AF_INET6, kind)
    sock.settimeout(10)
    sock.connect(address)
    return sock


def test_udpecho(examples: Path) -> None:
    with server(examples / "udpecho") as address:
        clients = [connect(socket.SOCK_DGRAM, address) for _ in range(CLIENTS)]
        for turn in range(3):
            for i, client in enumerate(clients):
                client.send(b"%d " % turn * i)
            for i, client in enumerate(clients):
                assert client.recv(4096) == b"%d " % turn * i
        for client in clients:
            client.close()


def test_tcpecho(examples: Path) -> None:
    with server(examples / "tcpecho") as address:
        clients = [connect(socket.SOCK_STREAM, address) for _ in range(CLIENTS)]
        for i, client in enumerate(clients):
            client.sendall(b"%d" % i)
        for i, client in enumerate(clients):
            assert client.recv(4096) == b"%d" % i
        # Others stay when one goes, and the end of a connection is answered by its end.
        clients.pop().close()
        clients[0].sendall(b"x" * 100_000)
        clients[0].shutdown(socket.SHUT_WR)
        with clients[0].makefile("rb") as answers:
            assert answers.read() == b"x" * 100_000
        for client in clients:
            client.close()


@pytest.mark.parametrize("name", ["udpecho", "tcpecho"])
def test_errors(examples: Path, name: str) -> None:
    done = subprocess.run([examples / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"usage: {name} PORT\n")
