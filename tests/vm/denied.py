# SPDX-License-Identifier: GPL-2.0
"""Repeatedly tries to attach to its parent, and is denied: test_usermode.py.

Each denied process_vm_readv(2) leaves work for the return to user mode, if kernel.yama.ptrace_scope
allows only descendants.

usage: denied.py: prints a line when its script is about to begin; the result if it ends
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from library import Library

SOURCE = b"""
function run(pid, iov, want)
	while true do
		local ret = syscall.process_vm_readv(pid, iov, 1, iov, 1, 0)
		if ret ~= want then return ret end
	end
end
"""


def main() -> None:
    lib = Library()
    target = os.getpid()
    if os.fork():
        os.wait()
        return
    word = ctypes.c_uint64()
    iov = (ctypes.c_uint64 * 2)(ctypes.addressof(word), 8)
    fd, text = lib.register(SOURCE, wall_limit_ns=2**64 - 1)
    assert fd >= 0, text
    print(os.getpid(), flush=True)
    print(lib.call(fd, target, ctypes.addressof(iov), -errno.EPERM))


if __name__ == "__main__":
    main()
