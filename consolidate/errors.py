# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What ends the command with a message instead of a traceback."""

from __future__ import annotations


class ConsolidateError(Exception):
    """What failed, why, and what to do about it."""
