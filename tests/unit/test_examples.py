# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The examples: servers with clients, file programs compared with the originals."""

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
    """Runs a server on a free port; yields its address."""
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
        # Other clients stay when one leaves, and a closed connection is closed in return.
        clients.pop().close()
        clients[0].sendall(b"x" * 100_000)
        clients[0].shutdown(socket.SHUT_WR)
        with clients[0].makefile("rb") as answers:
            assert answers.read() == b"x" * 100_000
        for client in clients:
            client.close()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files of several sizes and types, one with two names."""
    for i in range(30):
        directory = tmp_path / f"dir {i % 5}"
        directory.mkdir(exist_ok=True)
        (directory / f"file-{i}").write_bytes(b"%d\n" % i * i * 999)
    os.link(tmp_path / "dir 1" / "file-21", tmp_path / "dir 2" / "twin")
    (tmp_path / "dir 3" / "link").symlink_to("file-3")
    return tmp_path


def output(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_duplus(examples: Path, tree: Path) -> None:
    assert output(examples / "duplus", tree) == output("du", "-s", tree)
    # The file with two names is in the first directory.
    trees = [tree / f"dir {i}" for i in range(5)]
    assert output(examples / "duplus", *trees) == output("du", "-s", *trees)


def test_findplus(examples: Path, tree: Path) -> None:
    def found(*command: str | Path) -> list[str]:
        return sorted(output(*command).splitlines())

    plain = found("find", tree, "-mindepth", "1")
    assert found(examples / "findplus", tree) == plain
    plain = found("find", tree, "-type", "f", "-size", "+20000c", "-name", "*7")
    wanted = "type == REG and size > 20000 and name:match('7$')"
    assert found(examples / "findplus", tree, wanted) == plain
    assert plain


def test_catplus(examples: Path, tree: Path) -> None:
    files = sorted(path for path in tree.rglob("*") if path.is_file())
    assert output(examples / "catplus", *files) == output("cat", *files)


def test_lsplus(examples: Path, tree: Path) -> None:
    options = ["-f", "-n", "-l", "--time-style=+%F %H:%M"]
    plain = [line.split(" -> ")[0].split() for line in output("ls", *options, tree).splitlines()]
    lines = [line.split() for line in output(examples / "lsplus", tree).splitlines()]
    assert sorted(lines) == sorted(
        line for line in plain if line[-1] not in (".", "..") and line[0] != "total"
    )


@pytest.mark.parametrize("name", ["udpecho", "tcpecho"])
def test_errors(examples: Path, name: str) -> None:
    done = subprocess.run([examples / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"usage: {name} PORT\n")
