# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Reads traces: lines to calls of threads."""
