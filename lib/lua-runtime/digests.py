#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Append to Lua's image the digests by which the module knows it.

  digests.py IMAGE

Programs name the runtime by the digest of the image that they would register: relocated to
its place, for arenas of one size.  Computing it takes longer than registering a script, so
the file contains the digests: struct lua_digests, lib/lua_image.h.  The module itself
computes the digest of an image that root registers.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from pathlib import Path

SHIFT_MIN, SHIFTS = 20, 6
MAGIC = 0x3144554C
PAGE = 4096
# struct cosy_file: magic, version, image, data, memory_size, align, stack, native, code_relocs
FILE = struct.Struct("<II II II II II II")
# struct image_header up to ninsns, and arena_shift in it
HEADER, ARENA_SHIFT = struct.Struct("<IHHI"), 20
INSN, IMM = 8, 4


def place_image(file: bytes) -> tuple[bytearray, int]:
    """The image relocated for data at LUA_DATA_OFFSET (lib/lua_shared_image.h), and that offset."""
    _, _, at, size, _, _, _, align, _, _, relocs_at, relocs = FILE.unpack_from(file)
    offset = -(-PAGE // align) * align
    image = bytearray(file[at : at + size])
    first = size - INSN * HEADER.unpack_from(image)[3]
    for insn in struct.unpack_from(f"<{relocs}I", file, relocs_at):
        where = first + insn * INSN + IMM
        (imm,) = struct.unpack_from("<I", image, where)
        struct.pack_into("<I", image, where, (imm + offset) & 0xFFFFFFFF)
    return image, offset


def digests(file: bytes) -> bytes:
    image, offset = place_image(file)
    found = b""
    for shift in range(SHIFT_MIN, SHIFT_MIN + SHIFTS):
        struct.pack_into("<H", image, ARENA_SHIFT, shift)
        found += hashlib.sha256(image).digest()
    return found + struct.pack("<II", offset, MAGIC)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    file = path.read_bytes()
    path.write_bytes(file + bytes(-len(file) % 4) + digests(file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
