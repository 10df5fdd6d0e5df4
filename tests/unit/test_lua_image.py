# SPDX-License-Identifier: GPL-2.0
"""Which lua.image the library uses: the installed one, or a named one, and only if none but root

and the caller can have written it.

Installing happens in a mount namespace, at the path that this tree is built for.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
IMAGE = BUILD / "lua-runtime" / "lua.image"
VERSION = int((BUILD / "gen" / "runtime_version.h").read_text().split()[-1], 16)
LIBDIR = (BUILD / "gen" / "libdir").read_text().strip()
INSTALLED = f"{LIBDIR}/syscript/lua.image"
NAMESPACES = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
INSTALL = f"""set -e
mount -t tmpfs tmpfs {LIBDIR}
install -D -m 644 "$IMAGE" {INSTALLED}
"""
RUN = ["run", "--engine", "confined", "--backend", "user", "-e", "return 1"]
NONE = "syscript: no Lua for the confined engine: "

Done = subprocess.CompletedProcess[str]


def run(shell: str, command: Path | str, named: Path | None = None, *wrap: str) -> Done:
    """Runs the command after @shell has changed what is installed."""
    env = {**os.environ, "IMAGE": str(IMAGE)}
    env.pop("SYSCRIPT_LUA_IMAGE", None)
    if named:
        env["SYSCRIPT_LUA_IMAGE"] = str(named)
    argv = [*NAMESPACES, "sh", "-c", INSTALL + shell + '\nexec "$@"', "sh", *wrap, command, *RUN]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)


def ran(done: Done) -> bool:
    assert (done.returncode, done.stdout) in ((0, "1\n"), (2, "")), done.stderr
    return done.returncode == 0


def test_installed() -> None:
    assert ran(run("", BUILD / "syscript"))
    # The target of a link is checked.
    assert ran(run(f'ln -sf "$IMAGE" {INSTALLED}', BUILD / "syscript"))


@pytest.mark.parametrize(
    ("shell", "why"),
    [
        ("rm {0}", "there is no {0}: install the library, or set SYSCRIPT_LUA_IMAGE"),
        ("chmod g+w {0}", "{0}: others than root and this user may have written it"),
        ("chmod o+w {0}", "{0}: others than root and this user may have written it"),
        ("chown 1234 {0}", "{0}: others than root and this user may have written it"),
        ("rm {0}; mkfifo {0}", "{0}: others than root and this user may have written it"),
        ("rm {0}; mkdir {0}", "{0}: others than root and this user may have written it"),
        ("truncate -s 100 {0}", "{0}: it is not of this version of the library"),
        ("truncate -s 0 {0}", "{0}: it is not of this version of the library"),
    ],
)
def test_refused(shell: str, why: str) -> None:
    if "chown" in shell and os.geteuid():
        pytest.skip("only root can give files away")
    done = run(shell.format(INSTALLED), BUILD / "syscript")
    assert not ran(done)
    assert done.stderr.startswith(NONE + why.format(INSTALLED))


def plant(directory: Path) -> list[Path]:
    """Puts images at places near a program in @directory where a library must not look."""
    around = ("", "lib/", "syscript/", "lib/syscript/", "../", "../lib/", "../lib/syscript/")
    places = [f"{a}{b}lua.image" for a in around for b in ("", "lua-runtime/")]
    planted = [directory / place for place in [*places, "../lua-runtime/lua.image"]]
    for path in planted:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(IMAGE, path)
    return planted


def test_nothing_next_to_the_program(tmp_path: Path) -> None:
    """A private directory inside one that others may write to."""
    private = tmp_path / "open" / "private"
    private.mkdir(parents=True)
    shutil.copy(BUILD / "syscript", private / "program")
    plant(private)
    done = run(f"rm {INSTALLED}\ncd {private}", private / "program")
    assert not ran(done)
    assert done.stderr.startswith(f"{NONE}there is no {INSTALLED}: ")


def test_nothing_next_to_the_library(tmp_path: Path) -> None:
    private = tmp_path / "open" / "lib"
    private.mkdir(parents=True)
    shutil.copy(BUILD / "libsyscript.so.0", private / "libsyscript.so.0")
    plant(private)
    code = (
        f"import ctypes; library = ctypes.CDLL('{private}/libsyscript.so.0')\n"
        "source = b'function run() end'\n"
        "print(library.register_lua_syscall(source, len(source)))"
    )
    env = {"SYSCRIPT_ENGINE": "confined", "SYSCRIPT_BACKEND": "user"}
    for shell, wanted in (("", range(3, 99)), (f"rm {INSTALLED}", [-38])):
        argv = [*NAMESPACES, "sh", "-c", f'{INSTALL}{shell}\nexec "$@"', "sh"]
        found = subprocess.run(
            [*argv, sys.executable, "-c", code],
            env={**env, "IMAGE": str(IMAGE), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
        )
        assert int(found.stdout) in wanted, found.stderr


def test_named(tmp_path: Path) -> None:
    """Named by the user who starts the program, and checked in the same way."""
    named = tmp_path / "lua.image"
    shutil.copy(IMAGE, named)
    assert ran(run(f"rm {INSTALLED}", BUILD / "syscript", named))
    named.chmod(0o666)
    done = run("", BUILD / "syscript", named)
    assert not ran(done)
    assert done.stderr.startswith(f"{NONE}{named}: others than root")


def test_of_another_day(tmp_path: Path) -> None:
    """A program may be linked with an older or newer library than the one that is installed."""
    version = struct.pack("<I", VERSION)
    image = IMAGE.read_bytes()
    assert image.count(version) == 1
    other = tmp_path / "lua.image"
    other.write_bytes(image.replace(version, struct.pack("<I", VERSION ^ 1)))
    done = run("", BUILD / "syscript", other)
    assert done.returncode == 1
    assert "lua.image does not fit this library: link the program with" in done.stderr


def test_version_is_of_the_interface() -> None:
    """A change of what library and image share changes the version of both."""
    rules = (ROOT / "lib" / "lua-runtime" / "build.mk").read_text()
    shared = re.search(r"^RUNTIME_INTERFACE := (.*)", rules, re.M)[1].split()
    text = b"".join((ROOT / path).read_bytes() for path in shared)
    assert int(hashlib.sha256(text).hexdigest()[:8], 16) == VERSION
    depends = " ".join(path.read_text() for path in (BUILD / "lib").rglob("*.d"))
    words = re.findall(r"lib/\S*lua-runtime/\w+\.h", depends)
    headers = {os.path.normpath(word) for word in words}
    assert {"lib/lua-runtime/runtime.h", "lib/lua-runtime/layout.h"} <= headers <= set(shared)


def test_in_a_user_namespace() -> None:
    """In a namespace where root's files belong to an unmapped user."""
    inside = ["unshare", "--user", "--map-user=1234"]
    assert ran(run("", BUILD / "syscript", None, *inside))
    assert not ran(run(f"chmod o+w {INSTALLED}", BUILD / "syscript", None, *inside))
