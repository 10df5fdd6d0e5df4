# SPDX-License-Identifier: GPL-2.0
"""vm/guest: every way in which a run can end. One boot each."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

boots = pytest.mark.boot
# The gate has another test of the same mechanism.
long = pytest.mark.long


def test_usage(guest) -> None:
    done = guest("-k", "6.1")
    assert done.returncode == 2
    assert "usage" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_tree_of_another_user() -> None:
    """As after a build with sudo."""
    command = [ROOT / "vm/guest", "--", "true"]
    done = subprocess.run(
        command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True
    )
    assert done.returncode == 125
    assert "another user's?" in done.stderr and "Traceback" not in done.stderr


@boots
@long  # like the gate itself, and test_a_fake_oops_fails_its_test_and_the_run()
def test_status_and_output_are_the_commands(guest) -> None:
    script = 'id -un; id -Gn; touch "$HOME/a" "$TMPDIR/b" && pwd; echo e >&2; exec sh -c "exit 7"'
    done = guest("-u", "--", "sh", "-c", script)
    name, groups, directory = done.stdout.splitlines()
    assert (done.returncode, name, directory) == (7, "member", str(ROOT))
    assert "syscript" in groups.split()
    assert done.stderr.endswith("e\n")


@boots
@long
def test_tree_below_a_private_directory_in_tmp() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as private:
        tree = Path(private) / "tree"
        shutil.copytree(ROOT / "vm", tree / "vm")
        (tree / "build").mkdir()
        for name in ("kernels", "venv-guest"):
            (tree / "build" / name).symlink_to(os.path.realpath(BUILD / name))
        command = [tree / "vm/guest", "-u", "--", "sh", "-c", "pwd && test -x vm/guest"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, f"{tree}\n"), done.stderr


@boots
@long  # like test_a_boot_that_dies_is_tried_once_more(): a time limit
def test_silence(guest) -> None:
    # Long enough to print something on a busy machine.
    # Its output keeps it alive: it runs longer than it may be silent.
    says = "for i in 1 2 3; do sleep 15; echo $i; done; sleep 1000"
    done = guest("--timeout", "30", "--", "sh", "-c", says)
    assert (done.returncode, done.stdout) == (124, "1\n2\n3\n")
    assert "said nothing for 30 s" in done.stderr
    assert "NMI backtrace for cpu 1" in done.stderr


@boots
@long  # like test_a_boot_that_dies_is_tried_once_more()
def test_death_without_verdict(guest) -> None:
    done = guest("--", "sh", "-c", "echo o >/proc/sysrq-trigger; sleep 1000")
    assert done.returncode == 125
    assert "without a verdict" in done.stderr


@boots
@long  # like test_a_fake_oops_fails_its_test_and_the_run(), and test_kernlog.py
def test_panic(guest) -> None:
    done = guest("--", "sh", "-c", "echo c >/proc/sysrq-trigger")
    assert done.returncode == 126
    assert "sysrq triggered crash" in done.stderr


@boots
def test_a_boot_that_dies_is_tried_once_more(guest) -> None:
    done = guest("--memory", "64M", "--", "true")
    assert done.returncode == 125
    assert done.stderr.count("without a verdict") == 2


@boots
@long
def test_a_module_that_stays_fails_the_run(guest) -> None:
    escape = "echo $$ >/sys/fs/cgroup/cgroup.procs; exec sleep 1000"
    script = f"setsid sh -c '{escape}' </dev/syscript >/dev/null 2>&1 & sleep 1"
    done = guest("-m", "--", "sh", "-c", script)
    assert done.returncode == 126
    assert "did not unload" in done.stderr


PROGRAM = """\
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	puts("the reason");
	return %s;
}
"""

FAKE = """\
def test_good():
    pass

def test_fake_oops():
    with open("/dev/kmsg", "w") as kmsg:
        kmsg.write("<1>Oops: fake [#1]\\\\n")

def test_users(as_user, as_outsider):
    assert as_user(["id", "-un"]).stdout == "member\\\\n"
    assert "syscript" in as_user(["id", "-Gn"]).stdout.split()
    assert as_outsider(["id", "-Gn"]).stdout == "outsider\\\\n"
"""


@pytest.mark.long
@boots
def test_a_fake_oops_fails_its_test_and_the_run(guest) -> None:
    """pytest's results for programs and tests in the guest."""
    tests = BUILD / "meta"
    tests.mkdir(parents=True, exist_ok=True)
    (tests / "test_fake.py").write_text(FAKE.replace("\\\\", "\\"))
    programs = BUILD / tests.relative_to(ROOT)
    programs.mkdir(parents=True, exist_ok=True)
    # "bad" fails and "skip" skips for any user; "root" runs as root only, because it checks its
    # user ID.
    for name, status in (("bad", "1"), ("skip", "77"), ("root", "geteuid() != 0")):
        source = tests / f"test_{name}.c"
        source.write_text(PROGRAM % status)
        subprocess.run(["cc", "-o", programs / source.stem, source], check=True)
    pytest_in_guest = ["python", "-m", "pytest", str(tests)]
    done = guest("--", *pytest_in_guest)
    assert done.returncode == 126
    assert "Oops: fake" in done.stderr
    lines = done.stdout.splitlines()
    failed = {line.split()[1] for line in lines if line.startswith("FAILED")}
    assert {name.rpartition("/")[2] for name in failed} == {
        "test_fake.py::test_fake_oops",
        "test_bad.c::member",
        "test_root.c::member",
    }
    assert "3 failed, 3 passed, 1 skipped" in lines[-1]
    assert any("the reason" in line for line in lines if line.startswith("SKIPPED"))
