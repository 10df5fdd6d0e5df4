# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Errors that end the command with a message instead of a traceback."""

from __future__ import annotations


class ConsolidateError(Exception):
    """A failure, its reason, and its remedy."""


def not_installed(tool: str, package: str) -> ConsolidateError:
    """An error for a missing program, with the name of its Debian package."""
    return ConsolidateError(
        f"{tool} is not installed: sudo apt-get install {package}"
        " (or your distribution's command and package)"
    )
