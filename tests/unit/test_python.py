# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The Python binding: arguments, results, errors, and its README as printed."""

from __future__ import annotations

import array
import asyncio
import errno
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "bindings/python"
ENV = {
    **os.environ,
    "SYSCRIPT_LIBRARY": str(ROOT / "build" / "libsyscript.so"),
    "PYTHONPATH": str(PYTHON),
}
os.environ["SYSCRIPT_LIBRARY"] = ENV["SYSCRIPT_LIBRARY"]
sys.path.insert(0, str(PYTHON))

import syscript  # noqa: E402

READ = """
function run(addr, n) return util.peek(addr, "u1"), util.compare(addr, addr, n) end
"""


@pytest.fixture
def first_byte() -> Iterator[syscript.Script]:
    with syscript.Script(READ, backend="user", time_limit=2) as script:
        yield script


def test_integers_and_results() -> None:
    code = "function run(...) print(select('#', ...)) return ... end"
    with syscript.Script(code, time_limit=2) as script:
        assert script(7) == 7 and script(-(2**53)) == -(2**53) and script(True) == 1
        assert script() == 0 and script.call() == ()
        assert script.call(*range(8)) == tuple(range(8))
        with pytest.raises(TypeError, match="9 arguments"):
            script(*range(9))
        with pytest.raises(OverflowError):
            script(2**63)
        assert script(2**60 + 1) == 2**60 + 1 and script(-(2**63)) == -(2**63)
        assert script.output() == "1\n1\n1\n0\n0\n8\n1\n1\n" and script.output() == ""


@pytest.mark.parametrize(
    "argument",
    [
        "Text",
        b"Text",
        bytearray(b"Text"),
        memoryview(b"Text"),
        memoryview(bytearray(b"xText"))[1:],
        array.array("i", [ord("T"), 2]),
    ],
    ids=lambda a: type(a).__name__,
)
def test_addresses(first_byte: syscript.Script, argument: object) -> None:
    assert first_byte(argument, 4) == ord("T")


def test_no_arguments(first_byte: syscript.Script) -> None:
    for wrong in (None, 1.5, [1], object(), memoryview(b"abcdef")[::2]):
        with pytest.raises(TypeError, match="script arguments must be int"):
            first_byte(wrong, 1)
    # Arguments taken before the error are released.
    text = bytearray(b"x")
    with pytest.raises(TypeError):
        first_byte(text, None)
    text.append(1)


def test_buffers_are_written() -> None:
    code = "function run(fd, buf, size) return syscall.read(fd, buf, size) end"
    with syscript.Script(code, time_limit=2) as script, Path(__file__).open("rb") as file:
        buf = bytearray(64)
        assert script(file, buf, len(buf)) == 64
        assert buf == Path(__file__).read_bytes()[:64]
        with pytest.raises(OSError) as bad:
            script.checked(-1, buf, 1)
        assert bad.value.errno == errno.EBADF and not isinstance(bad.value, syscript.ScriptError)


def test_errors() -> None:
    with pytest.raises(syscript.ScriptError, match="bad:1: .*near") as syntax:
        syscript.Script("function run(", name="bad")
    assert syntax.value.errno == errno.ENOEXEC
    with pytest.raises(syscript.ScriptError, match="over the time limit of 20 ms") as slow:
        syscript.Script("function run() while true do end end", time_limit=0.02)()
    assert slow.value.errno == errno.ETIME
    deep = "local function f() error('deep') end\nfunction run() f() return 1 end"
    with pytest.raises(syscript.ScriptError, match="deep\nstack traceback:\n\tx:1: in "):
        syscript.Script(deep, name="x")()
    with pytest.raises(ValueError, match="backend 'moon'"):
        syscript.Script("function run() end", backend="moon")
    script = syscript.Script("function run() end")
    script.close()
    script.close()
    with pytest.raises(ValueError, match="closed"):
        script()


def test_info_and_lists() -> None:
    with syscript.Script("function run() end", name="mine", backend="user") as script:
        script()
        info = script.info()
        assert (info.name, info.calls, info.state, info.pid) == ("mine", 1, "ready", os.getpid())
        assert script.backend == "user"
        assert any(other.id == info.id for other in syscript.scripts())
    assert syscript.probe("user") is None
    assert syscript.version().startswith("0.")
    assert syscript.lint("function run() return nothing end", name="n") == [
        "n:1: global 'nothing' is never assigned"
    ]
    path = ROOT / "scripts" / "hello.lua"
    with syscript.load(path) as hello:
        assert hello(20, 22) == 42 and hello.info().name == "hello.lua"


def test_other_threads_run_meanwhile() -> None:
    nap = "local ts = util.types.timespec.new { tv_sec = 1 }\n"
    with syscript.Script(nap + "function run() return syscall.nanosleep(ts) end") as script:
        began = time.monotonic()
        thread = threading.Thread(target=script)
        thread.start()
        turns = 0
        while thread.is_alive():
            turns += 1
            time.sleep(0.01)
        assert turns > 5 and time.monotonic() - began >= 1


@pytest.mark.parametrize("size", [16, 4096, 5008])
def test_buffers_have_an_end(size: int) -> None:
    buffer = syscript.buffer(size)
    source = "function run(to, n) for i = 0, n - 1 do util.poke(to + i, 'u1', 1) end end"
    with syscript.Script(source) as script:
        script(buffer, size)
        assert bytes(buffer) == b"\1" * size
        with pytest.raises(syscript.ScriptError):
            script(buffer, size + 1)


def test_readme(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", (PYTHON / "README.md").read_text(), re.S))
    program = tmp_path / "readme.py"
    program.write_text(code)
    done = subprocess.run([sys.executable, program], env=ENV, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bad:1: bad argument #1 to 'close'" in done.stdout and " bytes in " in done.stdout


@pytest.mark.long
def test_pip_leaves_nothing_in_the_tree(tmp_path: Path) -> None:
    """pip downloads its build tools."""
    before = {path for path in PYTHON.rglob("*") if "__pycache__" not in path.parts}
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", tmp_path, PYTHON], check=True)
    assert (tmp_path / "syscript/py.typed").exists()
    after = {path for path in PYTHON.rglob("*") if "__pycache__" not in path.parts}
    assert after == before


def test_asyncio_example() -> None:
    command = [sys.executable, PYTHON / "examples" / "asyncio_echo.py", "0"]
    server = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().split()[-1])
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.settimeout(10)
        client.connect(("127.0.0.1", port))
        sent = [f"datagram {i}".encode() for i in range(100)]
        for datagram in sent[:40]:
            client.send(datagram)
        assert [client.recv(99) for _ in range(40)] == sent[:40]
    finally:
        server.kill()
        server.wait()


def test_garbage_is_collected() -> None:
    """More scripts than a process may have, most of them unreachable and collected."""
    code = """
import errno, gc, syscript
gc.disable()
for _ in range(300):
    script = syscript.Script("function run() end", backend="user")
    script.itself = script
kept = []
try:
    while len(kept) < 2000:
        kept.append(syscript.Script("function run() end", backend="user"))
except syscript.ScriptError as error:
    print(errno.errorcode[error.errno], len(kept) > 30)
"""
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("EDQUOT True\n", "")


def test_grace() -> None:
    code = """
import syscript
print(syscript.Script("function run() end", backend="user", grace=0.05).info().grace)
try:
    syscript.Script("function run() end", backend="user", grace=1)
except syscript.ScriptError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True)
    too_high = "grace time 1000 ms is too high: the maximum is 100 ms"
    assert (done.stdout, done.stderr) == (f"50000000\n{too_high}\n", "")


QUEUED = """
function run(ms, value)
  if value == 13 then error("thirteen") end
  if ms > 0 then syscall.poll(0, 0, ms) end
  return value
end
"""


def queue(source: str = QUEUED, **options: int) -> syscript.Queue:
    return syscript.Queue(source, backend="user", time_limit=2, **options)


def test_queue() -> None:
    """Many requests at once, more than fit, each with its own result or error."""

    async def main() -> None:
        with queue(threads=2) as calls:
            assert await asyncio.gather(*(calls(0, n * n) for n in range(20, 700))) == [
                n * n for n in range(20, 700)
            ]
            with pytest.raises(syscript.ScriptError, match="thirteen") as raised:
                await calls(0, 13)
            assert raised.value.errno == errno.EPROTO
            assert await calls(0, -errno.ENOENT) == -errno.ENOENT
            with pytest.raises(FileNotFoundError):
                await calls.checked(0, -errno.ENOENT)
            with pytest.raises(TypeError):
                await calls(*range(9))

    asyncio.run(main())


def test_queue_does_not_hold_up_the_loop() -> None:
    """Each of eight requests waits until all of them run, and the loop has seen it."""
    source = """
local byte = util.buffer(1)
function run(there, back, n)
  syscall.write(there, byte, 1)
  syscall.read(back, byte, 1)
  return n
end
"""

    async def main() -> None:
        (seen, there), (back, go) = os.pipe(), os.pipe()
        with queue(source, threads=8) as calls:
            waiting = asyncio.gather(*(calls(there, back, n) for n in range(8)))
            for _ in range(8):
                running = asyncio.Event()
                asyncio.get_running_loop().add_reader(seen, running.set)
                await asyncio.wait_for(running.wait(), 60)
                os.read(seen, 1)
            assert not waiting.done()
            os.write(go, bytes(8))
            assert await waiting == list(range(8))
        for fd in (seen, there, back, go):
            os.close(fd)

    asyncio.run(main())


def test_queue_keeps_buffers_of_cancelled_requests() -> None:
    source = """
function run(addr, ms) syscall.poll(0, 0, ms) util.poke(addr, "u1", 7) return 0 end
"""

    async def main() -> None:
        with queue(source) as calls:
            memory = bytearray(16)
            task = asyncio.create_task(calls(memory, 200))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(BufferError):
                memory.extend(bytes(1 << 20))
            await calls(bytearray(1), 0)
            assert memory[0] == 7
            memory.extend(bytes(16))

    asyncio.run(main())


def test_queue_in_one_loop_after_another() -> None:
    calls = queue()

    async def main(value: int) -> int:
        return await calls(0, value)

    assert [asyncio.run(main(n)) for n in range(3)] == [0, 1, 2]
    calls.close()
    calls.close()
    with pytest.raises(ValueError, match="closed"):
        asyncio.run(main(1))


def test_queue_that_does_not_compile() -> None:
    with pytest.raises(syscript.ScriptError, match="script:1:"):
        queue("function run( end")
