# SPDX-License-Identifier: LGPL-2.1
"""libkernevents from Python: events of instrumented modules, in bulk.

with Kernevents() as events:
    for event in events.read(timeout=1.0):
        print(event.time, event.text, events.place(event))
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType


class _Event(ctypes.Structure):
    _fields_ = (
        ("time", ctypes.c_uint64),
        ("object", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        ("place", ctypes.c_uint32),
        ("pid", ctypes.c_int32),
        ("type", ctypes.c_uint16),
        ("cpu", ctypes.c_uint16),
    )


class _Place(ctypes.Structure):
    _fields_ = (
        ("module", ctypes.c_char * 32),
        ("file", ctypes.c_char * 48),
        ("name", ctypes.c_char * 48),
        ("line", ctypes.c_uint32),
        ("type", ctypes.c_uint16),
    )


class _Options(ctypes.Structure):
    _fields_ = (
        ("instance", ctypes.c_char_p),
        ("buffer_kib", ctypes.c_size_t),
        ("percent", ctypes.c_uint),
        ("filter", ctypes.c_char_p),
    )


# User-defined types start here.
USER = 36


@dataclass(frozen=True)
class Event:
    """See struct kernevent."""

    time: int
    object: int
    value: int
    place: int
    pid: int
    type: int
    cpu: int
    text: str


@dataclass(frozen=True)
class Place:
    """See struct kernevent_place."""

    module: str
    file: str
    line: int
    name: str
    type: int


def _library() -> ctypes.CDLL:
    """The library in the build directory, or the system's."""
    built = [parent / "build" / "libkernevents.so" for parent in Path(__file__).resolve().parents]
    path = next((str(path) for path in built if path.exists()), "libkernevents.so.0")
    library = ctypes.CDLL(path)
    handle = ctypes.c_void_p
    library.kernevents_open.argtypes = (ctypes.POINTER(handle), ctypes.POINTER(_Options))
    library.kernevents_read.argtypes = (
        *(handle, ctypes.POINTER(_Event)),
        *(ctypes.c_size_t, ctypes.c_int),
    )
    library.kernevents_read.restype = ctypes.c_ssize_t
    library.kernevents_lost.argtypes = (handle,)
    library.kernevents_lost.restype = ctypes.c_uint64
    library.kernevents_place.argtypes = (handle, ctypes.c_uint32)
    library.kernevents_place.restype = ctypes.POINTER(_Place)
    library.kernevents_text.argtypes = (ctypes.c_uint16,)
    library.kernevents_text.restype = ctypes.c_char_p
    library.kernevents_close.argtypes = (handle,)
    library.kernevents_close.restype = None
    return library


def _check(result: int, what: str) -> int:
    if result < 0:
        raise OSError(-result, f"{what}: {os.strerror(-result)}")
    return result


class Kernevents:
    """Collects events from its construction until close(); a context manager.

    instance: the name of its tracefs instance, not used by others
    buffer_kib: for each CPU
    percent: how full a CPU's buffer is before read() returns
    filter: a kernel filter, such as "type == 7"

    Raises OSError; FileNotFoundError if evmon.ko is not loaded.
    """

    def __init__(
        self,
        instance: str = "kernevents",
        buffer_kib: int = 1024,
        percent: int = 25,
        filter: str | None = None,
        count: int = 4096,
    ) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        self._events = (_Event * count)()
        text = filter.encode() if filter else None
        options = _Options(instance.encode(), buffer_kib, percent, text)
        _check(
            self._library.kernevents_open(ctypes.byref(self._handle), ctypes.byref(options)),
            "kernevents_open()",
        )

    def read(self, timeout: float | None = None) -> Iterator[Event]:
        """The available events, once a buffer is full enough or `timeout` seconds have passed."""
        milliseconds = -1 if timeout is None else int(timeout * 1000)
        n = _check(
            self._library.kernevents_read(
                self._handle, self._events, len(self._events), milliseconds
            ),
            "kernevents_read()",
        )
        for raw in self._events[:n]:
            values = [getattr(raw, name) for name, _ in _Event._fields_]
            yield Event(*values, self._library.kernevents_text(raw.type).decode())

    def place(self, event: Event) -> Place | None:
        """The place that emitted the event."""
        found = self._library.kernevents_place(self._handle, event.place)
        if not found:
            return None
        raw = found.contents
        return Place(raw.module.decode(), raw.file.decode(), raw.line, raw.name.decode(), raw.type)

    @property
    def lost(self) -> int:
        """How many events were lost up to the last read."""
        return self._library.kernevents_lost(self._handle)

    def close(self) -> None:
        self._library.kernevents_close(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> Kernevents:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
