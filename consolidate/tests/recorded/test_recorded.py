# SPDX-License-Identifier: GPL-2.0
"""consolidate on traces of real programs, recorded here: `make test-traces`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

sys.path.insert(0, str(ROOT / "consolidate/tests/unit"))

import crossed  # noqa: E402
import homes  # noqa: E402
import programs  # noqa: E402
from traces import run  # noqa: E402

# Packages' commands with another name.
NEEDED = {"ripgrep": "rg", "git_gc": "git", "git_status": "git", "apt_cache": "apt-cache"}
NEEDED |= {"http_server": "python3", "mariadb": "mariadbd"}

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
    """The candidates of a command's trace, with their scripts written."""
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
    for one in found["candidates"]:
        # A script that does not stop where it must is an error.
        name = f"script{one['number']}"
        options = ["-o", place, "--name", name, "--assume"]
        written = run("script", one["name"], *options, cache=place)
        assert written.returncode == 0, written.stderr
        lua = (place / f"{name}.lua").read_text()
        same, of = map(int, re.search(r"as (\d+) of (\d+) runs", lua).groups())
        assert same >= of - 1, (one["sequence"], written.stderr)
        compiles(place / f"{name}.h")
    return found["candidates"]


def compiles(header: Path) -> None:
    """The header compiles together with the system's."""
    system = [
        "fcntl.h",
        "poll.h",
        "stdio.h",
        "sys/epoll.h",
        "sys/socket.h",
        "sys/stat.h",
        "unistd.h",
    ]
    lines = [*(f"#include <{one}>" for one in system), f'#include "{header.name}"', "int here;"]
    source = header.with_suffix(".c")
    source.write_text("\n".join(lines) + "\n")
    flags = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{BUILD / 'include'}", "-c"]
    done = subprocess.run(["cc", *flags, "-o", "/dev/null", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def calls(candidate: dict) -> list[str]:
    return [step["call"] for step in candidate["steps"]]


def covering(candidates: list[dict], *names: str) -> dict:
    """The candidate that has these calls in this order, perhaps among others."""
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
        # Older than the index: otherwise git would read them all again.
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
    port = free_port()
    command = [server, "-t", "1", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root"]
    with served(tmp_path / "trace", command):
        load(port)
    found = reported(tmp_path / "trace", tmp_path)
    assert any({"read", "sendmsg"} <= set(calls(one)) for one in found)


def test_redis(tmp_path: Path) -> None:
    """Reads and writes form one candidate with the wait: one iteration of the event loop."""
    port = free_port()
    command = [need("redis-server"), "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    with served(tmp_path / "trace", command):
        talk(port, [b"SET key hello\r\n", b"GET key\r\n"] * 400)
    loops = [one for one in reported(tmp_path / "trace", tmp_path) if one["event_loop"]]
    assert any({"read", "write", "epoll_wait"} <= set(calls(one)) for one in loops)


def test_nginx(tmp_path: Path) -> None:
    """The path comes from the request: no script receives and opens."""
    port, files = free_port(), tmp_path / "files"
    files.mkdir()
    for i in range(100):
        (files / f"file{i}").write_text("x" * i)
    (tmp_path / "conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/err;"
        f" events {{ }} http {{ access_log off; sendfile off;"
        f" server {{ listen 127.0.0.1:{port}; root {files}; }} }}"
    )
    with served(tmp_path / "trace", [need("nginx"), "-c", str(tmp_path / "conf")]):
        for i in range(300):
            request = f"GET /file{i % 100} HTTP/1.0\r\n\r\n".encode()
            with connected(port) as client:
                client.sendall(request)
                while client.recv(65536):
                    pass
    found = reported(tmp_path / "trace", tmp_path)
    assert covering(found, "openat", "pread64")["iterations"] >= 200
    for one in found:
        names = calls(one)
        assert "recvfrom" not in names or "openat" not in names[names.index("recvfrom") :]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(trace: Path, command: list[str]) -> Iterator[None]:
    """A server under the tracer, until the block ends."""
    argv = [BUILD / "consolidate", "record", "-o", trace, "--", *command]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            # The tracer passes the signal on.
            subprocess.run(["pkill", "-TERM", "-P", str(child(process.pid))], check=False)
            process.wait(20)


def child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def connected(port: int) -> socket.socket:
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    pytest.fail(f"no server on port {port}")


def talk(port: int, requests: list[bytes]) -> None:
    """Sends each request and reads its reply."""
    with connected(port) as client, client.makefile("rb") as replies:
        for request in requests:
            client.sendall(request)
            line = replies.readline()
            if line.startswith(b"$"):
                line = replies.readline()
            assert line.endswith(b"\n")


def load(port: int) -> None:
    with connected(port) as client, client.makefile("rb") as replies:
        for i in range(400):
            client.sendall(b"set key 0 0 5\r\nhello\r\n" if i % 10 == 0 else b"get key\r\n")
            while replies.readline() not in (b"STORED\r\n", b"END\r\n"):
                pass


def test_desk(tmp_path: Path) -> None:
    """Scripts join most calls of a desk, whatever the versions of its programs."""
    for command in ("git", "make", "curl", "dpkg", "perl"):
        need(command)
    place = tmp_path / "desk"
    place.mkdir()
    desk = ROOT / "consolidate/tests/recorded/desk"
    subprocess.run([desk, place, "prepare"], check=True)
    trace = tmp_path / "trace"
    done = run("record", "-o", trace, "--", desk, place)
    assert done.returncode == 0, (done.stderr, (place / "errors").read_text())
    found = json.loads(run("report", "--json", trace, cache=tmp_path).stdout)
    assert found["calls"] > 100000
    # With all scripts, including those that cost more than they save here.
    saved = sum(one["calls_saved"] for one in found["candidates"])
    assert saved > 0.55 * found["calls"]
    assert found["with_scripts"]["calls"] < 0.8 * found["calls"]
    assert 0.95 < found["with_scripts"]["copied"] / found["bytes_copied"] < 1.1
    copies = covering(found["candidates"], "openat", "copy_file_range", "utimensat", "close")
    assert copies["iterations"] > 1800


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_program_on_other_files(name: str, tmp_path: Path) -> None:
    """Like consolidate/tests/unit/test_consolidate_programs.py, with recordings made here."""
    need(NEEDED.get(name, name))
    with homes.alone():
        recordings = programs.record(name, tmp_path)
    result = crossed.crossed(*recordings)
    assert result.wrong == []
    assert result.scripts and result.whole
