# SPDX-License-Identifier: GPL-2.0
"""Leaked memory of a module outlives it, and the tool that allocated it."""

from __future__ import annotations

from modules_in_guest import rmmod


def test_kgcc_goes_after_a_leak(load, kernel_log) -> None:
    """KGCC's objects may still be used: it must not destroy the slab."""
    load("kgcc")
    load("leaky+kgcc")
    rmmod("leaky")
    rmmod("kgcc")
    assert "modules leaked objects of 112 bytes: their cache stays" in kernel_log.read()
