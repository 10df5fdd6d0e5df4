# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The Rust crates and the Go module: their own tests, and their READMEs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
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
    """Is there one, and not older than 1.MINOR?"""
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
    """cargo runs the README as well: it is the crate's documentation."""
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
    """A library that is installed nowhere, and nothing to be fetched."""
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
    assert done.count("--- PASS") == 8
    assert run(["gofmt", "-l", "."], ROOT / "bindings/go") == ""


@GO
def test_go_readme(go_env: dict[str, str], tmp_path: Path) -> None:
    text = (ROOT / "bindings/go/README.md").read_text()
    (tmp_path / "slurp").mkdir()
    (tmp_path / "slurp/main.go").write_text(re.search(r"```go\n(.*?)```", text, re.DOTALL)[1])
    edit = re.search(r"^go mod edit.*$", text, re.MULTILINE)[0]
    run(["go", "mod", "init", "slurp"], tmp_path / "slurp", **go_env)
    run(edit.replace("/path/to/syscript", str(ROOT)).split(), tmp_path / "slurp", **go_env)
    run(["go", "build", "."], tmp_path / "slurp", **go_env)
    assert run(["./slurp"], tmp_path / "slurp") == "slurp\n"
