# SPDX-License-Identifier: GPL-2.0
"""Records common programs, each twice: on one set of files, and on another.

`programs.py DIRECTORY [NAME...]` writes NAME.one.gz and NAME.other.gz there, and
afternoon.gz, a mix of them.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

# Where programs run: recordings must have the same paths everywhere.
HOME = Path("/tmp/consolidate-programs")
NOBODY = 65534
OPTIONS = ("-f", "-ttt", "-T", "-yy", "-s", "48", "-e", "abbrev=!getdents,getdents64")
FILES = 36
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
MODES = (0o600, 0o755, 0o444, 0o640, 0o000)
SIZES = (0, 1, 511, 512, 4095, 4096, 9000, 70000, 140000)
GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
POSTGRES = "/usr/lib/postgresql/15/bin"
ENVIRONMENT = {"HOME": str(HOME), "PWD": str(HOME), "LC_ALL": "C"}
ENVIRONMENT["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin"
# Recordings are published: replace these names by others of the same length.
MIRROR, OTHER_MIRROR = b"deb.debian.org", b"mirror.example"
ADDRESS = re.compile(rb"[\w.+-]+@[\w.-]+|[\w.-]+\.(?:com|net|org)\b")


def own(path: Path) -> None:
    """Gives root's files to the user who runs the programs: root could read everything."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", path], check=True)


def as_nobody(command: list[str | Path]) -> list[str]:
    who = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return [*(who if os.geteuid() == 0 else []), *map(str, command)]


def run(*command: str | Path) -> None:
    null = subprocess.DEVNULL
    subprocess.run(as_nobody(list(command)), check=True, stdout=null, cwd=HOME, env=ENVIRONMENT)


def tree(place: Path, other: bool) -> None:
    """Files of one mode and of similar size; or of all modes and sizes, and odd ones."""
    for i in range(FILES):
        directory = place / f"d{i % 4}"
        directory.mkdir(parents=True, exist_ok=True)
        size = SIZES[i % len(SIZES)] if other else 100 + 61 * i
        file = directory / f"file{i}"
        file.write_text((f"text {i}\n" * size)[:size])
        file.chmod(MODES[i % len(MODES)] if other else 0o644)
    if other:
        (place / "d0" / "dangling").symlink_to("nowhere")
        (place / "d1" / "empty").mkdir()
        (place / "d2" / "closed").mkdir(mode=0)
    own(place)


def repository(place: Path, other: bool) -> None:
    place.mkdir()
    tree(place, False)
    run(*GIT, "init", "-q", place)
    run(*GIT, "-C", place, "add", ".")
    run(*GIT, "-C", place, "commit", "-qm", "one")
    for i in range(2 if other else 0):
        (place / "d1" / f"new{i}").write_text("new\n" * i * 3000)
        own(place)
        run(*GIT, "-C", place, "add", ".")
        run(*GIT, "-C", place, "commit", "-qm", f"more {i}")
    if other:
        (place / "d0" / "file0").unlink()
        (place / "d1" / "file1").write_text("")
        (place / "d2" / "file2").chmod(0o755)
        (place / "d3" / "file3").chmod(0)
        own(place)


def database(place: Path, other: bool) -> None:
    run(f"{POSTGRES}/initdb", "-D", place, "-A", "trust", "--no-sync")


class Recorder:
    """Records commands into one trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace
        trace.write_text("")

    def command(self, command: list[str | Path]) -> list[str]:
        part = self.trace.with_suffix(".part")
        # strace runs as that user, too: it may trace its own children whatever Yama's setting.
        return as_nobody(["strace", *OPTIONS, "-o", part, "--", *command])

    def add(self) -> None:
        part = self.trace.with_suffix(".part")
        with self.trace.open("a") as trace:
            trace.write(part.read_text(errors="replace"))
        part.unlink()

    def __call__(self, *command: str | Path, stdin: str = "") -> None:
        """The command may fail: unreadable files are failures."""
        subprocess.run(
            self.command(list(command)),
            input=stdin.encode(),
            **SILENT,
            cwd=HOME,
            env=ENVIRONMENT,
            check=False,
        )
        self.add()


def of_tree(*command: str) -> Callable[[Recorder, bool], None]:
    def record(recorder: Recorder, other: bool) -> None:
        tree(HOME / "tree", other)
        recorder(*command)

    return record


def of_repository(*command: str) -> Callable[[Recorder, bool], None]:
    def record(recorder: Recorder, other: bool) -> None:
        repository(HOME / "repository", other)
        recorder(*GIT, "-C", "repository", *command)

    return record


def of_each(*command: str) -> Callable[[Recorder, bool], None]:
    """Run the command with all files as arguments, and some missing ones."""

    def record(recorder: Recorder, other: bool) -> None:
        tree(HOME / "tree", other)
        files = sorted(path.relative_to(HOME) for path in (HOME / "tree").rglob("*"))
        files = [path for path in files if other or (HOME / path).is_file()]
        recorder(*command, *files, *(["missing", "tree/d0/gone"] if other else []))

    return record


def apt_cache(recorder: Recorder, other: bool) -> None:
    packages = ["bash", "coreutils", "sed", "tar"]
    recorder("apt-cache", "policy", *(["nonesuch", "zlib1g", "perl"] if other else packages))


def apt(recorder: Recorder, other: bool) -> None:
    recorder("apt", "list", "gcc*" if other else "bash*")


def http_server(recorder: Recorder, other: bool) -> None:
    tree(HOME / "tree", other)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = ["/usr/bin/python3", "-m", "http.server", "-b", "127.0.0.1", "-d", "tree", str(port)]
    command = recorder.command(server)
    with subprocess.Popen(command, cwd=HOME, env=ENVIRONMENT, **SILENT) as process:
        for path in ["d0/", *(f"d{i % 4}/file{i}" for i in range(FILES)), *["gone"] * other]:
            for _ in range(100):
                try:
                    urlopen(f"http://127.0.0.1:{port}/{path}").read()
                except URLError as error:
                    if not hasattr(error, "code"):
                        time.sleep(0.1)
                        continue
                break
        subprocess.run(["pkill", "-INT", "-P", str(process.pid)], check=False)
    recorder.add()


def postgres(recorder: Recorder, other: bool) -> None:
    data = HOME / "data"
    database(data, other)
    sql = "create table t as select generate_series(1, 100) a;\n" if other else "select 1;\n"
    recorder(f"{POSTGRES}/postgres", "--single", "-D", data, "template1", stdin=sql)


def mariadb(recorder: Recorder, other: bool) -> None:
    data = HOME / "data"
    data.mkdir()
    own(data)
    sql = "create table t (a int) engine=Aria;\n" if other else ""
    sql = "create database d;\nuse d;\ncreate table s (a int) engine=MyISAM;\n" + sql
    options = [
        "--no-defaults",
        "--bootstrap",
        f"--datadir={data}",
        "--innodb=OFF",
        f"--tmpdir={HOME}",
    ]
    recorder("mariadbd", *options, "--default-storage-engine=MyISAM", stdin=sql)


PROGRAMS: dict[str, Callable[[Recorder, bool], None]] = {
    "rsync": of_tree("rsync", "-a", "tree/", "copy/"),
    "ripgrep": of_tree("rg", "-j1", "text 1", "tree"),
    "git_gc": of_repository("gc", "-q"),
    "git_status": of_repository("status"),
    "apt_cache": apt_cache,
    "apt": apt,
    "http_server": http_server,
    "postgres": postgres,
    "gpg": of_each("gpg", "--batch", "--print-md", "SHA256"),
    "mariadb": mariadb,
    "cp": of_tree("cp", "-a", "tree", "copy"),
    "tar": of_tree("tar", "cf", "archive.tar", "tree"),
    "chmod": of_tree("chmod", "-R", "g-w,u+r", "tree"),
    "wc": of_each("wc", "-l"),
}


def record(name: str, directory: Path) -> list[Path]:
    """Both recordings of a program."""
    made = []
    for which in ("one", "other"):
        shutil.rmtree(HOME, ignore_errors=True)
        HOME.mkdir()
        own(HOME)
        trace = HOME / "trace"
        PROGRAMS[name](Recorder(trace), which == "other")
        made.append(kept(trace, directory / f"{name}.{which}.gz"))
    return made


def kept(trace: Path, path: Path) -> Path:
    """A recording, stripped for publication."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        text = trace.read_bytes().replace(MIRROR, OTHER_MIRROR)
        file.write(ADDRESS.sub(lambda match: b"x" * len(match[0]), text))
    shutil.rmtree(HOME)
    return path


def afternoon(directory: Path) -> Path:
    """A mix of programs, smaller than `make test-traces` records it."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    own(HOME)
    small = ["env", "ALBUMS=6", "LETTERS=40", str(Path(__file__).with_name("desk")), "."]
    run(*small, "prepare")
    trace = HOME / "trace"
    Recorder(trace)(*small)
    return kept(trace, directory / "afternoon.gz")


def main() -> int:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or [*PROGRAMS, "afternoon"]:
        for path in [afternoon(directory)] if name == "afternoon" else record(name, directory):
            print(path, path.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
