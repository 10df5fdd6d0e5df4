# SPDX-License-Identifier: GPL-2.0
"""The library, the command and compounds for arm64, emulated by qemu-user: make test-arm64."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, TESTS
from runner import CONFINED_CORPUS, CORPUS_LIMITS, WALL_PATIENCE, confined_lua, here, outcome
from unit.test_types import HEADERS, check_layout

ARM64 = BUILD / "arm64"
COMMAND = ["qemu-aarch64", ARM64 / "syscript"]
CC = "aarch64-linux-gnu-gcc"
COSY_CC = [ARM64 / "cosy-cc", "--target=aarch64-linux-gnu"]
COMPOUNDS = sorted((TESTS / "cosy" / "programs").glob("*.c"))

# qemu-user replaces /proc/self/stat by a regular file.
NOT_EMULATED = {"read_file"}
CORPUS = [path for path in CONFINED_CORPUS if path.stem not in NOT_EMULATED]


@pytest.fixture(autouse=True)
def _emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu")


def image(of: Path) -> dict[str, str]:
    return {**os.environ, "SYSCRIPT_LUA_IMAGE": str(of / "lua-runtime/lua.image")}


def run(*words: str | Path, of: Path = ARM64) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "run", "--time-limit", "10s", "--wall-limit", WALL_PATIENCE, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=image(of))


def said(code: str) -> list[str]:
    done = run("-e", code)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


def test_hello() -> None:
    done = run(ROOT / "scripts/hello.lua", "20", "22")
    assert done.stdout.splitlines()[-1] == "42"


def test_image_for_another_machine_is_refused() -> None:
    done = run(ROOT / "scripts/hello.lua", of=BUILD)
    assert done.returncode != 0
    assert "an image for x86-64 (machine 62): compile it for arm64" in done.stderr


def test_large_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QEMU_PAGESIZE", "16384")
    done = run(ROOT / "scripts/hello.lua", "20", "22")
    assert done.returncode != 0
    assert "pages of 16384 bytes: boot a kernel with pages of 4096 bytes" in done.stderr


def test_runs_on_the_first_processors() -> None:
    """They have no LSE, which only images with atomic operations need."""
    command = [COMMAND[0], "-cpu", "cortex-a53", *COMMAND[1:], "run", "-e", "return 42"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=image(ARM64))
    assert (done.returncode, done.stdout.strip()) == (0, "42"), done


def test_luajit_is_refused() -> None:
    done = run("--engine", "luajit", "-e", "return 1")
    assert "engine luajit is for x86-64 only" in done.stderr


@pytest.mark.parametrize("script", CORPUS, ids=lambda path: path.stem)
def test_does_as_x86(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = [*CORPUS_LIMITS, "--wall-limit", WALL_PATIENCE, str(script)]
    other = outcome(here, [*confined_lua("user"), *options])
    monkeypatch.setenv("SYSCRIPT_LUA_IMAGE", image(ARM64)["SYSCRIPT_LUA_IMAGE"])
    command = [str(word) for word in COMMAND] + confined_lua("user")[1:]
    assert outcome(here, [*command, *options]) == other


@pytest.mark.parametrize("name", HEADERS)
def test_layout(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSCRIPT_LUA_IMAGE", image(ARM64)["SYSCRIPT_LUA_IMAGE"])
    check_layout(name, COMMAND, CC, tmp_path)


def test_constants_are_arm64s(tmp_path: Path) -> None:
    names = ["O_DIRECTORY", "O_NOFOLLOW", "O_DIRECT", "O_TMPFILE", "PROT_BTI"]
    values = said("print(" + ", ".join(f"const.{name}" for name in names) + ")")[0].split("\t")
    pairs = zip(names, values, strict=True)
    asserts = "".join(f'_Static_assert({name} == {value}, "{name}");\n' for name, value in pairs)
    source = tmp_path / "constants.c"
    source.write_text(f"#define _GNU_SOURCE\n#include <fcntl.h>\n#include <sys/mman.h>\n{asserts}")
    subprocess.run([CC, "-fsyntax-only", source], check=True)


# Calls that arm64 lacks: made by newer ones, by name and by a variable, or refused with a reason.
OLD = """
local path, call = "/etc/passwd", "access"
local fd = syscall.open(path, const.O_RDONLY)
print(fd >= 0, syscall.close(fd), syscall[call](path, 4), syscall.access("/missing", 0))
local st = util.types.stat.new()
print(syscall.stat(path, st), st.st_mode, st.st_size)
print(syscall.getpgrp() == syscall.getpgid(0), syscall.poll(0, 0, 0), syscall.rmdir("/missing"))
print(select(2, pcall(function() return syscall.select end)))
print(select(2, pcall(function() return syscall.getdents(3, 0, 0) end)))
"""


def test_old_calls() -> None:
    found = Path("/etc/passwd").stat()
    assert said(OLD) == [
        "true\t0\t0\t-2",
        f"0\t{found.st_mode}\t{found.st_size}",
        "true\t0\t-2",
        "-e:8: scripts cannot call 'select': only x86-64 has it; use pselect6 or poll",
        "-e:9: scripts cannot call 'getdents': only x86-64 has it; use getdents64, whose entries"
        " differ",
    ]


NAMES = """
local a = [[ syscall.select ]] .. "syscall.select" .. 'const.NONE' -- syscall.select
--[==[ syscall.select(1)
]==] local b = { syscall = { select = 1 } }
function run()
  syscall.getdents(1, 2, 3)
  local c = const.MAP_32BIT or const . MAP_SHARED or errno.EAGIAN, errno.name(1), b.syscall.select
  return syscall
    .utimes("/", 0), syscall.opn("/"), syscall.open("/", const.O_RDONLY)
end
"""


def test_check_names_what_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "names.lua"
    script.write_text(NAMES)
    command = [*COMMAND, "check", script]
    done = subprocess.run(command, capture_output=True, text=True, env=image(ARM64))
    assert done.returncode != 0
    found = done.stderr.replace(f"{script}:", "").splitlines()
    assert [line for line in found if line[:1].isdigit()] == [
        "6: scripts cannot call 'getdents': only x86-64 has it; use getdents64, whose entries"
        " differ",
        "7: no constant 'MAP_32BIT'",
        "7: no constant 'EAGIAN': did you mean errno.EAGAIN?",
        "9: scripts cannot call 'utimes': only x86-64 has it; use utimensat",
        "9: no system call 'opn': did you mean syscall.open?",
    ]


def test_check_accepts() -> None:
    for script in sorted((ROOT / "scripts").glob("*.lua")):
        command = [*COMMAND, "check", script]
        done = subprocess.run(command, capture_output=True, text=True, env=image(ARM64))
        assert (done.returncode, done.stderr) == (0, ""), script


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("while true do end", "over the time limit of"),
        ("pcall(function() while true do end end) while true do end", "over the time limit of"),
        ("local s = 'x' while true do s = s .. s end", "over the memory limit of"),
        ("local function f() return 1 + f() end return f()", "stack overflow"),
    ],
)
def test_limits(code: str, text: str) -> None:
    command = [*COMMAND, "run", "--time-limit", "500ms", "-e", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=image(ARM64))
    assert done.returncode != 0
    assert text in done.stderr


SEGMENT = """
#include <fcntl.h>
#include <stddef.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cosy.h>
long calls(void)
{
	long fd, ret;

	COSY_START;
	fd = open("/", O_DIRECTORY);
	ret = close(fd) + syscall(SYS_getuid);
	COSY_END;
	return ret;
}
"""
# System calls: those that arm64 lacks have numbers of our own.
OPEN, CLOSE, GETUID = 502, 57, 174
IMAGE_HEADER = struct.Struct("<4sHHIIIHHIIII")
IMAGE_SYSCALL = 0x1000


def compiled(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    source = tmp_path / "segment.c"
    source.write_text(text)
    command = [*COSY_CC, "-O2", "-c", "-o", source.with_suffix(".o"), source]
    return subprocess.run(command, capture_output=True, text=True)


def test_compounds_have_the_numbers_of_the_target(tmp_path: Path) -> None:
    assert compiled(tmp_path, SEGMENT).returncode == 0
    data = (tmp_path / "segment.o").read_bytes()
    at = data.index(b"Cosy")
    header = IMAGE_HEADER.unpack_from(data, at)
    _, _, _, ninsns, nfuncs, ntable, _, machine, *_ = header
    assert machine == 183
    at += IMAGE_HEADER.size + 8 * nfuncs + (ntable + 1) // 2 * 8
    insns = struct.iter_unpack("<BBhi", data[at : at + 8 * ninsns])
    outside = [imm for code, who, _, imm in insns if (code, who >> 4) == (0x85, 0)]
    called = [imm - IMAGE_SYSCALL for imm in outside if imm >= IMAGE_SYSCALL]
    assert called == [OPEN, CLOSE, GETUID]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("syscall(SYS_reboot)", "reboot(2) in a segment: administration"),
        ("syscall(485)", "system call 485, which does not exist in a segment"),
        ("select(0, NULL, NULL, NULL, NULL)", "select() cannot be called in a segment"),
    ],
)
def test_calls_of_the_target_are_refused(call: str, told: str, tmp_path: Path) -> None:
    done = compiled(tmp_path, SEGMENT.replace("syscall(SYS_getuid)", call))
    assert done.returncode == 1 and told in done.stderr, done


@pytest.mark.parametrize("source", COMPOUNDS, ids=lambda source: source.stem)
def test_compounds(source: Path, tmp_path: Path) -> None:
    """They do as natively, with all kinds of calls."""
    program = tmp_path / source.stem
    subprocess.run([*COSY_CC, "-O2", "-w", "-o", program, source], check=True)
    told = [
        subprocess.run(
            [COMMAND[0], program],
            env=os.environ | {"COSY_ENGINE": engine},
            capture_output=True,
            text=True,
            timeout=100,
        )
        for engine in ("native", "user")
    ]
    assert [(done.returncode, done.stderr) for done in told] == [(0, "")] * 2
    assert told[0].stdout == told[1].stdout
