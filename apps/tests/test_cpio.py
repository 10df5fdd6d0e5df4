# SPDX-License-Identifier: GPL-2.0 OR MIT
"""cpio with compounds: the same archives, trees and errors as the plain one."""

from __future__ import annotations

import os
import random
import resource
import subprocess
from pathlib import Path

import pytest
from compounds import BUILD, ENGINES, difficult

PLAIN, CPIO = BUILD / "cpio" / "plain", BUILD / "cpio" / "cpio"
# Sizes around block boundaries, and more blocks than a segment copies.
SIZES = (0, 1, 110, 402, 511, 512, 513, 1024, 5000, 131072, 131073, 300000)
BLOCKS = ((), ("-B",), ("-C", "1000"))
FORMATS = ("newc", "crc", "odc", "bin", "ustar", "tar")


def cpio(
    program: Path,
    engine: str,
    *options: str,
    given: bytes,
    where: Path,
    limit: int = -1,
    **env: str,
) -> tuple[int, bytes, str]:
    """Status, output and errors, with files of at most @limit bytes."""
    done = subprocess.run(
        [program, "--quiet", *options],
        cwd=where,
        input=given,
        env=os.environ | {"COSY_ENGINE": engine} | env,
        capture_output=True,
        timeout=60,
        # Writes beyond the limit fail: Python and its child ignore SIGXFSZ.
        restore_signals=limit < 0,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    return done.returncode, done.stdout, done.stderr.decode().replace(str(program), "cpio")


def contents(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*") if p.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    source = tmp_path / "tree"
    source.mkdir()
    bits = random.Random(1)
    for size in SIZES:
        (source / f"{size}").write_bytes(bits.randbytes(size))
    return source


def names(tree: Path) -> bytes:
    return "".join(f"{size}\n" for size in SIZES).encode()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMATS)
def test_archives(form: str, engine: str, tree: Path, tmp_path: Path) -> None:
    for block in BLOCKS:
        options = ("-o", "-H", form, *block)
        made = cpio(PLAIN, "", *options, given=names(tree), where=tree)
        assert made[0] == 0 and made[1]
        assert cpio(CPIO, engine, *options, given=names(tree), where=tree) == made
        out = tmp_path / f"out{len(block)}{block[:1]}"
        out.mkdir()
        assert cpio(CPIO, engine, "-i", *block, given=made[1], where=out) == (0, b"", "")
        assert contents(out) == contents(tree)


@pytest.mark.parametrize("engine", ENGINES)
def test_passes(engine: str, tree: Path, tmp_path: Path) -> None:
    for options in ((), ("--sparse",)):
        out = tmp_path / f"out{len(options)}"
        out.mkdir()
        done = cpio(CPIO, engine, "-p", *options, str(out), given=names(tree), where=tree)
        assert done == (0, b"", "")
        assert contents(out) == contents(tree)


@pytest.mark.skipif(ENGINES[0] != "native", reason="segments call the C library natively only")
def test_difficult(tree: Path, tmp_path: Path) -> None:
    preload = {"given": names(tree), "where": tree, "LD_PRELOAD": difficult(tmp_path)}
    for block in BLOCKS:
        made = cpio(PLAIN, "", "-o", *block, **preload)
        assert made[0] == 0 and len(made[1]) > sum(SIZES) // 2
        assert cpio(CPIO, "native", "-o", *block, **preload) == made
    copies = []
    for name, program in (("plain", PLAIN), ("cosy", CPIO)):
        out = tmp_path / name
        out.mkdir()
        done = cpio(program, "native", "-p", str(out), **preload)
        copies.append((done, contents(out)))
    assert len(copies[0][1]["300000"]) == 200000
    assert copies[1] == copies[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_errors(engine: str, tree: Path, tmp_path: Path) -> None:
    """A truncated archive and files that must not grow give the same messages."""
    archive = cpio(PLAIN, "", "-o", given=names(tree), where=tree)[1]
    short = archive[: len(archive) - 100000]
    for given, limit, text in ((short, -1, "premature end"), (archive, 51200, "too large")):
        seen = []
        for number, program in enumerate((PLAIN, CPIO)):
            out = tmp_path / f"out{limit}{number}"
            out.mkdir()
            done = cpio(program, engine, "-i", given=given, where=out, limit=limit)
            seen.append((done, contents(out)))
        assert seen[0][0][0] and text in seen[0][0][2]
        assert seen[1][0] == seen[0][0]
        if limit >= 0:
            assert seen[1][1] == seen[0][1]


@pytest.mark.parametrize("engine", ENGINES)
def test_archive_that_must_not_grow(engine: str, tree: Path) -> None:
    """The limit is within a block: the rest of the block is written once, and fails."""
    seen = []
    for program in (PLAIN, CPIO):
        options = ("-o", "-O", "../archive")
        done = cpio(program, engine, *options, given=names(tree), where=tree, limit=100000)
        seen.append((done, (tree.parent / "archive").read_bytes()))
        (tree.parent / "archive").unlink()
    assert seen[0][0][0] and len(seen[0][1]) == 100000
    assert seen[1] == seen[0]
