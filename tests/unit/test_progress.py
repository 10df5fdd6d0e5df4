# SPDX-License-Identifier: GPL-2.0
"""tools/progress: what users see of long commands, on a terminal and in a log."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

from conftest import ROOT

PROGRESS = ROOT / "tools" / "progress"
# Rules in the form of this tree; the third prints a compiler's warning.
MAKEFILE = """
say = @printf '  %-8s%s\\n' $(1) $@
all: build/lib/a.o build/lib/b.o build/cli/c.o
build/lib/a.o build/cli/c.o: ; $(call say,CC)
build/lib/b.o:
	$(call say,CC)
	@echo 'b.c:1: warning: unused' >&2
"""


def environment() -> dict[str, str]:
    """Without variables of an outer make."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PROGRESS"))}
    return {**kept, "TERM": "xterm", "COLUMNS": "80"}


def in_log(*command: str | Path, **kwargs: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        **kwargs,
    )


def on_terminal(*command: str | Path, cwd: Path) -> str:
    """The output of a command on a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    ) as process:
        os.close(follower)
        text = b""
        try:
            while chunk := os.read(leader, 4096):
                text += chunk
        except OSError:  # the end of a terminal
            pass
        os.close(leader)
        assert process.wait() == 0
    return text.decode()


def screen(text: str) -> list[str]:
    """The lines that remain on the screen."""
    return [line.rstrip("\r").rpartition("\r\x1b[K")[2] for line in text.split("\n")]


def test_log_has_a_line_for_each_part(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    done = in_log(PROGRESS, "make", "make", cwd=tmp_path)
    assert done.returncode == 0
    assert re.sub(r"\d:\d\d", "T", done.stdout).splitlines() == [
        "  T (1 of 3)  CC build/lib",
        "b.c:1: warning: unused",
        "  T (3 of 3)  CC build/cli",
        "  T  3 steps done",
    ]


def test_terminal_has_one_line_that_changes(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    text = on_terminal(PROGRESS, "make", "make", cwd=tmp_path)
    for n, made in enumerate(("lib/a.o", "lib/b.o", "cli/c.o"), 1):
        assert f"({n} of 3)  CC  build/{made}" in text
    left = [re.sub(r"\d:\d\d", "T", line) for line in screen(text)]
    assert left == ["b.c:1: warning: unused", "  T  3 steps done", ""]


def test_failing_make_is_reported(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all: ; @echo why >&2; exit 3\n")
    done = in_log(PROGRESS, "make", "make", cwd=tmp_path)
    assert done.returncode == 2
    assert "why\n" in done.stdout and "all output: " in done.stderr
    assert "why\n" in (ROOT / "build/log/make").read_text()


def test_noise_goes_to_a_file_that_is_named_when_it_matters() -> None:
    noise = "echo noise; echo more >&2"
    done = in_log(PROGRESS, "quiet", "a test", "sh", "-c", noise)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = ROOT / "build/log/a-test"
    assert log.read_text() == "noise\nmore\n"
    done = in_log(PROGRESS, "quiet", "a test", "sh", "-c", f"{noise}; exit 3")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("noise\nmore\n") and "build/log/a-test\n" in done.stderr
    # With V=1, nothing is hidden.
    shown = subprocess.run(
        [PROGRESS, "quiet", "a test", "echo", "noise"],
        capture_output=True,
        text=True,
        env={**environment(), "PROGRESS": "off"},
        check=True,
    )
    assert shown.stdout == "noise\n"
    log.unlink()


def test_results_come_in_one_piece(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo begun >&2; echo first; sleep 1.2; echo last"]
    text = on_terminal(PROGRESS, "result", "a result", *command, cwd=tmp_path)
    assert "  0:01  a result" in text
    assert screen(text) == ["first", "last", ""]
    (ROOT / "build/log/a-result").unlink()
