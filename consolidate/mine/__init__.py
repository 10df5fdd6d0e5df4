# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds recurring sequences of calls, and the data flow between them."""
