# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Parses the arguments of a call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from consolidate import calltable

OPEN, CLOSE = "([{", ")]}"
FD = re.compile(r"(-?\d+|AT_FDCWD)(?:<(.*)>)?(?:\(deleted\))?$", re.S)
NUMBER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)$")
NAMED = re.compile(r"(\w+): ?(.*)", re.S)
FLAGS = re.compile(r"[A-Z_][A-Z0-9_]*(?:\|(?:[A-Z_][A-Z0-9_]*|0x[0-9a-f]+|0[0-7]+))*$")
# A token of a list of arguments that is never split, or that structures the list.
PUNCTUATION = re.compile(
    r"""
      # The file after a descriptor or AT_FDCWD: 3</tmp/a>.  Not a shift: 1<<2.
      < (?<=[\dD]<) (?!<)
      [^<>]*
      (?:
        (?:
          # Between two ends of a connection: 3<TCP:[127.0.0.1:80->127.0.0.1:5000]>.
          (?<=-) > (?=[\d[])
          # The kind of a device: 1</dev/pts/0<char 136:0>>.
        | < [^<>]* >
        )
        [^<>]*
      )*
      >
      # A string, whole or up to the end.
    | " (?:[^"\\]|\\.)* "?
      # Brackets, and commas.
    | [\[\](){},]
    """,
    re.S | re.X,
)
OCTAL = re.compile(r"0[0-7]+$")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?$', re.S)
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|([0-7]{1,3})|(.))", re.S)
ESCAPED = {"n": 10, "t": 9, "r": 13, "v": 11, "f": 12, "a": 7, "b": 8, "0": 0}
COMMENT = re.compile(r" */\*.*?\*/")
ADDRESS_AT_LEAST = 4096
BRIEF = 40  # characters


@dataclass(frozen=True, slots=True)
class Value:
    """One argument: its text, and its value."""

    text: str
    number: int | None = None  # an integer or an address
    string: bytes | None = None
    cut: bool = False  # for a string of which the trace has only the beginning
    path: str | None = None  # of the descriptor

    @property
    def brief(self) -> str:
        """For people."""
        return self.text if len(self.text) <= BRIEF else self.text[: BRIEF - 3] + "..."

    @property
    def is_address(self) -> bool:
        return self.number is not None and self.number >= ADDRESS_AT_LEAST

    @property
    def is_struct(self) -> bool:
        return self.text[:1] in ("{", "[", "~")


NOTHING = Value("0", 0)


def split(args: str) -> list[str]:
    """Split at the commas of the outermost level."""
    if '"' not in args and not any(c in args for c in OPEN):
        parts = args.split(", ") if args else []
        # A comma within a descriptor's description.
        if all("<" not in part or part[-1] == ">" for part in parts):
            return parts
    parts, depth, begin = [], 0, 0
    for match in PUNCTUATION.finditer(args):
        c = args[match.start()]
        if c in OPEN:
            depth += 1
        elif c in CLOSE:
            depth -= 1
        elif c == "," and not depth:
            parts.append(args[begin : match.start()])
            begin = match.end()
    parts.append(args[begin:])
    return [part.strip() for part in parts]


# The descriptor that most calls begin with, and its description; a call's first string.
HEAD = re.compile(r'(-?\d+)(?:<((?:[^"\\]|\\.)*?)>)?(?:\(deleted\))?(?:, |$)')
TEXT = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*)"')


def head(args: str) -> tuple[int | None, str | None]:
    """A call's first argument, if it is a number, and the path of that descriptor."""
    if args[:1] > "9":
        return None, None
    end = args.find(", ")
    first = args[:end] if end >= 0 else args
    return head_of(first if first[-1:] == ">" or first.isdigit() else args)


@lru_cache(maxsize=4096)
def head_of(args: str) -> tuple[int | None, str | None]:
    match = HEAD.match(args)
    return (int(match[1]), match[2]) if match is not None else (None, None)


def first_raw(args: str) -> str:
    """A call's first string as in the trace; empty if it has none."""
    begin = args.find('"')
    end = args.find('"', begin + 1) if begin >= 0 else -1
    if end < 0:
        return ""
    text = args[begin + 1 : end]
    if "\\" not in text and args[begin - 1] != "\\":
        return text
    match = TEXT.search(args)
    return match[1] if match is not None else ""


def first_text(args: str) -> bytes:
    """A call's first string, unescaped."""
    return unescape(first_raw(args))


def unescape(text: str) -> bytes:
    """Decodes a string as strace writes it."""
    if "\\" not in text:
        return text.encode()

    def character(match: re.Match[str]) -> str:
        hexadecimal, octal, other = match.groups()
        if hexadecimal is not None:
            return chr(int(hexadecimal, 16))
        if octal is not None:
            return chr(int(octal, 8) & 255)
        return chr(ESCAPED[other]) if other in ESCAPED else other

    # strace escapes all bytes above 127; a tool that does not escape at all, none.
    return ESCAPE.sub(character, text).encode("latin-1" if text.isascii() else "utf-8")


@lru_cache(maxsize=65536)
def value(text: str, kind: str) -> Value:
    """An argument of a kind, as in core/syscalls.def."""
    match = STRING.match(text)
    if match is None:
        text = COMMENT.sub("", text)
        match = STRING.match(text)
    if match is not None:
        return Value(text, None, unescape(match.group(1)), match.group(2) is not None)
    if kind == "f":
        match = FD.match("AT_FDCWD" if text == "CWD" else text)
        if match is not None:
            number = -100 if match.group(1) == "AT_FDCWD" else int(match.group(1))
            return Value(match.group(1), number, path=match.group(2))
    if text == "NULL":
        return Value("0", 0)
    if OCTAL.match(text):
        return Value(text, int(text, 8))
    if NUMBER.match(text):
        return Value(text, int(text, 0))
    return Value(text)


def named(parts: list[str], kinds: str) -> list[Value]:
    """perf trace names arguments and omits those that are 0: put them in place."""
    pairs = [match.groups() for match in map(NAMED.match, parts) if match is not None]
    named_values, left = [], len(pairs)
    for place, kind in enumerate(kinds):
        spare = len(kinds) - place - left
        if not left or (spare > 0 and not fits(pairs[-left][0], kind)):
            named_values.append(NOTHING)
            continue
        named_values.append(value(pairs[-left][1], kind))
        left -= 1
    return named_values


def fits(name: str, kind: str) -> bool:
    is_fd = name in ("dfd", "fd") or name.endswith("fd")
    is_pointer = name.endswith(("name", "buf", "path", "ptr", "addr", "stat"))
    return {"f": is_fd, "s": is_pointer, "p": is_pointer}.get(kind, not is_fd and not is_pointer)


@lru_cache(maxsize=32768)
def of_call(name: str, args: str) -> list[Value]:
    """The arguments of a call; those that the trace does not show are missing."""
    kinds = calltable.kinds(name)
    parts = split(args)
    if parts and NAMED.match(parts[0]) and not parts[0].startswith('"'):
        return named(parts, kinds)
    return [value(part, kinds[i] if i < len(kinds) else "i") for i, part in enumerate(parts)]


def mapped(args: str) -> int | None:
    """The descriptor whose file mmap(2) maps."""
    parts = of_call("mmap", args)
    return parts[4].number if len(parts) > 4 else None
