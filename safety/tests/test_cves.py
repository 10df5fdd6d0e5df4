# SPDX-License-Identifier: GPL-2.0
"""Modules with the patterns of published CVEs: reported; with the fix, not."""

from __future__ import annotations

import re

import pytest

FOUND = [
    ("cve_2021_43267", "overrun by 1 byte: write, object of 52 bytes", "memcpy|key_received"),
    ("cve_2022_41674", "overrun by 1 byte: write, object of 50 bytes", "memcpy|without"),
    ("cve_2016_2384", "double free: object of 60 bytes", "midi_free"),
    ("cve_2017_2636", "use after free: read at offset 0, object of 96 bytes", "line_release"),
    ("cve_2019_19525", "use after free: read at offset 32, object of 48 bytes", "disconnect"),
]


@pytest.mark.planted
@pytest.mark.parametrize(("module", "expected", "where"), FOUND)
def test_found(module: str, expected: str, where: str, load, kernel_log) -> None:
    load("kefence")
    load(f"{module}+kefence")
    text = kernel_log.read()
    found = re.search(r"kefence: violation: (.*) \[(\d+)\]", text)
    assert found, text
    kind = re.sub(r"by \d+ bytes?", "by 1 byte", found[1])
    assert kind == expected
    report = [line for line in text.splitlines() if f"[{found[2]}]" in line]
    assert re.search(rf"\b({where})", "\n".join(report))
    assert f"of module {module}" in text


@pytest.mark.parametrize(("module", "expected", "where"), FOUND)
def test_fixed(module: str, expected: str, where: str, load, kernel_log) -> None:
    load("kefence")
    load(f"{module}+kefence", fixed=1)
    assert "violation" not in kernel_log.read()


@pytest.mark.planted
def test_lock_left_by_an_error(load, kernel_log) -> None:
    load("evmon")
    load("evmon/evmon_mutex")
    load("cve_2019_15538+evmon")
    text = kernel_log.read()
    assert "mutex: held on return to user space" in text
    assert re.search(r"taken at cve_2019_15538.c:\d+ \[cve_2019_15538\]", text)


def test_lock_left_by_no_error(load, kernel_log) -> None:
    load("evmon")
    load("evmon/evmon_mutex")
    load("cve_2019_15538+evmon", fixed=1)
    assert "violation" not in kernel_log.read()
