# SPDX-License-Identifier: GPL-2.0
"""Functions and structures in the kernel's BTF: arguments, and offsets of members."""

from __future__ import annotations

import struct
from functools import cached_property
from pathlib import Path

KERNEL = Path("/sys/kernel/btf")

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST = range(1, 11)
RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(11, 20)
# Kinds that only rename or qualify another type.
ALIASES = {TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG}
# Bytes after a type's three words: fixed, and for each member.
TAILS = {INT: (4, 0), ARRAY: (12, 0), VAR: (4, 0), DECL_TAG: (4, 0)}
TAILS |= {STRUCT: (0, 12), UNION: (0, 12), DATASEC: (0, 12), ENUM64: (0, 12)}
TAILS |= {ENUM: (0, 8), FUNC_PROTO: (0, 8)}


class BtfError(Exception):
    """The function, argument or member does not exist; the text says which."""


class Btf:
    """One BTF file: the kernel's, or a module's, whose type numbers continue the kernel's."""

    def __init__(self, path: Path, base: Btf | None = None) -> None:
        self.data = path.read_bytes()
        header = struct.unpack_from("<HBBIIIII", self.data)
        magic, _, _, length, types, types_length, strings, strings_length = header
        if magic != 0xEB9F:
            raise BtfError(f"{path} is no BTF")
        self.types = (length + types, length + types + types_length)
        self.strings = self.data[length + strings : length + strings + strings_length]
        self.base = base
        self.first = base.first + len(base.offsets) if base else 1
        self.names = base.names + len(base.strings) if base else 0

    @cached_property
    def offsets(self) -> list[int]:
        """The offset of each type, by type number."""
        found, at = [], self.types[0]
        while at < self.types[1]:
            found.append(at)
            info = int.from_bytes(self.data[at + 4 : at + 8], "little")
            fixed, each = TAILS.get(info >> 24 & 31, (0, 0))
            at += 12 + fixed + each * (info & 0xFFFF)
        return found

    def type(self, number: int) -> tuple[int, int, int, int, Btf, int]:
        """Its name, kind, number of members, size or type; the file and offset where it is."""
        if self.base and number < self.first:
            return self.base.type(number)
        at = self.offsets[number - self.first]
        name, info, size = struct.unpack_from("<III", self.data, at)
        return name, info >> 24 & 31, info & 0xFFFF, size, self, at + 12

    def name(self, offset: int) -> str:
        if self.base and offset < self.names:
            return self.base.name(offset)
        start = offset - self.names
        return self.strings[start : self.strings.index(b"\0", start)].decode()

    def function(self, name: str) -> int | None:
        """The type number of a function's prototype."""
        named = {file.names + at for file in (self, self.base) if file and (at := file.find(name))}
        for offset in self.offsets if named else []:
            text, info, of = struct.unpack_from("<III", self.data, offset)
            if info >> 24 & 31 == FUNC and text in named:
                return of
        return None

    def find(self, name: str) -> int:
        """The offset of a name in this file's own strings, or 0."""
        return self.strings.find(b"\0" + name.encode() + b"\0") + 1

    def members(self, number: int) -> list[tuple[str, int, int]]:
        """Name, type and byte offset of each member; for a function, its arguments."""
        _, kind, count, _, file, at = self.type(number)
        each = 8 if kind == FUNC_PROTO else 12
        rows = [struct.unpack_from("<III", file.data, at + each * i) for i in range(count)]
        return [(self.name(n), of, (bits & 0xFFFFFF) // 8) for n, of, bits in rows]

    def plain(self, number: int) -> int:
        """Without typedefs, const and so on."""
        while number and self.type(number)[1] in ALIASES:
            number = self.type(number)[3]
        return number

    def pointed(self, number: int) -> int:
        """The type that a pointer points to, or the type itself."""
        number = self.plain(number)
        return self.plain(self.type(number)[3]) if self.type(number)[1] == PTR else number

    def member(self, number: int, name: str) -> tuple[int, int] | None:
        """Offset and type of a member; looks into unnamed structures, too."""
        if not number or self.type(number)[1] not in (STRUCT, UNION):
            return None
        for own, of, offset in self.members(number):
            if own == name:
                return offset, of
            below = None if own else self.member(self.plain(of), name)
            if below:
                return offset + below[0], below[1]
        return None

    def size(self, number: int) -> int:
        number = self.plain(number)
        return self.type(number)[3]


def find(function: str) -> tuple[Btf, int]:
    """The BTF file that contains a function, and its prototype there."""
    if not (KERNEL / "vmlinux").exists():
        raise BtfError("this kernel has no BTF: say which argument by its number, F(1+OFFSET)")
    kernel = Btf(KERNEL / "vmlinux")
    number = kernel.function(function)
    if number is not None:
        return kernel, number
    for path in sorted(KERNEL.iterdir()):
        module = Btf(path, kernel) if path.name != "vmlinux" else None
        number = module.function(function) if module else None
        if module and number is not None:
            return module, number
    raise BtfError(f"no BTF has {function}(): say which argument by its number, {function}(1)")


def argument(function: str, name: str, path: list[str]) -> tuple[int, int, int]:
    """The argument's number (0: the return value); offset and size of its member."""
    btf, prototype = find(function)
    arguments = btf.members(prototype)
    names = [own for own, _, _ in arguments]
    if name == "return":
        number, of = 0, btf.type(prototype)[3]
    elif name in names:
        number, of = names.index(name) + 1, arguments[names.index(name)][1]
    else:
        raise BtfError(f"{function}() has no argument {name}: it has {', '.join(names) or 'none'}")
    offset = 0
    for i, part in enumerate(path):
        # Only the first step may follow a pointer: later ones would need memory reads.
        found = btf.member(btf.pointed(of) if not i else btf.plain(of), part)
        if not found:
            raise BtfError(f"{name} of {function}() has no member {'.'.join(path[: i + 1])}")
        offset, of = offset + found[0], found[1]
    return number, offset, btf.size(of) if path else 0
