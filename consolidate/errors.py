# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Errors that end the command with a message instead of a traceback."""

from __future__ import annotations


class ConsolidateError(Exception):
    """A failure, its reason, and its remedy."""
