# SPDX-License-Identifier: GPL-2.0
"""Scripts of fourteen common programs, tried on the same programs with other files.

recorded/traces has recordings of each with two sets of files; `make test-traces` records installed
programs again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT

RECORDED = ROOT / "consolidate/tests/recorded"
sys.path.insert(0, str(RECORDED))

import crossed  # noqa: E402
import programs  # noqa: E402

from consolidate.mine.candidate import where  # noqa: E402
from consolidate.mine.constants import Origin  # noqa: E402
from consolidate.mine.encoded_trace import GAP  # noqa: E402
from consolidate.report import report  # noqa: E402


def recordings(name: str) -> tuple[Path, Path]:
    return tuple(RECORDED / "traces" / f"{name}.{which}.gz" for which in ("one", "other"))


# Programs with long recordings are tried before a release only.
LONG = ("git_gc", "apt", "apt_cache")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.long] if n in LONG else []) for n in programs.PROGRAMS],
)
def test_scripts_do_what_the_program_does_elsewhere(name: str) -> None:
    result = crossed.crossed(*recordings(name))
    assert result.wrong == []
    assert result.scripts
    assert result.whole
    # Few scripts depend on assumptions beyond the recording, and those are rarely wrong.
    assert result.told <= result.tried / 3


def test_other_files_end_scripts() -> None:
    """Unreadable and missing files, and files longer than any in the first recording."""
    result = crossed.crossed(*recordings("wc"))
    assert result.outcomes >= {"EACCES", "ENOENT", "ok"}


def test_constants_of_a_recording_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """If unchanging values became constants, cp's scripts would be wrong, and noticed."""
    monkeypatch.setattr("consolidate.mine.dataflow_infer.origin", lambda *_: Origin.CODE)
    result = crossed.crossed(*recordings("cp"))
    assert any("argument" in text for text in result.wrong)


@pytest.mark.long
def test_afternoon() -> None:
    """The calls of an afternoon that scripts would join, counted."""
    made, _ = report.make([RECORDED / "traces" / "afternoon.gz"], None, 20, GAP)
    kinds = {one.command: one.kinds for one in made.programs}
    for command in ("dpkg", "cc1", "git", "python3", "curl", "Xvfb", "xedit", "cp", "tar"):
        assert kinds[command].total() > 500, command
    assert made.calls == 68869
    saved = {where(one): (one.calls, one.script_calls) for one in reversed(made.candidates)}
    assert saved["cp"] == (4148, 48)
    assert saved["cc1"] == (13013, 689)
    again = [one for one in made.advice if one.kind == "reopened"]
    assert {one.where for one in again} == {"dpkg"}
    assert any("/etc/passwd 85 times" in one.text for one in again)
