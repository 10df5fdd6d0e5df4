# SPDX-License-Identifier: GPL-2.0
"""Parses the kernel log for reports about published modules."""

from __future__ import annotations

import re

import kernlog


def marker(name: str) -> str:
    """Logged before a module is loaded."""
    return f"published: {name}"


def judged(text: str) -> tuple[list[str], str]:
    """The tools' reports, each with its lines, and other complaints of the kernel."""
    reports = []
    for header in re.findall(r"\w+: violation: .*\[\d+\]", text):
        (tool, number) = re.match(r"(\w+): .*(\[\d+\])$", header).groups()
        lines = [line for line in text.splitlines() if line.startswith(f"{tool}: {number}")]
        reports.append("\n".join([header, *lines]))
    return reports, kernlog.excerpt(text, planted=True)


def last(log: str, name: str) -> tuple[list[str], str]:
    """The same for a whole log, for the module that ended its guest."""
    lines = log.rpartition(f"test: {marker(name)}")[2].splitlines()
    return judged("\n".join(re.sub(r"^\[ *\d+\.\d+\] ", "", line) for line in lines))
