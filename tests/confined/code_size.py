#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print how many bytes of machine code the Lua runtime's image has.

Usage: code_size.py LUA_IMAGE. Another processor's with CONFINED_REMOTE: remote.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined.subject import Machine

# Of struct cosy_file: where the image begins, and ends.
BEGIN, END = 8, 16
# Of struct image_header, which the library fills in for a script: its arena and its stack.
SHIFT, STACK = 20, 24


def word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def main() -> None:
    file = Path(sys.argv[1]).read_bytes()
    image = bytearray(file[word(file, BEGIN) : word(file, END)])
    image[SHIFT] = 24
    image[STACK : STACK + 8] = (1 << 23).to_bytes(4, "little") + (1 << 20).to_bytes(4, "little")
    with Machine(bytes(image), thunks=1) as machine:
        print(len(machine.code()[1]))


if __name__ == "__main__":
    main()
