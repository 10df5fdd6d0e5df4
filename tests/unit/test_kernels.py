# SPDX-License-Identifier: GPL-2.0
"""vm/kernels.py: trees of kernels."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "vm"))

import kernels  # noqa: E402

KERNEL = b"\x7fELF" + bytes(range(256)) * 1000


def image(payload: bytes) -> bytes:
    """A boot image with a valid header, code before the payload, and data after it."""
    sectors, offset = 3, 100
    start = (sectors + 1) * 512 + offset
    found = bytearray(b"\x90" * start + payload + struct.pack("<I", len(KERNEL)) + b"\x90" * 700)
    found[0x1F1] = sectors
    struct.pack_into("<II", found, 0x248, offset, len(payload) + 4)
    return bytes(found)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kernels, "TREES", tmp_path)
    made = tmp_path / "some"
    made.mkdir()
    (made / "complete").touch()
    return made


def test_machines_by_name() -> None:
    for name in ("6.12-arm64", "6.1.0-57-arm64", "6.12.118+deb13-arm64"):
        assert kernels.arch_of(name) == kernels.ARM64
    for name in ("6.1", "newest", "debug", "6.1.0-57-amd64"):
        assert kernels.arch_of(name) == kernels.AMD64


@pytest.mark.parametrize("tool", ["xz", "zstd"])
def test_a_kernel_is_unpacked(tree: Path, tool: str) -> None:
    payload = subprocess.run([tool, "-c"], input=KERNEL, stdout=subprocess.PIPE, check=True)
    (tree / "vmlinuz").write_bytes(image(payload.stdout))
    assert kernels.uncompressed("some") == tree / "vmlinux"
    assert (tree / "vmlinux").read_bytes() == KERNEL
    # Not unpacked again, unless the kernel was rebuilt.
    (tree / "vmlinux").write_bytes(b"kept")
    assert kernels.uncompressed("some").read_bytes() == b"kept"
    os.utime(tree / "vmlinux", (0, 0))
    assert kernels.uncompressed("some").read_bytes() == KERNEL


def test_what_is_packed_otherwise_is_left(tree: Path) -> None:
    (tree / "vmlinuz").write_bytes(image(b"LZO!" * 100))
    assert kernels.uncompressed("some") is None
    assert sorted(path.name for path in tree.iterdir()) == ["complete", "vmlinuz"]


def test_a_damaged_image_leaves_nothing(tree: Path) -> None:
    payload = subprocess.run(["xz", "-c"], input=KERNEL, stdout=subprocess.PIPE, check=True)
    (tree / "vmlinuz").write_bytes(image(payload.stdout[:100]))
    with pytest.raises(kernels.KernelError, match="xz"):
        kernels.uncompressed("some")
    assert sorted(path.name for path in tree.iterdir()) == ["complete", "vmlinuz"]


def test_a_toolchain_is_for_its_place(tree: Path, tmp_path: Path) -> None:
    """Its programs name their place: in a checkout that was moved it is fetched again."""
    (tree / "complete").write_text(f"{tree}\n")
    (tree / "toolchain").mkdir()
    assert kernels.is_complete(tree)
    moved = tree.rename(tmp_path / "elsewhere")
    assert not kernels.is_complete(moved)
    (moved / "toolchain").rmdir()
    assert kernels.is_complete(moved)
