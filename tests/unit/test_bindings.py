# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The Rust crates and the Go module: their own tests, and their READMEs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LAYOUT = """
#include <stddef.h>
#include <stdio.h>
#include <syscript.h>

int main(void)
{
    size_t shared = offsetof(struct syscript_options, shared);
    size_t limit = offsetof(struct syscript_info, memory_limit);
    size_t counters = offsetof(struct syscript_info, counters);

    printf("%zu %zu %zu %zu %zu", sizeof(struct syscript_options),
        sizeof(struct syscript_info), shared, limit, counters);
}
"""
ENV = {**os.environ, "SYSCRIPT_LIB_DIR": str(BUILD), "LD_LIBRARY_PATH": str(BUILD)}


def newer(command: str, pattern: str, minor: int) -> bool:
    """Is the command installed, at least in version 1.MINOR?"""
    if not shutil.which(command.split()[0]):
        return False
    done = subprocess.run(command.split(), capture_output=True, text=True)
    found = re.search(pattern, done.stdout)
    return bool(found) and int(found[1]) >= minor


def run(command: list[str | Path], cwd: Path, **env: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**ENV, **env}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not newer("cargo --version", r"1\.(\d+)", 78), reason="no cargo 1.78 here")
def test_rust(tmp_path: Path) -> None:
    """cargo tests the README as well: it is the crate's documentation."""
    (tmp_path / "layout.c").write_text(LAYOUT)
    run(["cc", f"-I{BUILD}/include", "layout.c", "-o", "layout"], tmp_path)
    layout = run(["./layout"], tmp_path)
    done = run(
        ["cargo", "test", "--offline", "--locked", "--target-dir", BUILD / "rust"],
        ROOT / "bindings/rust",
        SYSCRIPT_LAYOUT=layout,
        RUSTFLAGS="-Dwarnings",
    )
    assert len(re.findall(r"^test .* ok$", done, re.MULTILINE)) >= 10


@pytest.fixture
def go_env(tmp_path: Path) -> dict[str, str]:
    """The uninstalled library, and no network access."""
    text = (ROOT / "lib/libsyscript.pc.in").read_text()
    for name, value in (("LIBDIR", BUILD), ("INCLUDEDIR", BUILD / "include"), ("PREFIX", BUILD)):
        text = text.replace(f"@{name}@", str(value))
    (tmp_path / "libsyscript.pc").write_text(text.replace("@VERSION@", "0.1.0"))
    return {
        "PKG_CONFIG_PATH": str(tmp_path),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "HOME": os.environ.get("HOME", str(tmp_path)),
    }


GO = pytest.mark.skipif(not newer("go version", r"go1\.(\d+)", 21), reason="no go 1.21 here")


@GO
def test_go(go_env: dict[str, str]) -> None:
    done = run(["go", "test", "-count=1", "-v", "./..."], ROOT / "bindings/go", **go_env)
    assert done.count("--- PASS") == 16
    assert run(["gofmt", "-l", "."], ROOT / "bindings/go") == ""


def put_readme(place: Path, env: dict[str, str]) -> str:
    """Makes the README's program a module; returns the README."""
    text = (ROOT / "bindings/go/README.md").read_text()
    place.mkdir()
    (place / "main.go").write_text(re.search(r"```go\n(.*?)```", text, re.DOTALL)[1])
    run(["go", "mod", "init", "slurp"], place, **env)
    return text


@GO
def test_go_readme(go_env: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "slurp"
    edit = re.search(r"^go mod edit.*$", put_readme(place, go_env), re.MULTILINE)[0]
    run(edit.replace("/path/to/syscript", str(ROOT)).split(), place, **go_env)
    run(["go", "build", "."], place, **go_env)
    assert run(["./slurp"], place) == "slurp\n"


@GO
def test_go_readme_from_a_server(go_env: dict[str, str], tmp_path: Path) -> None:
    """Go fetches the module from a server, by the path in the README's replace line."""
    place = tmp_path / "slurp"
    text = put_readme(place, go_env)
    replace = re.search(r"`-replace (syscript=(\S+)@(v\S+))`", text)
    serve = tmp_path / "server" / replace[2] / "@v"
    serve.mkdir(parents=True)
    version, folder = replace[3], ROOT / "bindings/go"
    (serve / "list").write_text(f"{version}\n")
    (serve / f"{version}.info").write_text(f'{{"Version": "{version}"}}')
    shutil.copy(folder / "go.mod", serve / f"{version}.mod")
    with zipfile.ZipFile(serve / f"{version}.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"{replace[2]}@{version}/{file.name}")
    env = {
        **go_env,
        "GOPROXY": f"file://{tmp_path}/server",
        "GONOSUMDB": "*",
        "GOMODCACHE": str(tmp_path / "cache"),
        "GOFLAGS": "-modcacherw",
    }
    require = f"syscript@{version}"
    run(["go", "mod", "edit", "-require", require, "-replace", replace[1]], place, **env)
    run(["go", "mod", "tidy"], place, **env)
    run(["go", "build", "."], place, **env)
    assert run(["./slurp"], place) == "slurp\n"
