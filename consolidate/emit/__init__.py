# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Writes the script of a candidate in Lua, and its C."""
