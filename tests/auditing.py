# SPDX-License-Identifier: GPL-2.0
"""Audit rules as auditctl(8) sets them, and the records that they cause.

Uses netlink directly: installing the audit daemon would audit the machine that runs the tests.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

# <linux/audit.h>
SET, ADD_RULE, DEL_RULE = 1001, 1011, 1012
USER_MESSAGE = 1100
READLOG = 1  # multicast group 1, as a bit
TASK, EXIT = 1, 4
NEVER, ALWAYS = 0, 2
EQUAL = 0x40000000
WATCH, EXIT_CODE, ARCH, ARG0, KEY = 105, 103, 11, 200, 210
MACHINE = 0xC00000B7 if platform.machine() == "aarch64" else 0xC000003E
TYPES = {1300: "SYSCALL", 1302: "PATH", 1306: "SOCKADDR", 1307: "CWD", 1320: "EOE"}
REQUEST_ACK = 1 | 4
ERROR = 2
FIELDS = 64
STAMP = re.compile(r"^audit\((\d+\.\d+:\d+)\): (.*)$", re.S)
PAIR = re.compile(r'(\w+)=("[^"]*"|\S+)')


@dataclass
class Rule:
    """A rule: "always,exit" for these calls, or "never,task"."""

    calls: list[int] = field(default_factory=list)
    fields: list[tuple[int, int | str]] = field(default_factory=list)
    list: int = EXIT
    action: int = ALWAYS

    def packed(self) -> bytes:
        mask = [0] * 64
        for call in self.calls:
            mask[call // 32] |= 1 << call % 32
        if not self.calls:
            mask = [0xFFFFFFFF] * 64
        texts = [value.encode() for _, value in self.fields if isinstance(value, str)]
        values = [len(v.encode()) if isinstance(v, str) else v for _, v in self.fields]
        rest = [0] * (FIELDS - len(self.fields))
        words = [self.list, self.action, len(self.fields), *mask]
        words += [*(kind for kind, _ in self.fields), *rest, *values, *rest]
        words += [*(EQUAL for _ in self.fields), *rest, sum(map(len, texts))]
        return struct.pack(f"={len(words)}I", *(w & 0xFFFFFFFF for w in words)) + b"".join(texts)


@dataclass(frozen=True)
class Event:
    """The records of one call, in order: types and fields."""

    records: tuple[tuple[str, dict[str, str]], ...]

    def of(self, kind: str) -> list[dict[str, str]]:
        return [fields for name, fields in self.records if name == kind]

    @property
    def call(self) -> dict[str, str]:
        found = self.of("SYSCALL")
        assert len(found) == 1, self.records
        return found[0]


class Auditing:
    """Auditing, on from construction to stop()."""

    def __init__(self) -> None:
        self.control = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
        self.control.bind((0, 0))
        self.log = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
        self.log.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        self.log.bind((0, READLOG))
        self.log.settimeout(60)
        self.rules: list[Rule] = []
        self.enable(1)

    def ask(self, kind: int, payload: bytes) -> None:
        size = 16 + len(payload)
        self.control.send(struct.pack("=IHHII", size, kind, REQUEST_ACK, 1, 0) + payload)
        answer = self.control.recv(65536)
        got, error = struct.unpack_from("=4xH10xi", answer)
        if got != ERROR or error:
            raise OSError(-error, f"audit message {kind}: {os.strerror(-error)}")

    def enable(self, value: int) -> None:
        # mask (1: enabled), enabled
        self.ask(SET, struct.pack("=11I", 1, value, *[0] * 9))

    def add(self, rule: Rule) -> None:
        self.ask(ADD_RULE, rule.packed())
        self.rules.append(rule)

    def drop(self) -> None:
        while self.rules:
            self.ask(DEL_RULE, self.rules.pop().packed())

    def messages(self) -> Iterator[tuple[int, str]]:
        """Records since the last call."""
        self.ask(USER_MESSAGE, b"the end\0")
        while True:
            data = self.log.recv(65536)
            kind = struct.unpack_from("=4xH", data)[0]
            if kind == USER_MESSAGE:
                return
            yield kind, data[16:].split(b"\0")[0].decode(errors="replace")

    def events(self, pid: int) -> list[Event]:
        """The recorded calls of a process."""
        found: dict[str, list[tuple[str, dict[str, str]]]] = {}
        for kind, text in self.messages():
            match = STAMP.match(text)
            if match and kind in TYPES and kind != 1320:
                record = (TYPES[kind], dict(PAIR.findall(match[2])))
                found.setdefault(match[1], []).append(record)
        events = [Event(tuple(records)) for records in found.values()]
        return [e for e in events if e.of("SYSCALL") and e.call["pid"] == str(pid)]

    def stop(self) -> None:
        self.drop()
        self.enable(0)
        self.control.close()
        self.log.close()
