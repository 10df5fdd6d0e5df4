# SPDX-License-Identifier: GPL-2.0
"""What modules leak outlives them, and the tool that allocated it."""

from __future__ import annotations

from modules_in_guest import rmmod


def test_kgcc_goes_after_a_leak(load, kernel_log) -> None:
    """What it allocated for modules may still be used: the slab is not to be destroyed."""
    load("kgcc")
    load("leaky+kgcc")
    rmmod("leaky")
    rmmod("kgcc")
    assert "modules leaked objects of 112 bytes: their cache stays" in kernel_log.read()
