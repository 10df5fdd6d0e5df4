# SPDX-License-Identifier: GPL-2.0 OR MIT
"""From traces of system calls to scripts: find, cost, write, measure."""
