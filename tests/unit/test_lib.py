# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Builds and runs the programs test_lib_*: exit 0, 1, or 77 for skipped."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PROGRAMS = sorted(Path(__file__).parent.glob("test_lib_*.c*"))


def compiler_of(source: Path) -> list[str]:
    compiler = (
        [os.environ.get("CXX", "c++"), "-std=c++11"]
        if source.suffix == ".cc"
        else [os.environ.get("CC", "cc"), "-std=gnu11"]
    )
    flags = ["-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Werror", f"-I{BUILD}/include"]
    # For sources of the library that some include, since it exports no functions of theirs.
    return [*compiler, *flags, "-iquote", str(ROOT / "core"), str(source)]


def compile_program(source: Path) -> Path:
    """The program built from @source with the static library, possibly by `make` already."""
    program = BUILD / "tests" / "unit" / source.stem
    parts = [source, *source.parent.glob("*.h"), BUILD / "libsyscript.a"]
    if program.exists() and program.stat().st_mtime >= max(p.stat().st_mtime for p in parts):
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    library = [str(BUILD / "libsyscript.a"), "-lm", "-lpthread"]
    subprocess.run([*compiler_of(source), "-o", program, *library], check=True)
    return program


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.stem)
def test_program(source: Path) -> None:
    program = compile_program(source)
    env = {**os.environ, "SYSCRIPT_BACKEND": "user"}
    done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr


def test_programs_that_include_sources() -> None:
    """They compile here as well, not only by `make`: the library may be newer than they are."""
    sources = [path for path in PROGRAMS if '#include "../../' in path.read_text()]
    assert sources
    for source in sources:
        subprocess.run([*compiler_of(source), "-fsyntax-only"], check=True)


# Tests of the library that do not depend on the engine.
ANY_ENGINE = [
    "busy",
    "cpp",
    "fd",
    "files",
    "limits",
    "memory",
    "messages",
    "queue",
    "readdirplus",
    "sockets",
    "stack",
    "standard",
    "sweep",
    "threads",
    "walk",
    "watched",
]


# Thousands of scripts, threads and registrations take seconds each, and the other engine covers
# them.
MANY = ("fd", "sweep", "threads")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long) if n in MANY else n for n in ANY_ENGINE],
)
def test_program_on_the_confined_engine(name: str) -> None:
    (source,) = (path for path in PROGRAMS if path.stem == f"test_lib_{name}")
    env = {**os.environ, "SYSCRIPT_BACKEND": "user", "SYSCRIPT_ENGINE": "confined"}
    done = subprocess.run(
        [compile_program(source)], env=env, capture_output=True, text=True, timeout=120
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr


# For each limit: values, and a word that a refusal must contain.
LIMITS = {
    "FSIZE": ([0, 4096, 1 << 20], None),
    "NOFILE": (range(4, 12), "ulimit -n"),
    "DATA": ([n << 19 for n in (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32)], "-d"),
    "AS": ([n << 20 for n in range(8, 24)], "-v"),
    "STACK": ([64 << 10, 1 << 20], None),
}


@pytest.mark.parametrize("engine", ["luajit", "confined"])
@pytest.mark.parametrize("limit", LIMITS)
def test_low_limits(limit: str, engine: str) -> None:
    """The result, or the limit that is too low; never a signal."""
    values, names = LIMITS[limit]
    kind = getattr(resource, f"RLIMIT_{limit}")
    for value in values:
        done = subprocess.run(
            [BUILD / "syscript", "run", "--engine", engine, "-e", "return 42"],
            env={**os.environ, "SYSCRIPT_BACKEND": "user"},
            capture_output=True,
            text=True,
            preexec_fn=lambda value=value: resource.setrlimit(kind, (value, value)),
        )
        if done.returncode == 0:
            assert done.stdout == "42\n"
        else:
            assert done.returncode in (1, 2) and names, (value, done)
            assert re.search(names, done.stderr), (value, done)


def test_locks() -> None:
    """Every lock of the library is a core/user/lock.h lock, which the child of fork() can take."""
    ids = re.findall(r"^\tLOCK_(\w+)", (ROOT / "core/user/lock.h").read_text(), re.MULTILINE)
    sources = [
        path
        for place in ("lib", "core", "cosy", "engine", "kernel")
        for path in (ROOT / place).rglob("*.[ch]")
        if "lua-runtime" not in path.parts
    ]
    taken = set()
    for path in sources:
        text = path.read_text()
        taken |= set(re.findall(r"lock_take\(.*?LOCK_(\w+)", text))
        if path != ROOT / "core/user/lock.c":
            other = re.findall(
                r"\b(?:pthread_(?:mutex|rwlock|spin|cond|barrier)_\w+|pthread_atfork|sem_\w+"
                r"|mtx_\w+|cnd_\w+)\(",
                text,
            )
            assert not other, f"{path}: {other}"
    assert taken == set(ids)


def public_names() -> set[str]:
    return {
        line.strip(" \t;\n")
        for line in (ROOT / "lib/libsyscript.map").read_text().splitlines()
        if line.startswith("\t\t") and "*" not in line
    }


def test_exports() -> None:
    """The library exports the names of the version script, and no others."""
    wanted = public_names()
    for library, option in (("libsyscript.so", "-D"), ("libsyscript.a", "-g")):
        nm = subprocess.run(
            ["nm", option, "--defined-only", BUILD / library],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        fields = [line.split() for line in nm.splitlines()]
        names = {f[2].split("@")[0] for f in fields if len(f) == 3 and f[1] in "TDBRW"}
        assert names == wanted, library


def test_soname() -> None:
    dynamic = subprocess.run(
        ["objdump", "-p", BUILD / "libsyscript.so"], check=True, capture_output=True, text=True
    ).stdout
    assert "SONAME" in dynamic and "libsyscript.so.0" in dynamic
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic


def test_manual() -> None:
    """Each public function has a manual page, and the pages are well-formed."""
    pages = [*ROOT.glob("man/*.[1-9]"), *ROOT.glob("consolidate/man/*.[1-9]")]
    names = {
        word
        for page in pages
        for line in page.read_text().partition(".Sh NAME")[2].partition(".Nd")[0].splitlines()
        if line.startswith(".Nm ")
        for word in line.split()[1:2]
    }
    assert public_names() <= names
    lint = ["mandoc", "-T", "lint", "-W", "warning", *pages]
    done = subprocess.run(lint, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
