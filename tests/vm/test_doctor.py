# SPDX-License-Identifier: GPL-2.0
"""syscript doctor with the module loaded: what prevents a user from using it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from runner import COMMAND

DEVICE = Path("/dev/syscript")
LUAJIT = Path("/dev/syscript-luajit")
ENABLED = Path("/sys/module/syscript/parameters/enabled")


def doctor(run) -> dict:
    done = run([COMMAND, "doctor", "--json"])
    found = json.loads(done.stdout)
    assert done.returncode == (1 if found["missing"] else 0)
    return found


def advice(run) -> list[str]:
    return [remedy["command"] for remedy in doctor(run)["missing"]]


def test_member_lacks_nothing(as_user) -> None:
    found = doctor(as_user)
    assert found["missing"] == [] and found["backend"] == "kernel"
    assert found["backends"] == {"kernel": 0, "user": 0} and found["engine"] == "luajit"


# Guests load the module themselves.
AT_BOOT = "echo syscript | sudo tee /etc/modules-load.d/syscript.conf"


def test_device_is_closed(as_outsider) -> None:
    DEVICE.chmod(0o600)
    try:
        first, *rest = advice(as_outsider)
        assert first.startswith("sudo syscript allow --all ") and rest == [AT_BOOT]
        text = as_outsider([COMMAND, "doctor"]).stdout
        assert text.startswith("scripts run in the kernel for you: no: /dev/syscript is not open")
    finally:
        DEVICE.chmod(0o666)


def test_answer_comes_first(as_user, as_outsider) -> None:
    answer = "scripts run in the kernel for you: yes, "
    assert as_outsider([COMMAND, "doctor"]).stdout.startswith(f"{answer}confined\n")
    assert as_user([COMMAND, "doctor"]).stdout.startswith(f"{answer}on LuaJIT or confined\n")


def test_outsider_is_not_in_the_group(as_outsider) -> None:
    """This matters if the administrator has given the device to the group."""
    was = DEVICE.stat()
    os.chown(DEVICE, was.st_uid, LUAJIT.stat().st_gid)
    DEVICE.chmod(0o660)
    try:
        first, *rest = advice(as_outsider)
    finally:
        os.chown(DEVICE, was.st_uid, was.st_gid)
        DEVICE.chmod(0o666)
    assert first.startswith("sudo usermod -aG syscript outsider")
    assert rest == [AT_BOOT]


# Without udev there is no /etc/udev, and /etc is the host's. passwd and group: see vm/inside.
WRITABLE_ETC = """
mkdir -p /run/etc/upper /run/etc/work
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work none /etc
for name in passwd group; do mount --bind /run/$name /etc/$name; done
rm -rf /etc/udev
"""


@pytest.fixture
def rules() -> Iterator[Path]:
    """A writable directory for udev rules; restores the device afterwards."""
    subprocess.run(["sh", "-ec", WRITABLE_ETC], check=True)
    was = DEVICE.stat()
    yield Path("/etc/udev/rules.d/61-syscript.rules")
    os.chown(DEVICE, was.st_uid, was.st_gid)
    DEVICE.chmod(was.st_mode & 0o777)
    subprocess.run(["umount", "-R", "/etc"], check=True)
    shutil.rmtree("/run/etc")


def allow(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "allow", *args], capture_output=True, text=True)


def test_allow(rules: Path, as_outsider, as_user) -> None:
    """The setting applies at once, also to running processes, and does not affect LuaJIT."""
    luajit = LUAJIT.stat()

    def may(run) -> bool:
        hello = [COMMAND, "run", "--backend", "kernel", "--engine", "confined", "-e", "return 1"]
        return run(hello).returncode == 0

    for args, outsider, user in [
        (["--none"], False, True),
        (["--user", "outsider"], True, True),
        (["--group", "outsider"], True, True),
        (["--none"], False, True),
        (["--all"], True, True),
    ]:
        done = allow(*args)
        assert (done.returncode, done.stderr) == (0, ""), args
        assert "scripts in the kernel now" in done.stdout
        assert rules.read_text().startswith(f"# Written by 'syscript allow {' '.join(args)}'.\n")
        # A member of the group syscript may open LuaJIT's device, which runs any engine.
        assert (may(as_outsider), may(as_user)) == (outsider, user), args
        shown = allow().stdout
        assert shown == ("all users\n" if args == ["--all"] else shown)
    assert (LUAJIT.stat().st_mode, LUAJIT.stat().st_gid) == (luajit.st_mode, luajit.st_gid)


def test_allow_leaves_rules_of_others_alone(rules: Path) -> None:
    rules.parent.mkdir(parents=True)
    rules.write_text('KERNEL=="syscript", MODE="0600"\n')
    before = DEVICE.stat()
    done = allow("--all")
    assert done.returncode == 2 and "was not written by this command" in done.stderr
    assert rules.read_text() == 'KERNEL=="syscript", MODE="0600"\n'
    assert DEVICE.stat().st_mode == before.st_mode


def test_only_root_allows(as_user) -> None:
    done = as_user([COMMAND, "allow", "--all"])
    assert done.returncode == 2 and "sudo syscript allow --all" in done.stderr


def test_confined_engine_is_open_to_others(as_outsider) -> None:
    found = doctor(as_outsider)
    assert found["luajit_device"] == {"present": True, "usable": False, "mode": "0660"}
    assert found["device"]["usable"] and found["device"]["mode"] == "0666"
    assert found["missing"] == [] and found["backend"] == "kernel"
    assert found["engine"] == "confined"


def test_scripts_are_switched_off(as_user) -> None:
    ENABLED.write_text("N")
    try:
        assert advice(as_user) == ["echo Y | sudo tee /sys/module/syscript/parameters/enabled"]
    finally:
        ENABLED.write_text("Y")


def test_devices_have_their_own_numbers() -> None:
    """A device node can exist before its module: opening it loads the module."""
    numbers = Path("/proc/misc").read_text().splitlines()
    assert {"249 syscript", "248 syscript-luajit"} <= set(numbers)
