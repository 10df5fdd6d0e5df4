# SPDX-License-Identifier: GPL-2.0
"""syscript doctor where there is a module: what keeps a user from using it."""

from __future__ import annotations

import json
from pathlib import Path

from runner import COMMAND

CONFINED = Path("/dev/syscript-confined")
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


def test_outsider_is_not_in_the_group(as_outsider) -> None:
    """Which matters to one who may not use the confined engine either."""
    CONFINED.chmod(0o600)
    try:
        first, *rest = advice(as_outsider)
    finally:
        CONFINED.chmod(0o666)
    assert first.startswith("sudo usermod -aG syscript outsider")
    # Guests load the module themselves.
    assert rest == ["echo syscript | sudo tee /etc/modules-load.d/syscript.conf"]


def test_confined_engine_is_open_to_others(as_outsider) -> None:
    found = doctor(as_outsider)
    assert found["confined_device"] == {"present": True, "usable": True, "mode": "0666"}
    assert not found["device"]["usable"]
    assert found["missing"] == [] and found["backend"] == "kernel"
    assert found["engine"] == "confined"


def test_scripts_are_switched_off(as_user) -> None:
    ENABLED.write_text("N")
    try:
        assert advice(as_user) == ["echo Y | sudo tee /sys/module/syscript/parameters/enabled"]
    finally:
        ENABLED.write_text("Y")


def test_device_has_its_own_number() -> None:
    """A device node can exist before the module: opening it loads the module."""
    assert "249 syscript" in Path("/proc/misc").read_text()
