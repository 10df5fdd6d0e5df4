# SPDX-License-Identifier: GPL-2.0
"""A workload for file systems, the same for each one tested."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

SIZES = [0, 10, 300, 3000, 5000, 20000, 100_000]


def files(top: Path, count: int, rng: random.Random) -> dict[Path, bytes]:
    """Files in a few directories, with their contents."""
    written = {}
    for number in range(count):
        path = top / f"directory{number % 5}" / f"file{number}"
        path.parent.mkdir(exist_ok=True)
        written[path] = rng.randbytes(rng.choice(SIZES))
        path.write_bytes(written[path])
    return written


def change(written: dict[Path, bytes]) -> None:
    """Overwrite the middle of each, append, truncate."""
    for path, data in written.items():
        middle, length = len(data) // 2, len(data) * 2 // 3 + 7
        text = data[:middle] + b"changed" * 100
        text += data[len(text) :]
        with path.open("r+b") as file:
            file.seek(middle)
            file.write(b"changed" * 100)
            file.truncate(length)
        written[path] = text[:length].ljust(length, b"\0")


def names(top: Path) -> None:
    """Create links, renames, and directories."""
    first = top / "directory0"
    (top / "symlink").symlink_to("target" * 20)
    assert str((top / "symlink").readlink()) == "target" * 20
    (first / "nested" / "deeply").mkdir(parents=True)
    (first / "nested").rename(top / "renamed")
    (top / "name.one").write_text("one")
    (top / "name.one").rename(top / ("name" * 30))
    os.mkfifo(top / "fifo")
    for number in range(200):
        (first / f"a name that is rather long and of number {number}").touch()
    assert len(list(first.iterdir())) >= 200


def exercise(top: Path, count: int = 40) -> None:
    """Run all of it; files written are read back and removed."""
    written = files(top, count, random.Random(1))
    change(written)
    names(top)
    os.sync()
    for path, data in written.items():
        assert path.read_bytes() == data, path
        path.chmod(0o600)
        os.utime(path, (1, 2))
    shutil.copytree(top / "directory1", top / "copy")
    os.statvfs(top)
    for entry in top.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
