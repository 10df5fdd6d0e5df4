# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds sequences of calls that recur, and the data between them."""
