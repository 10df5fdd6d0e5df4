# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Generates a candidate's script in Lua, and its C header."""
