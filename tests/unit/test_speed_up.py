# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript speed-up: the same output, and no answer that the kernel would not give."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SYSCRIPT = BUILD / "syscript"
PROGRAM = BUILD / "tests/unit/speed_up"
# In a guest the kernel does it; here the process itself, in the same way.
KERNEL = Path("/dev/syscript").exists()
USER = {"SYSCRIPT_SPEED_UP": "user", "LD_LIBRARY_PATH": str(BUILD)}
# However slow the machine, nothing gets too old but where that is the test.
AGE = {"SYSCRIPT_SPEED_UP_AGE": "600000"}
ENV = {**os.environ, "LC_ALL": "C", **AGE, **({} if KERNEL else USER)}

NAMES = """nothing nothing_at chmod chown truncate fchmodat unlink unlinkat rename rename_away
    rename_dir link utimens setxattr creat write pwritev ftruncate stdio map map_closed
    copy late_write append read chdir
    symlink system thread wait pipe socket poll stream getc signal lock sleep late thrice again
    sign_stat sign_gone sign_access sign_open sign_read sign_readdir dup2 reopen
    close_range"""
CASES = NAMES.split()
UNSEEN = ["unseen", "unseen_at"]
CASES_IN_GUESTS = {"nothing", "nothing_at", "chmod", "write", "map_closed", "thrice", "reopen"}


def speed_up(*command: str | Path, cwd: Path, stats: Path | None = None, **env: str):
    options = ["--stats", stats] if stats else []
    return subprocess.run(
        [SYSCRIPT, "speed-up", *options, "--", *command],
        cwd=cwd,
        env={**ENV, **env},
        capture_output=True,
        timeout=120,
    )


def test_cases_are_all_here(tmp_path: Path) -> None:
    listed = subprocess.run([PROGRAM], cwd=tmp_path, capture_output=True, text=True)
    assert listed.stdout.split() == CASES + UNSEEN


@pytest.mark.parametrize("case", CASES)
def test_coherence(case: str, tmp_path: Path) -> None:
    if KERNEL and case not in CASES_IN_GUESTS:
        pytest.skip("programs start slowly in a guest")
    env = {"SYSCRIPT_SPEED_UP_AGE": "16"} if case == "late" else {}
    done = speed_up(PROGRAM, case, cwd=tmp_path, **env)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("case", UNSEEN)
def test_without_it_nothing_would_be_tested(case: str, tmp_path: Path) -> None:
    """A change past libc is not seen: the attributes had come along before."""
    assert speed_up(PROGRAM, case, cwd=tmp_path).returncode == 1
    off = tmp_path / "off"
    off.mkdir()
    assert speed_up(PROGRAM, case, cwd=off, SYSCRIPT_SPEED_UP="off").returncode == 0


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, links, empty and odd names, depths, a file that may not be read."""
    top = tmp_path_factory.mktemp("speed-up") / "tree"
    for d in range(12):
        (top / f"d{d}" / "deep" / "deeper").mkdir(parents=True)
        for f in range(30):
            path = top / f"d{d}" / f"file {f}"
            path.write_bytes(b"x" * (f * 997))
            os.utime(path, ns=(10**18 + f, 10**18 + f * 1001))
        for f in range(5):
            (top / f"d{d}" / "deep" / f"\u00e4{f}").write_text("y")
        (top / f"d{d}" / "link").symlink_to("file 1")
        (top / f"d{d}" / "nowhere").symlink_to("gone")
        os.link(top / f"d{d}" / "file 2", top / f"d{d}" / "hard")
    (top / "d0" / "deep").chmod(0o700)
    os.mkfifo(top / "d0" / "fifo")
    # rsync takes times of the same second for equal, and would leave new ones be.
    for path in (top, *top.rglob("*")):
        if not path.name.startswith("file "):
            os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    return top


PYTHON = (
    "import os\n"
    "for d, ds, fs in sorted(os.walk('.')):\n"
    "    print(d, [tuple(os.stat(os.path.join(d, f), follow_symlinks=False)) for f in ds + fs])"
)
SCANDIR = (
    "import os\n"
    "for d in sorted(os.listdir('.')):\n"
    "    print(sorted((e.name, tuple(e.stat(follow_symlinks=False))) for e in os.scandir(d)))"
)
COMMANDS = {
    "ls -l": "ls -lR --full-time",
    "ls -lL": "ls -lLR . 2>&1 || :",
    "ls -li": "ls -lisaR",
    "du": "du -a --apparent-size",
    "du -L": "du -aL 2>&1 || :",
    "find": r"find . -size +1 -printf '%p %s %i %n %T@ %A@ %m\n'",
    "find -newer": "find . -newer 'd1/file 20' -type f",
    "find -exec": "find d1 -size +9 -exec stat -c '%n %s %h' {} ';'",
    "tar": "tar --sort=name -cf - . | sha256sum",
    "tar in order": "tar cf - . | sha256sum",
    "python walk": f'{sys.executable} -c "$PYTHON"',
    "python scandir": f'{sys.executable} -c "$SCANDIR"',
    "rsync": "rsync -a --list-only .",
    "rsync copy": "rsync -ai . ../copy && ls -lR --time-style=+%N ../copy",
    "rm": "cp -a . ../removed && rm -rv ../removed",
    "cp": "cp -av . ../copied && find ../copied -printf '%P %s %n %T@\n'",
    "git": "cp -a . ../repo && cd ../repo && git init -q && git add . && git status --short"
    " && echo x >>'d1/file 3' && git status --short && git diff --stat && git clean -nd",
    "in the tree itself": "cp -a . ../own && cd ../own && du -a . >d1/out; ls -l d1 >>d1/out;"
    " grep -v ' out$' d1/out | sed 's/.*out//'",
}
IN_GUESTS = {"ls -l", "du", "find", "in the tree itself"}
HELPED = {"ls -l", "du", "find", "python scandir", "rsync"}


@pytest.mark.parametrize("name", COMMANDS)
def test_same_output(name: str, tree: Path, tmp_path: Path) -> None:
    if name.split()[0] in ("rsync", "git") and not shutil.which(name.split()[0]):
        pytest.skip(f"no {name.split()[0]} here")
    if KERNEL and name not in IN_GUESTS:
        pytest.skip("programs start slowly in a guest")
    outputs = []
    for env in ({"SYSCRIPT_SPEED_UP": "off"}, {}):
        for left in ("copy", "removed", "copied", "repo", "own"):
            shutil.rmtree(tree.parent / left, ignore_errors=True)
        shell = ["sh", "-c", COMMANDS[name]]
        stats = tmp_path / "stats"
        done = speed_up(*shell, cwd=tree, stats=stats, PYTHON=PYTHON, SCANDIR=SCANDIR, **env)
        outputs.append((done.returncode, done.stdout, done.stderr))
    assert outputs[0] == outputs[1] and outputs[0][0] == 0 and outputs[0][1]
    if name in HELPED:
        counts = re.findall(r"asked (\d+), answered (\d+)", stats.read_text())
        asked, answered = max((int(a), int(b)) for a, b in counts)
        assert answered > asked / 2


def test_nothing_is_fetched_for_one_that_opens_each(tmp_path: Path) -> None:
    for i in range(40):
        (tmp_path / f"f{i}").write_text("contents")
    stats = tmp_path.parent / "stats-of-tar"
    assert speed_up("sh", "-c", "tar cf - . | wc -c", cwd=tmp_path, stats=stats).stdout
    lines = {line.split(":")[0]: line for line in stats.read_text().splitlines()}
    assert re.search(r"asked [1-9]\d*, answered 0, fetched 0", lines["tar"])


def test_while_others_change_it(tmp_path: Path) -> None:
    """Names that come and go meanwhile: no error that plain calls do not know."""
    (tmp_path / "d").mkdir()
    script = "i=0; while :; do i=$((i + 1)); : >d/n$((i % 300)); rm -f d/n$((i * 7 % 300)); done"
    with subprocess.Popen(["sh", "-c", script], cwd=tmp_path) as churn:
        try:
            for _ in range(20):
                done = speed_up("ls", "-l", "d", cwd=tmp_path)
                for line in done.stderr.splitlines():
                    # the short form is of its second call for the name, for access lists
                    assert re.fullmatch(rb"ls: .*: No such file or directory", line), line
                for line in done.stdout.splitlines():
                    assert re.match(rb"total |-rw.* n\d+$|-\?{9}", line), line
        finally:
            churn.kill()


@pytest.mark.skipif(KERNEL, reason="Python starts slowly in a guest")
def test_many_threads(tree: Path) -> None:
    code = (
        "import os, threading\n"
        "def look(): \n"
        "    for d in os.listdir('.'):\n"
        "        for e in os.scandir(d):\n"
        "            assert e.stat(follow_symlinks=False) == os.lstat(e.path), e\n"
        "threads = [threading.Thread(target=look) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]"
    )
    done = speed_up(sys.executable, "-c", code, cwd=tree)
    assert (done.returncode, done.stderr) == (0, b"")


def test_command_line(tmp_path: Path) -> None:
    assert speed_up("sh", "-c", "exit 7", cwd=tmp_path).returncode == 7
    missing = speed_up("no-such-command", cwd=tmp_path)
    assert missing.returncode == 127 and b"no-such-command: No such file" in missing.stderr
    usage = subprocess.run([SYSCRIPT, "speed-up"], capture_output=True, text=True)
    assert usage.returncode == 2 and "a command is missing" in usage.stderr


@pytest.mark.skipif(KERNEL, reason="a kernel with scripts is what it is for")
def test_silent_where_it_cannot_help(tree: Path, tmp_path: Path) -> None:
    stats = tmp_path / "stats"
    done = subprocess.run(
        [SYSCRIPT, "speed-up", "--stats", stats, "ls", "-l"],
        cwd=tree,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"") and not stats.exists()
