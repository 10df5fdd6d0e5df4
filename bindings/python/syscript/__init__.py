# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""System call scripting: many system calls with one mode switch.

    import syscript

    twice = syscript.Script("function run(n) return 2 * n end")
    assert twice(21) == 42

A script is an object that is called like a function. It runs in the kernel if /dev/syscript may be
used, otherwise in this process; syscript(7) describes its language.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import mmap
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from syscript import _library
from syscript._library import so

__all__ = [
    *("Info", "Queue", "Script", "ScriptError"),
    *("buffer", "lint", "load", "probe", "scripts", "version"),
]


class HasFileno(Protocol):
    """A file or a socket."""

    def fileno(self) -> int: ...


# int and bool are passed as such; str and bytes (with a NUL appended), and everything with the
# buffer protocol (bytearray, memoryview, array, numpy), as an address; files and sockets as a
# descriptor.
Argument = int | str | bytes | bytearray | memoryview | HasFileno | Any


class ScriptError(OSError):
    """A script does not compile, raised an error, or exceeded a limit.

    errno says which: see <linux/syscript.h>.  strerror is the script's own text, with
    file:line and a traceback.
    """


@dataclass(frozen=True)
class Info:
    """A script's limits and counters; times are in ns, sizes in bytes.

    counters has the engine's own: LuaJIT's are mcode (bytes) and traces.
    """

    id: int
    pid: int
    uid: int
    state: str
    name: str
    engine: str
    memory_limit: int
    time_limit: int
    wall_limit: int
    grace: int
    memory: int
    memory_peak: int
    calls: int
    errors: int
    kills: int
    run_time: int
    syscalls: int
    preempt_max: int
    counters: dict[str, int]


def _info(raw: _library.InfoStruct) -> Info:
    return Info(
        id=raw.id,
        pid=raw.pid,
        uid=raw.uid,
        state=_library.STATES[raw.state] if raw.state < len(_library.STATES) else "unknown",
        name=raw.name.decode(),
        engine=raw.engine_name.decode(),
        counters={c.name.decode(): c.value for c in raw.counters if c.name},
        **{counter: getattr(raw, counter) for counter in _library.COUNTERS},
    )


def _error_text(function: Callable[..., int], handle: Any, err: int) -> str:
    """The message that the function has for the handle's last error, or else that of -errno."""
    text = ctypes.create_string_buffer(_library.ERROR_LEN)
    if function(handle, text, _library.ERROR_LEN) > 0:
        return text.value.decode(errors="replace")
    return so.syscript_strerror(err).decode()


def _options(
    name: str,
    backend: str,
    time_limit: float,
    wall_limit: float,
    memory_limit: int,
    flags: int,
    only: Iterable[str] | None = None,
    grace: float = 0,
    modules: str | None = None,
) -> _library.Options:
    if backend not in _library.BACKENDS:
        raise ValueError(f"unknown backend {backend!r}: use one of {', '.join(_library.BACKENDS)}")
    options = _library.Options()
    options.size = ctypes.sizeof(options)
    options.name = name.encode()
    options.backend = _library.BACKENDS.index(backend)
    options.flags = flags
    options.only = None if only is None else ",".join(only).encode()
    options.modules = None if modules is None else os.fsencode(modules)
    options.memory_limit = memory_limit
    options.time_limit_ns = round(time_limit * 1e9)
    options.wall_limit_ns = round(wall_limit * 1e9)
    options.grace_ns = round(grace * 1e9)
    return options


class _Arguments:
    """A call's arguments, and the buffers that must live until it is over."""

    def __init__(self, arguments: tuple[Argument, ...]) -> None:
        if len(arguments) > _library.ARGS_MAX:
            raise TypeError(f"{len(arguments)} arguments: a script takes {_library.ARGS_MAX}")
        self.values = (ctypes.c_int64 * _library.ARGS_MAX)()
        self.kept: list[Any] = []
        self.views: list[_library.PyBuffer] = []
        try:
            for i, argument in enumerate(arguments):
                self.values[i] = self.value(argument)
        except BaseException:
            self.release()
            raise

    def value(self, argument: Argument) -> int:
        if isinstance(argument, int):
            if not -(2**63) <= argument < 2**63:
                raise OverflowError(f"{argument} has more than 64 bits")
            return argument
        if isinstance(argument, str):
            argument = os.fsencode(argument)
        if isinstance(argument, bytes):
            # Not by the buffer protocol: those bytes need not end with a NUL.
            text = ctypes.c_char_p(argument)
            self.kept.append(text)
            return ctypes.cast(text, ctypes.c_void_p).value or 0
        if hasattr(argument, "fileno"):
            return argument.fileno()
        view = _library.PyBuffer()
        try:
            _library.get_buffer(argument, ctypes.byref(view), 0)
        except (BufferError, TypeError) as error:
            kind = type(argument).__name__
            wanted = "int, str, bytes, a buffer or a file"
            raise TypeError(f"script arguments must be {wanted}, not {kind}: {error}") from None
        self.views.append(view)
        return view.buf or 0

    def release(self) -> None:
        for view in self.views:
            _library.release_buffer(ctypes.byref(view))
        self.views.clear()


class Script:
    """A registered script; call it like a function.

    time_limit is in seconds of script code per call, wall_limit in seconds per call excluding
    waiting, grace in seconds that a call may continue while a signal is pending, memory_limit in
    bytes; 0 is the default of each. only: names of the system calls that it may make and of the
    libraries (util, fs, net) that it may use; None: all. modules: a folder whose Lua files the
    script may require(). Raises ScriptError if it does not compile.
    """

    def __init__(
        self,
        source: str | bytes,
        *,
        name: str = "script",
        backend: str = "auto",
        time_limit: float = 0,
        wall_limit: float = 0,
        memory_limit: int = 0,
        jit: bool = True,
        kill: bool = False,
        only: Iterable[str] | None = None,
        grace: float = 0,
        modules: str | None = None,
    ) -> None:
        self._fd = -1
        text = source.encode() if isinstance(source, str) else source
        flags = _library.TRACEBACK
        flags |= 0 if jit else _library.NOJIT
        flags |= _library.KILL if kill else 0
        limits = (time_limit, wall_limit, memory_limit)
        options = _options(name, backend, *limits, flags, only, grace, modules)
        error = ctypes.create_string_buffer(_library.ERROR_LEN)
        given = (text, len(text), ctypes.byref(options), error, _library.ERROR_LEN)
        fd = so.syscript_register(*given)
        # Garbage scripts count until they are collected.
        if fd == -errno.EDQUOT and gc.collect():
            fd = so.syscript_register(*given)
        if fd < 0:
            raise ScriptError(-fd, error.value.decode(errors="replace"))
        self._fd = fd

    def call(self, *arguments: Argument) -> tuple[int, ...]:
        """Call run(); return all of its results.  Other threads run meanwhile."""
        given = _Arguments(arguments)
        results = (ctypes.c_int64 * _library.RESULTS_MAX)()
        try:
            n = so.syscript_call(
                self.fileno(), len(arguments), given.values, _library.RESULTS_MAX, results
            )
        finally:
            given.release()
        if n < 0:
            raise ScriptError(-n, self._error(n))
        return tuple(results[:n])

    def __call__(self, *arguments: Argument) -> int:
        """Call run(); return its first result, 0 if there is none."""
        results = self.call(*arguments)
        return results[0] if results else 0

    def checked(self, *arguments: Argument) -> int:
        """Like __call__(), for scripts that return -errno as system calls do: raises OSError."""
        result = self(*arguments)
        if -4096 < result < 0:
            raise OSError(-result, os.strerror(-result))
        return result

    def _error(self, err: int) -> str:
        return _error_text(so.syscript_error, self._fd, err)

    def output(self) -> str:
        """Return and clear the output of print()."""
        parts = []
        buffer = ctypes.create_string_buffer(16384)
        while (n := so.syscript_output(self.fileno(), buffer, len(buffer))) > 0:
            parts.append(buffer.raw[:n])
        return b"".join(parts).decode(errors="replace")

    def info(self) -> Info:
        raw = _library.InfoStruct()
        err = so.syscript_info(self.fileno(), ctypes.byref(raw))
        if err < 0:
            raise OSError(-err, so.syscript_strerror(err).decode())
        return _info(raw)

    @property
    def backend(self) -> str:
        """Where it runs: "kernel" or "user"."""
        found = so.syscript_backend(self.fileno())
        if found < 0:
            raise OSError(-found, so.syscript_strerror(found).decode())
        return _library.BACKENDS[found]

    def fileno(self) -> int:
        if self._fd < 0:
            raise ValueError("the script is closed")
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            so.syscript_close(self._fd)
            self._fd = -1

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


class _Pending:
    """A request of a queue: keeps its arguments until it is complete, awaited or not."""

    def __init__(self, future: asyncio.Future[int], arguments: tuple[Argument, ...]) -> None:
        self.future = future
        self.nargs = len(arguments)
        self.arguments = _Arguments(arguments)


class Queue:
    """A script that is called asynchronously, in threads of the library: await queue(...).

    source and the keywords are those of Script; time_limit applies to each request. Each thread has
    its own globals. Cancelling the awaiting task does not end its request, whose buffers stay until
    it is complete. One event loop at a time may use a queue; close() waits for requests in
    progress.
    """

    REAPED = 64

    def __init__(
        self,
        source: str | bytes,
        *,
        threads: int = 1,
        name: str = "script",
        backend: str = "auto",
        time_limit: float = 0,
        wall_limit: float = 0,
        memory_limit: int = 0,
        jit: bool = True,
        only: Iterable[str] | None = None,
        grace: float = 0,
        modules: str | None = None,
    ) -> None:
        self._queue = ctypes.c_void_p()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending: dict[int, _Pending] = {}
        self._backlog: deque[int] = deque()
        self._last = 0
        text = source.encode() if isinstance(source, str) else source
        flags = _library.TRACEBACK | (0 if jit else _library.NOJIT)
        limits = (time_limit, wall_limit, memory_limit)
        options = _options(name, backend, *limits, flags, only, grace, modules)
        error = ctypes.create_string_buffer(_library.ERROR_LEN)
        given = (text, len(text), ctypes.byref(options), threads, error, _library.ERROR_LEN)
        err = so.syscript_queue_open(ctypes.byref(self._queue), *given)
        if err < 0:
            text_of = error.value.decode(errors="replace") or so.syscript_strerror(err).decode()
            raise ScriptError(-err, text_of)

    async def __call__(self, *arguments: Argument) -> int:
        """Queue a call of run(); return its first result, 0 if there is none."""
        loop = asyncio.get_running_loop()
        self._attach(loop)
        pending = _Pending(loop.create_future(), arguments)
        self._last += 1
        self._pending[self._last] = pending
        self._backlog.append(self._last)
        self._submit()
        return await pending.future

    async def checked(self, *arguments: Argument) -> int:
        """Like __call__(), for scripts that return -errno as system calls do: raises OSError."""
        result = await self(*arguments)
        if -4096 < result < 0:
            raise OSError(-result, os.strerror(-result))
        return result

    def _attach(self, loop: asyncio.AbstractEventLoop) -> None:
        fd = self.fileno()
        if self._loop is loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            if self._pending:
                raise RuntimeError("the queue has requests of another event loop")
            self._loop.remove_reader(fd)
        loop.add_reader(fd, self._reap)
        self._loop = loop

    def _submit(self) -> None:
        """Submit as many as fit; the rest waits for completions."""
        while self._backlog:
            key = self._backlog[0]
            pending = self._pending[key]
            request = _library.Request(key, pending.nargs, 0, pending.arguments.values)
            n = so.syscript_queue_submit(self._queue, ctypes.byref(request), 1)
            if n == -errno.EAGAIN:
                return
            self._backlog.popleft()
            if n < 0:
                self._complete(key, 0, n)

    def _reap(self) -> None:
        done = (_library.Completion * self.REAPED)()
        while (n := so.syscript_queue_reap(self._queue, done, self.REAPED)) > 0:
            for one in done[:n]:
                self._complete(one.user_data, one.result, one.error)
        self._submit()

    def _complete(self, key: int, result: int, err: int) -> None:
        pending = self._pending.pop(key)
        pending.arguments.release()
        if pending.future.done():
            return
        if err:
            pending.future.set_exception(ScriptError(-err, self._error(err)))
        else:
            pending.future.set_result(result)

    def _error(self, err: int) -> str:
        return _error_text(so.syscript_queue_error, self._queue, err)

    def fileno(self) -> int:
        """A descriptor that is readable when requests are complete."""
        if not self._queue:
            raise ValueError("the queue is closed")
        fd = so.syscript_queue_fd(self._queue)
        if fd < 0:
            raise OSError(-fd, so.syscript_strerror(fd).decode())
        return fd

    def close(self) -> None:
        """Wait for requests in progress; the others are cancelled."""
        if not self._queue:
            return
        queue, self._queue = self._queue, ctypes.c_void_p()
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.remove_reader(so.syscript_queue_fd(queue))
        so.syscript_queue_close(queue)
        for pending in self._pending.values():
            pending.arguments.release()
            if loop is not None and not loop.is_closed():
                pending.future.cancel()
        self._pending.clear()
        self._backlog.clear()

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_queue", None):
            self.close()


def load(path: str | os.PathLike[str], **options: Any) -> Script:
    """Register the script in a file, under the file's name."""
    options.setdefault("name", Path(path).name[:31])
    return Script(Path(path).read_bytes(), **options)


def buffer(size: int) -> memoryview:
    """Memory for a script to write, followed by inaccessible memory.

    A script that is given too large a size gets EFAULT there, where it would overwrite memory after
    a bytearray.
    """
    if size <= 0:
        raise ValueError(f"a buffer of {size} bytes")
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    guard = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + room
    if _library.mprotect(guard, mmap.PAGESIZE, _library.PROT_NONE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # Aligned for any type.
    start = (room - size) // 16 * 16
    return memoryview(memory)[start : start + size]


def lint(source: str | bytes, name: str = "script") -> list[str]:
    """Mistakes found without running a script, as "name:line: text"."""
    text = source.encode() if isinstance(source, str) else source
    options = _options(name, "auto", 0, 0, 0, 0)
    found = ctypes.create_string_buffer(1 << 16)
    n = so.syscript_lint(text, len(text), ctypes.byref(options), found, len(found))
    if n < 0:
        raise ScriptError(-n, found.value.decode(errors="replace"))
    return found.value.decode(errors="replace").splitlines()


def probe(backend: str = "kernel") -> str | None:
    """None if this thread can use a backend now, otherwise the reason why not."""
    err = so.syscript_probe(_library.BACKENDS.index(backend))
    return so.syscript_strerror(err).decode() if err < 0 else None


def scripts() -> Iterator[Info]:
    """The live scripts visible to this process."""
    raw = _library.InfoStruct()
    while so.syscript_next(ctypes.byref(raw)) == 0:
        yield _info(raw)


def version() -> str:
    return so.syscript_version().decode()
