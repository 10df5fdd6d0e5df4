# SPDX-License-Identifier: GPL-2.0
"""syscript doctor where there is a module: what keeps a user from using it."""

from __future__ import annotations

import json
import os
from pathlib import Path

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
        assert advice(as_outsider) == ["sudo chmod 0666 /dev/syscript", AT_BOOT]
    finally:
        DEVICE.chmod(0o666)


def test_outsider_is_not_in_the_group(as_outsider) -> None:
    """Which matters where the administrator has given the device to the group."""
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
