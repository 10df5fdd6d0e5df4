# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""libsyscript in ctypes: structures of <linux/syscript.h> and <syscript.h>."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

ARGS_MAX = 8
RESULTS_MAX = 8
ERROR_LEN = 2048

# Flags of a registration.
NOJIT = 1 << 0
KILL = 1 << 1
TRACEBACK = 1 << 3

BACKENDS = ("auto", "kernel", "user")
STATES = ("ready", "running", "dead")


class Options(ctypes.Structure):
    """struct syscript_options"""

    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("flags", c_uint32),
        ("backend", c_int),
        ("memory_limit", c_uint64),
        ("time_limit_ns", c_uint64),
        ("wall_limit_ns", c_uint64),
        ("grace_ns", c_uint64),
        ("engine", c_uint32),
        ("format", c_uint32),
        ("shared", c_void_p),
        ("shared_len", c_size_t),
        ("base", c_uint64),
        ("only", c_char_p),
        ("modules", c_char_p),
    ]


COUNTERS = (
    "memory_limit",
    "time_limit",
    "wall_limit",
    "grace",
    "memory",
    "memory_peak",
    "calls",
    "errors",
    "kills",
    "run_time",
    "syscalls",
    "preempt_max",
)


class Counter(ctypes.Structure):
    """struct syscript_counter: one of the engine's own."""

    _fields_ = [("name", ctypes.c_char * 24), ("value", c_uint64)]


class InfoStruct(ctypes.Structure):
    """struct syscript_info"""

    _fields_ = [
        ("id", c_uint64),
        ("pid", c_int32),
        ("uid", c_uint32),
        ("flags", c_uint32),
        ("state", c_uint32),
        ("name", ctypes.c_char * 32),
        ("engine", c_uint32),
        ("format", c_uint32),
        ("engine_name", ctypes.c_char * 16),
        *((counter, c_uint64) for counter in COUNTERS),
        ("counters", Counter * 6),
        ("reserved", c_uint64 * 4),
    ]


class Request(ctypes.Structure):
    """struct syscript_request"""

    _fields_ = [
        ("user_data", c_uint64),
        ("nargs", c_uint32),
        ("reserved", c_uint32),
        ("args", c_int64 * ARGS_MAX),
    ]


class Completion(ctypes.Structure):
    """struct syscript_completion"""

    _fields_ = [
        ("user_data", c_uint64),
        ("result", c_int64),
        ("error", c_int32),
        ("reserved", c_uint32),
    ]


class PyBuffer(ctypes.Structure):
    """Py_buffer: the address of an object's bytes, including read-only ones."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("suboffsets", c_void_p),
        ("internal", c_void_p),
    ]


get_buffer = ctypes.pythonapi.PyObject_GetBuffer
get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(PyBuffer), c_int]
get_buffer.restype = c_int
release_buffer = ctypes.pythonapi.PyBuffer_Release
release_buffer.argtypes = [ctypes.POINTER(PyBuffer)]
release_buffer.restype = None


def _load() -> ctypes.CDLL:
    path = os.environ.get("SYSCRIPT_LIBRARY", "libsyscript.so.0")
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"libsyscript is not installed ({error}): install the package libsyscript0, run"
            " `sudo make install` in the source tree, or name the file in SYSCRIPT_LIBRARY"
        ) from error


so = _load()

_info = ctypes.POINTER(InfoStruct)
_results = ctypes.POINTER(c_int64)
_completions = ctypes.POINTER(Completion)
for name, result, arguments in (
    (
        "syscript_register",
        c_int,
        [c_char_p, c_size_t, ctypes.POINTER(Options), c_char_p, c_size_t],
    ),
    ("syscript_lint", c_int, [c_char_p, c_size_t, ctypes.POINTER(Options), c_char_p, c_size_t]),
    ("syscript_call", c_int, [c_int, c_uint, _results, c_uint, _results]),
    ("syscript_error", c_int, [c_int, c_char_p, c_size_t]),
    ("syscript_output", c_int, [c_int, c_char_p, c_size_t]),
    ("syscript_info", c_int, [c_int, _info]),
    ("syscript_next", c_int, [_info]),
    ("syscript_backend", c_int, [c_int]),
    ("syscript_probe", c_int, [c_int]),
    ("syscript_close", c_int, [c_int]),
    (
        "syscript_queue_open",
        c_int,
        [
            *(ctypes.POINTER(c_void_p), c_char_p, c_size_t, ctypes.POINTER(Options)),
            *(c_uint, c_char_p, c_size_t),
        ],
    ),
    ("syscript_queue_submit", c_int, [c_void_p, ctypes.POINTER(Request), c_uint]),
    ("syscript_queue_reap", c_int, [c_void_p, _completions, c_uint]),
    ("syscript_queue_fd", c_int, [c_void_p]),
    ("syscript_queue_error", c_int, [c_void_p, c_char_p, c_size_t]),
    ("syscript_queue_close", None, [c_void_p]),
    ("syscript_strerror", c_char_p, [c_int]),
    ("syscript_version", c_char_p, []),
):
    function = getattr(so, name)
    function.restype = result
    function.argtypes = arguments

PROT_NONE = 0
mprotect = ctypes.CDLL(None, use_errno=True).mprotect
mprotect.argtypes = (c_void_p, c_size_t, c_int)
