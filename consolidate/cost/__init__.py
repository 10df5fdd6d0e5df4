# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What a candidate saves, by the cost model of a machine, and measured."""
