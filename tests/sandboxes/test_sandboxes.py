# SPDX-License-Identifier: GPL-2.0
"""Scripts next to what else restricts, watches or instruments a process: docs/sandboxes.md.

As root in a guest, by `make test-sandboxes`.  Programs run as an ordinary user.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import select
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from runner import COMMAND, account

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
BESIDE = Path(__file__).parent / "beside.py"
PROGRAM = ROOT / "tests" / "unit" / "tool_program.c"
HELLO = ROOT / "scripts" / "hello.lua"
ENGINES = ["luajit", "confined"]
USER = 2  # of tool_program.c: the backend's number
KERNEL = 1
PATIENCE = 300


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that all may enter."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == 0 and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    return tmp_path


def run(*command: str | Path, **env: str) -> str:
    done = end_of(*command, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def end_of(*command: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "LD_LIBRARY_PATH": str(BUILD), **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        **account("member"),
    )


def runs_in(backend: str, *within: str, engine: str = "") -> bool:
    """Whether a script runs there, or wherever it can, and gives the right result."""
    command = [*within, COMMAND, "run", "--time-limit", "10000", HELLO, "20", "22"]
    done = end_of(*command, SYSCRIPT_BACKEND=backend, SYSCRIPT_ENGINE=engine)
    return done.returncode == 0 and re.search(r"^42$", done.stdout, re.M) is not None


def beside(what: str, path: Path, engine: str) -> dict[str, tuple[str, int, int]]:
    """For each call: the backend, the plain result, the script's."""
    text = run("/usr/bin/python3", BESIDE, what, path, SYSCRIPT_ENGINE=engine)
    found = re.findall(r"^(\w+): (\w+) (-?\d+) (-?\d+)$", text, re.M)
    return {call: (backend, int(usual), int(got)) for call, backend, usual, got in found}


# -- What the kernel has -----------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_landlock(engine: str) -> None:
    """It holds in scripts from the next call on; attributes are free, as for programs."""
    denied = -errno.EACCES
    assert beside("landlock", Path("/etc/passwd"), engine) == {
        "open": ("kernel", denied, denied),
        "stat": ("kernel", 0, 0),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_userfaultfd(engine: str) -> None:
    bad = -errno.EFAULT
    assert beside("userfaultfd", Path("/etc/passwd"), engine) == {"read": ("kernel", bad, bad)}


@pytest.mark.parametrize("engine", ENGINES)
def test_io_uring(engine: str) -> None:
    """A completion interrupts a script's call, unless the ring defers it; plain calls go on."""
    assert beside("io_uring", Path("/"), engine) == {
        "sleep": ("kernel", 0, -errno.EINTR),
        "sleep_deferred": ("kernel", 0, 0),
    }


FAN_NONBLOCK, FAN_CLASS_CONTENT, FAN_OPEN_PERM, FAN_DENY = 0x2, 0x4, 0x10000, 2


@contextmanager
def refused(path: Path) -> Iterator[list[int]]:
    """Who opens @path is refused; whose ids are in the list."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.fanotify_init(FAN_CLASS_CONTENT | FAN_NONBLOCK, os.O_RDONLY)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    mask = ctypes.c_uint64(FAN_OPEN_PERM)
    assert libc.fanotify_mark(fd, 1, mask, -100, os.fsencode(path)) == 0
    asked: list[int] = []
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            *_, event, pid = struct.unpack("IBBHQii", os.read(fd, 24))
            asked.append(pid)
            os.write(fd, struct.pack("iI", event, FAN_DENY))
            os.close(event)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        yield asked
    finally:
        over.set()
        listener.join()
        os.close(fd)


@pytest.mark.parametrize("engine", ENGINES)
def test_fanotify(engine: str, place: Path) -> None:
    """The listener decides on the opening of each file; it is not asked about attributes."""
    file = place / "file"
    file.write_text("text")
    with refused(file) as asked:
        found = beside("fanotify", file, engine)
    refusal = -errno.EPERM
    assert found == {"open": ("kernel", refusal, refusal), "stat": ("kernel", 0, 0)}
    assert len(asked) == 2


# struct btf_type's: bytes that follow it, by kind, once and for each member.
BTF_ONCE = {1: 4, 3: 12, 14: 4, 17: 4}
BTF_EACH = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
BTF_FUNC = 12
BPF, PROG_LOAD, RAW_TRACEPOINT_OPEN, PROG_TYPE_LSM, LSM_MAC = 321, 5, 17, 29, 27


def btf_function(name: str) -> int:
    """The number of a function among the kernel's types."""
    data = Path("/sys/kernel/btf/vmlinux").read_bytes()
    head, types, length, names, _ = struct.unpack_from("IIIII", data, 4)
    at, end, number = head + types, head + types + length, 0
    wanted = data.index(b"\0" + name.encode() + b"\0", head + names) + 1 - head - names
    while at < end:
        number += 1
        name_at, info = struct.unpack_from("II", data, at)
        kind = info >> 24 & 0x1F
        if kind == BTF_FUNC and name_at == wanted:
            return number
        at += 12 + BTF_ONCE.get(kind, 0) + BTF_EACH.get(kind, 0) * (info & 0xFFFF)
    raise AssertionError(f"no {name} in this kernel")


def bpf(command: int, attributes: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(BPF, command, attributes, len(attributes))
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


@contextmanager
def forbidden(hook: str, uid: int) -> Iterator[None]:
    """A program for the BPF security module: -EPERM for one user."""
    code = (
        (0x85, 0, 0, 15),  # r0 = bpf_get_current_uid_gid()
        (0xBC, 0, 0, 0),  # w0 = w0
        (0x15, 0, 2, uid),  # if r0 == uid goto +2
        (0xB7, 0, 0, 0),
        (0x95, 0, 0, 0),
        (0xB7, 0, 0, -errno.EPERM),
        (0x95, 0, 0, 0),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("BBhi", *insn) for insn in code))
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = bytearray(120)
    at = (ctypes.addressof(program), ctypes.addressof(licence))
    struct.pack_into("IIQQ", attributes, 0, PROG_TYPE_LSM, len(code), *at)
    struct.pack_into("I", attributes, 68, LSM_MAC)
    struct.pack_into("I", attributes, 108, btf_function(f"bpf_lsm_{hook}"))
    loaded = bpf(PROG_LOAD, bytes(attributes))
    link = bpf(RAW_TRACEPOINT_OPEN, struct.pack("QII", 0, loaded, 0))
    try:
        yield
    finally:
        os.close(link)
        os.close(loaded)


@pytest.mark.parametrize("engine", ENGINES)
def test_bpf_security_module(engine: str, place: Path) -> None:
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    refusal = -errno.EPERM
    with forbidden("inode_mkdir", account("member")["group"]):
        found = beside("bpf", place / "open" / "new", engine)
    assert found == {"mkdir": ("kernel", refusal, refusal)}


# -- What programs are built with, and run under ---------------------------------------------------


def compiled(place: Path, *flags: str, last: str = "-lsyscript") -> Path:
    program = place / "program"
    command = ["gcc", "-g", f"-I{BUILD}/include", *flags, "-o", program, PROGRAM]
    subprocess.run([*command, f"-L{BUILD}", *last.split(), "-lpthread"], check=True)
    return program


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tool", ["address", "undefined", "thread"])
def test_sanitizer(tool: str, engine: str, place: Path) -> None:
    program = compiled(place, f"-fsanitize={tool}")
    assert run(program, SYSCRIPT_ENGINE=engine) == f"done in {KERNEL}\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_static(engine: str, place: Path) -> None:
    program = compiled(place, "-static", last=f"{BUILD}/libsyscript.a")
    assert run(program, SYSCRIPT_ENGINE=engine) == f"done in {KERNEL}\n"


# Of tests/sandboxes/bindings.  Not those of structures, which needs a compiler, of LuaJIT's
# counters in the process, of Go's profiler, whose signals end calls in the kernel, and of queues in
# Go, which expect a call to begin within milliseconds.
BINDINGS = {
    "rust-script": ["--skip", "layout", "--skip", "limits_and_counters"],
    "rust-queue": [],
    "go-test": ["-test.skip", "TestLimitsAndCounters|TestProfiler|TestQueue"],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", BINDINGS)
def test_bindings(name: str, engine: str) -> None:
    """The tests of the bindings for Rust and Go, with their scripts in the kernel."""
    program = BUILD / "sandboxes" / name
    if not program.exists():
        pytest.skip("not compiled: see tests/sandboxes/bindings")
    run(program, *BINDINGS[name], SYSCRIPT_ENGINE=engine, SYSCRIPT_BACKEND="kernel")


# What the library needs and musl does not have.
MISSING_IN_MUSL = """
#include <string.h>
const char *strerrordesc_np(int number) { return strerror(number); }
"""


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-tools here")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("flag", ["-static", "-pie"])
def test_musl(flag: str, engine: str, place: Path) -> None:
    """With the static library, which was compiled for glibc."""
    missing, program = place / "missing.c", place / "program"
    missing.write_text(MISSING_IN_MUSL)
    kernel_headers = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
    command = ["musl-gcc", flag, f"-I{BUILD}/include", *kernel_headers, "-o", program]
    subprocess.run([*command, PROGRAM, missing, BUILD / "libsyscript.a"], check=True)
    linked = b"ld-musl" in program.read_bytes()
    assert linked == (flag == "-pie")
    for backend in (KERNEL, USER):
        chosen = {"SYSCRIPT_ENGINE": engine, "SYSCRIPT_BACKEND": {1: "kernel", 2: "user"}[backend]}
        assert run(program, **chosen) == f"done in {backend}\n"


# Stops in the first call of a script, shows where, and goes on to the end.
IN_GDB = ["break syscript_call", "run", "backtrace", "delete", "continue"]


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb here")
@pytest.mark.parametrize("engine", ENGINES)
def test_gdb(engine: str, place: Path) -> None:
    """It traces no system calls, so scripts run in the kernel; a breakpoint holds."""
    command = ["gdb", "-nx", "-q", "-batch", "--return-child-result"]
    command += [word for what in ["set breakpoint pending on", *IN_GDB] for word in ("-ex", what)]
    text = run(*command, "--args", compiled(place), SYSCRIPT_ENGINE=engine)
    assert re.search(r"^#0 .*\bsyscript_call\b", text, re.M), text
    assert re.search(r"^#\d+ .*\bcall \(fd=", text, re.M), text
    assert f"done in {KERNEL}\n" in text, text


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind here")
@pytest.mark.parametrize("engine", ENGINES)
def test_valgrind(engine: str, place: Path) -> None:
    """In the process, without a report."""
    program = compiled(place)
    command = ["valgrind", "-q", "--error-exitcode=9", program]
    assert run(*command, SYSCRIPT_ENGINE=engine) == f"done in {USER}\n"


@pytest.mark.skipif(not shutil.which("bwrap"), reason="no bubblewrap here")
@pytest.mark.parametrize("engine", ENGINES)
def test_bubblewrap(engine: str) -> None:
    """With the device among those that it shows, and without."""
    sandbox = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--proc", "/proc"]
    device = {"luajit": "/dev/syscript-luajit", "confined": "/dev/syscript"}[engine]
    assert runs_in("kernel", *sandbox, "--dev-bind", device, device, engine=engine)
    assert not runs_in("kernel", *sandbox, engine=engine)
    assert runs_in("", *sandbox, engine=engine)


@pytest.mark.skipif(not shutil.which("firejail"), reason="no firejail here")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", ["", "--seccomp", "--noroot", "--caps.drop=all"])
def test_firejail(options: str, engine: str) -> None:
    """Its filter is no obstacle; with --noroot it drops the group that may use LuaJIT."""
    sandbox = ["firejail", "--noprofile", "--quiet", *options.split()]
    seccomp = '"seccomp": true' in end_of(*sandbox, COMMAND, "doctor", "--json").stdout
    assert seccomp == (options == "--seccomp")
    in_kernel = (options, engine) != ("--noroot", "luajit")
    assert runs_in("kernel", *sandbox, engine=engine) == in_kernel


@pytest.mark.skipif(not shutil.which("firejail"), reason="no firejail here")
@pytest.mark.parametrize("engine", ENGINES)
def test_firejail_without_the_device(engine: str) -> None:
    sandbox = ["firejail", "--noprofile", "--quiet", "--private-dev"]
    assert not runs_in("kernel", *sandbox, engine=engine)
    assert runs_in("", *sandbox, engine=engine)
    assert "hides /sys/module" in end_of(*sandbox, COMMAND, "doctor").stdout


@pytest.mark.skipif(not shutil.which("runsc"), reason="no gVisor here")
@pytest.mark.parametrize("engine", ENGINES)
def test_gvisor(engine: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernel shows no devices of the machine's: scripts run in the process.

    It does not know root, who owns Lua's runtime.
    """
    runtime = place / "lua.image"
    shutil.copy(BUILD / "lua-runtime" / runtime.name, runtime)
    shutil.chown(runtime, "member")
    monkeypatch.setenv("SYSCRIPT_LUA_IMAGE", str(runtime))
    sandbox = ["runsc", "--rootless", "--network=none", "--ignore-cgroups", "do"]
    assert not runs_in("kernel", *sandbox, engine=engine)
    assert runs_in("", *sandbox, engine=engine)
