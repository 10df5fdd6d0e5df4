# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A candidate's savings, by a machine's cost model and measured."""
