# SPDX-License-Identifier: GPL-2.0
"""consolidate on traces of real programs, recorded here: `make test-traces`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests" / "unit"))

from traces import run  # noqa: E402

SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
int main(void) { return 0; }
"""
INSERTS = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)
insert into t select x, hex(randomblob(50)) from c;
create index i on t(b); select count(*) from t where b like 'A%'; vacuum;"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 directories of 1 to 20 files."""
    top = tmp_path_factory.mktemp("tree")
    for i in range(120):
        directory = top / f"directory{i}"
        directory.mkdir()
        for k in range(i % 20 + 1):
            (directory / f"file{k}").write_text(f"text {k}\n" * (k * 40))
    return top


def need(command: str) -> str:
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"{command} is not installed")
    return found


def recorded(place: Path, *command: str | Path, fails: bool = False) -> list[dict]:
    """The candidates of a command's trace; each has its script written."""
    trace = place / "trace"
    need(str(command[0]))
    done = run("record", "-o", trace, "--", *command)
    assert done.returncode == 0 or fails, done.stderr
    return reported(trace, place)


def reported(trace: Path, place: Path) -> list[dict]:
    done = run("report", "--json", trace, "--svg", place / "graph.svg", cache=place)
    assert done.returncode == 0, done.stderr
    assert "unreadable" not in done.stderr or " 0 lines were unreadable" in done.stderr
    assert (place / "graph.svg").read_text().startswith("<?xml")
    found = json.loads(done.stdout)
    assert sum(one["calls"] for one in found["candidates"]) <= found["calls"]
    assert found["candidates"]
    for one in found["candidates"][:4]:
        # `script` has the engine compile what it writes.
        written = run("script", str(one["number"]), trace, cache=place)
        assert written.returncode == 0, written.stderr
        assert "function run(" in written.stdout
    return found["candidates"]


def calls(candidate: dict) -> list[str]:
    return [step["call"] for step in candidate["steps"]]


def covering(candidates: list[dict], *names: str) -> dict:
    """The candidate that has these calls in this order, among others."""
    for one in candidates:
        rest = iter(calls(one))
        if all(name in rest for name in names):
            return one
    pytest.fail(f"no {names} in {[one['sequence'] for one in candidates]}")


def test_ls(tree: Path, tmp_path: Path) -> None:
    found = covering(
        recorded(tmp_path, "ls", "-lR", tree), "openat", "getdents64", "statx", "close"
    )
    assert found["iterations"] >= 110
    assert any(step["arguments"][1]["from"] == "name" for step in found["steps"]
               if step["call"] == "statx")  # fmt: skip


def test_find(tree: Path, tmp_path: Path) -> None:
    found = recorded(tmp_path, "find", tree, "-newer", "/etc/hostname")
    assert covering(found, "openat", "getdents64", "newfstatat")["iterations"] >= 90


def test_du(tree: Path, tmp_path: Path) -> None:
    found = covering(recorded(tmp_path, "du", "-s", tree), "openat", "getdents64", "newfstatat")
    assert found["iterations"] >= 100


def test_tar(tree: Path, tmp_path: Path) -> None:
    found = recorded(tmp_path, "tar", "cf", tmp_path / "archive", tree)
    assert covering(found, "openat", "newfstatat", "read", "close")["iterations"] >= 300


def test_git_status(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for i in range(300):
        file = repository / f"file{i}"
        file.write_text(str(i))
        # No younger than the index: git would read them all again.
        os.utime(file, (1e9, 1e9))
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", repository, *command], check=True)
    found = recorded(tmp_path, "git", "-C", repository, "status", "-s")
    stats = [one for one in found if set(calls(one)) <= {"newfstatat", "lstat", "statx"}]
    assert max(one["iterations"] for one in stats) >= 250


def test_compile(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    found = recorded(tmp_path, "cc", "-o", tmp_path / "a", tmp_path / "a.c")
    assert covering(found, "openat", "read", "close")["iterations"] >= 20


def test_sqlite(tmp_path: Path) -> None:
    found = recorded(tmp_path, "sqlite3", tmp_path / "db", INSERTS)
    assert any("pwrite64" in calls(one) for one in found)


def test_memcached(tmp_path: Path) -> None:
    built = BUILD / "memcached" / "memcached"
    server = str(built) if built.exists() else need("memcached")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [server, "-t", "1", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root"]
    trace = tmp_path / "trace"
    argv = [BUILD / "consolidate", "record", "-o", trace, "--", *command]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as process:
        try:
            load(port)
        finally:
            # The tracer passes it on.
            subprocess.run(["pkill", "-TERM", "-P", str(child(process.pid))], check=False)
            process.wait(20)
    found = reported(trace, tmp_path)
    assert any({"read", "sendmsg"} <= set(calls(one)) for one in found)


def child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def load(port: int) -> None:
    for _ in range(100):
        try:
            client = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    with client, client.makefile("rb") as replies:
        for i in range(400):
            client.sendall(b"set key 0 0 5\r\nhello\r\n" if i % 10 == 0 else b"get key\r\n")
            while replies.readline() not in (b"STORED\r\n", b"END\r\n"):
                pass
