# SPDX-License-Identifier: GPL-2.0
"""make fuzz-confined, with a fuzzer that only records its arguments."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def fuzz(fuzzer: Path, script: str, *variables: str) -> subprocess.CompletedProcess[str]:
    others = (fuzzer.with_name(f"{fuzzer.name}-{n}") for n in ("many", "asan", "msan"))
    for path in (fuzzer, *others):
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    command = ["make", "-s", "fuzz-confined", f"CONFINED_FUZZ={fuzzer}", *variables]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_jobs_have_seeds_of_their_own(tmp_path: Path) -> None:
    """Each job has its own seed; all share a corpus."""
    done = fuzz(tmp_path / "f", 'echo "$@"', "FUZZ_JOBS=3", "FUZZ_SEED=41", "FUZZ_RUNS=7")
    assert not done.returncode, done.stderr
    *jobs, judged, read = (line.split() for line in done.stdout.splitlines())
    jobs, many = jobs[:3], jobs[3:]
    assert sorted(word for job in jobs for word in job if "seed" in word) == [
        *("-seed=41", "-seed=42", "-seed=43")
    ]
    assert len({tuple(w for w in job if "seed" not in w) for job in jobs}) == 1
    assert all(job[0] == "confined" for job in jobs) and judged[0] == read[0] == "-runs=0"
    assert sorted(job[1] for job in many) == ["41", "42", "43"]
    assert {(job[0], job[2]) for job in many} == {("7", "confined")}
    done = fuzz(tmp_path / "f", 'echo "$@"', "FUZZ_JOBS=2")
    assert "seed" not in done.stdout and len(done.stdout.splitlines()) == 6


def test_a_job_that_fails(tmp_path: Path) -> None:
    script = 'echo "$@"; case "$*" in *-seed=2*) exit 77 ;; esac'
    done = fuzz(tmp_path / "f", script, "FUZZ_JOBS=2", "FUZZ_SEED=1")
    assert done.returncode and "-seed=2" in done.stdout and "-runs=0" not in done.stdout
