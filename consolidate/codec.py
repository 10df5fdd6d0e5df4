# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Dataclasses to JSON and back: keeps a report without reading its trace again."""

from __future__ import annotations

import dataclasses
from collections import Counter
from enum import Enum
from typing import Any

# Marks for types that JSON lacks.
CLASS, ENUM, TUPLE, SET, DICT, BYTES = "class", "enum", "tuple", "set", "dict", "bytes"


class Codec:
    """Encodes some classes; a field with the metadata `kept` False is skipped."""

    def __init__(self, *classes: type) -> None:
        self.classes = {one.__name__: one for one in classes}

    def encode(self, what: Any) -> Any:
        if isinstance(what, Enum):
            return {ENUM: type(what).__name__, "value": what.value}
        if dataclasses.is_dataclass(what):
            return {CLASS: type(what).__name__, **self.fields(what)}
        if isinstance(what, tuple):
            return {TUPLE: [self.encode(one) for one in what]}
        if isinstance(what, set | frozenset):
            return {SET: [self.encode(one) for one in what]}
        if isinstance(what, Counter):
            return {DICT: [[self.encode(k), v] for k, v in what.items()], "counts": True}
        if isinstance(what, dict):
            return {DICT: [[self.encode(k), self.encode(v)] for k, v in what.items()]}
        if isinstance(what, bytes):
            return {BYTES: what.decode("latin-1")}
        return [self.encode(one) for one in what] if isinstance(what, list) else what

    def fields(self, what: Any) -> dict[str, Any]:
        return {
            field.name: self.encode(getattr(what, field.name))
            for field in dataclasses.fields(what)
            if field.metadata.get("kept", True)
        }

    def decode(self, what: Any) -> Any:
        if isinstance(what, list):
            return [self.decode(one) for one in what]
        if not isinstance(what, dict):
            return what
        if ENUM in what:
            return self.classes[what[ENUM]](what["value"])
        if CLASS in what:
            rest = {key: self.decode(value) for key, value in what.items() if key != CLASS}
            return self.classes[what[CLASS]](**rest)
        if DICT in what:
            found = {self.decode(key): self.decode(value) for key, value in what[DICT]}
            return Counter(found) if "counts" in what else found
        if BYTES in what:
            return what[BYTES].encode("latin-1")
        if TUPLE in what:
            return tuple(map(self.decode, what[TUPLE]))
        return set(map(self.decode, what[SET]))
